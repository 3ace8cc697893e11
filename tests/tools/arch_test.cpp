/// Tests that every command that schedules accepts --arch, and that no other option contradicts it.

#include "dsl/ir/tensor.h"
#include "tests/tools/run_binary.h"
#include "tools/cli.h"
#include "tools/options/machine.h"

namespace nestsmith {
namespace {

using test::contains;
using test::nestsmith;
using test::Ran;

/// Hides NVRTC and all devices, as on a build machine.
const std::string nothing = "NESTSMITH_CUDA_PATH=/nonexistent CUDA_VISIBLE_DEVICES=";

TEST(Arch, IsWhatIsScheduledFor) {
  EXPECT_TRUE(contains(nestsmith("emit deep_dive/shared --arch sm_90", nothing).out, "\n// Target: sm_90\n"));
  EXPECT_TRUE(
      contains(nestsmith("show deep_dive/shared --arch sm_90 --trace json").out, "\"target\": \"sm_90\""));
  EXPECT_TRUE(contains(nestsmith("show deep_dive/shared --trace json").out, "\"target\": \"sm_80\""));
  Ran run = nestsmith("run deep_dive/naive --shape 9x9x9 --device sim --arch sm_86", nothing);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "would run it (sm_86)"));
  for (const char *command : {"check deep_dive/naive --shape 9x9x9 --device sim",
                              "check deep_dive/naive --each-step --shape 9x9x9"}) {
    Ran check = nestsmith(std::string(command) + " --arch sm_90a", nothing);
    EXPECT_EQ(check.code, 0) << check.out << check.err;
  }
  Ran explain = nestsmith("explain deep_dive/naive --shape 64x64x64 --arch sm_90", nothing);
  EXPECT_EQ(explain.code, 0) << explain.err;
  EXPECT_TRUE(contains(explain.out, "(sm_90)"));
  EXPECT_TRUE(contains(explain.out, "the first listed GPU of sm_90; name another one with --gpu"));
  Ran both = nestsmith("explain deep_dive/naive --shape 64x64x64 --arch sm_90 --gpu H200", nothing);
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(contains(both.out, "H200"));
}

TEST(Arch, OfATraceIsItsOwnWithoutAnother) {
  const test::TemporaryFolder folder;
  const std::string trace = (folder / "t.json").string();
  ASSERT_EQ(
      nestsmith("show hopper/roles --arch sm_90a --shape 16x16x16 --trace json -o " + trace, nothing).code, 0);
  EXPECT_TRUE(contains(nestsmith("show " + trace + " --trace json", nothing).out, "\"target\": \"sm_90a\""));
  EXPECT_TRUE(contains(nestsmith("emit " + trace, nothing).out, "\n// Target: sm_90a\n"));
  EXPECT_TRUE(contains(nestsmith("explain " + trace, nothing).out, "(sm_90a)"));
  Ran check = nestsmith("check --device sim " + trace, nothing);
  EXPECT_EQ(check.code, 0) << check.out << check.err;
  Ran other = nestsmith("emit --arch sm_80 " + trace, nothing);
  EXPECT_EQ(other.code, 3);
  EXPECT_TRUE(contains(other.err, "got sm_80; state 0 registers")) << other.err;
}

/// y = x + 1 through 187.5 KB of shared memory. A block of sm_90 can have this size, and a block of sm_80
/// cannot.
Schedule large(const Shape &shape, DType dtype, const Target &target) {
  constexpr std::int64_t tile = 48000;
  Workload w("large");
  Tensor x = w.placeholder("x", {shape[0]}, dtype);
  Schedule s(w.output({w.compute("y", {shape[0]}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; })}),
             target);
  auto [block, rest] = s.split(s.loop("i"), {infer, tile});
  s.bind(block, Axis::block_x);
  s.bind(s.split(rest, {infer, 128})[1], Axis::thread_x);
  BlockRef copy = s.cache_read(s.block("y"), "x", Scope::shared);
  s.compute_at(copy, block);
  s.bind(s.split(s.loops(copy).back(), {infer, 128})[1], Axis::thread_x);
  return s;
}

TEST(Arch, ThatCannotServeAScheduleRefusesIt) {
  const std::vector<Rung> rungs = {{"", "large", "a large tile", large, {1}, {96000}, {96000}}};
  auto call = [&](std::vector<std::string> words) {
    std::vector<char *> argv = {words[0].data()};
    for (std::string &word : words)
      argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ran ran{cli_main(static_cast<int>(argv.size()), argv.data(), rungs), "", ""};
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    return ran;
  };
  for (std::vector<std::string> words : {std::vector<std::string>{"emit"},
                                         {"show", "--lowered"},
                                         {"check", "--device", "sim"},
                                         {"run", "--device", "sim"},
                                         {"explain"}}) {
    SCOPED_TRACE(words[0]);
    auto with = [&](const char *arch) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--arch", arch});
      return call(all);
    };
    Ran fits = with("sm_90"), refused = with("sm_80");
    EXPECT_EQ(fits.code, 0) << fits.out << fits.err;
    EXPECT_EQ(refused.code, 3) << refused.out << refused.err;
    EXPECT_TRUE(contains(refused.out + refused.err, "192000"));
  }
}

TEST(Arch, IsThatOfADeviceWhateverItsSuffix) {
  for (Arch asked : {Arch{90}, Arch{90, 'a'}, Arch{90, 'f'}})
    EXPECT_EQ(cli::arch_conflict({90, 'a'}, asked), "");
  for (Arch asked : {Arch{80}, Arch{100}, Arch{89}})
    EXPECT_EQ(cli::arch_conflict({90}, asked), "the GPU at hand is sm_90, but --arch is " + to_string(asked));
}

/// This must not depend on the installed NVRTC: release 13 does not support sm_70, and release 12 not sm_121.
TEST(Arch, ThatNvrtcDoesNotKnowIsEmittedAndSimulated) {
  for (const char *arch : {"sm_70", "sm_121"}) {
    Ran emit = nestsmith(std::string("emit deep_dive/naive --arch ") + arch);
    EXPECT_EQ(emit.code, 0) << emit.err;
    EXPECT_TRUE(contains(emit.out, std::string("\n// Target: ") + arch + "\n"));
    Ran run = nestsmith(std::string("run deep_dive/naive --shape 9x9x9 --device sim --arch ") + arch);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(contains(run.out, "PASSED"));
  }
}

TEST(Arch, ThatIsNoneOrContradictsTheGpuIsRefused) {
  for (const char *command : {"emit", "show", "check", "explain", "run", "compile"})
    for (const char *arch : {"90", "sm90", "sm_", "sm_9", "sm_90x", "compute_90", "sm_42", "sm_090", "sm_80a",
                             "sm_90f", "sm_999", "sm_90A", "sm_90aa", "'sm_ 90'", "''"}) {
      Ran ran = nestsmith(std::string(command) + " deep_dive/naive --arch " + arch);
      EXPECT_EQ(ran.code, 2) << command << " " << arch;
      EXPECT_TRUE(contains(ran.err, "option '--arch' must be an architecture such as sm_80 or sm_90a, got '"));
    }
  Ran ran = nestsmith("explain deep_dive/naive --arch sm_90 --gpu A100");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "--gpu A100 is sm_80, but --arch is sm_90: leave one of them out"));
  Ran none = nestsmith("explain deep_dive/naive --arch sm_75");
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "no listed GPU is sm_75; name a GPU with --gpu"));
}

} // namespace
} // namespace nestsmith
