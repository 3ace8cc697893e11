/// Tests the output of each command.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/trace.h"
#include "schedules/rung.h"
#include "tests/tools/run_binary.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::matches;
using test::nestsmith;
using test::parsed;
using test::parsed_lines;
using test::Ran;
using test::TemporaryFolder;

TEST(Help, EveryCommandHasIt) {
  Ran overview = nestsmith("--help");
  EXPECT_EQ(overview.code, 0);
  for (const std::string &command : test::commands()) {
    Ran help = nestsmith(command + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(contains(help.out, "usage: nestsmith " + command));
    EXPECT_TRUE(contains(help.out, "--json"));
    EXPECT_EQ(nestsmith("help " + command).out, help.out);
  }
}

TEST(Version, IsThatOfTheProject) {
  Ran ran = nestsmith("--version");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(matches(ran.out, "^nestsmith [0-9]+\\.[0-9]+\\.[0-9]+$"));
  llvm::json::Value value = parsed(nestsmith("--version --json"));
  ASSERT_NE(value.getAsObject(), nullptr);
  auto version = value.getAsObject()->getString("version");
  ASSERT_TRUE(static_cast<bool>(version));
  EXPECT_EQ("nestsmith " + version->str() + "\n", ran.out);
  EXPECT_TRUE(contains(nestsmith("--help").out, "`nestsmith --version`"));
  Ran more = nestsmith("--version run");
  EXPECT_EQ(more.code, 2);
  EXPECT_TRUE(contains(more.err, "--version takes no argument except --json, got 'run'"));
}

TEST(List, ShowsTheRungsInOrder) {
  Ran ran = nestsmith("list");
  EXPECT_EQ(ran.code, 0);
  std::size_t at = 0;
  for (const char *rung : {"deep_dive/naive", "deep_dive/coalesced", "deep_dive/shared", "deep_dive/tile1d"}) {
    at = ran.out.find(rung, at);
    EXPECT_NE(at, std::string::npos) << rung;
  }
  llvm::json::Value list = parsed(nestsmith("list --json"));
  ASSERT_NE(list.getAsObject(), nullptr);
  EXPECT_GE(list.getAsObject()->getArray("rungs")->size(), 4U);
}

TEST(Run, ShowsThePublishedFiguresBesideOurs) {
  Ran ran = nestsmith("run tvm_steps/step1 principles/one --shape 8x8x8 --device sim");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(matches(ran.out, "tvm_steps/step1: 91 .512., 95 .1024. GFLOP/s"));
  EXPECT_TRUE(contains(ran.out, "published for tvm_steps: matrix multiplication with TVM"));
  EXPECT_TRUE(contains(ran.out, "cuBLAS: 1302 (512), 2846 (1024) GFLOP/s"));
  EXPECT_FALSE(contains(ran.out, "published for principles"));
  EXPECT_FALSE(contains(nestsmith("run principles/one --shape 8x8x8 --device sim").out, "published"));
}

TEST(Run, ClimbsAndEveryRungPasses) {
  Ran ran = nestsmith("run --shape 65x33x17 --device sim");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(contains(ran.err, "1 of 9: ladder/naive …\n2 of 9: ladder/coalesced …\n")) << "no terminal";
  EXPECT_FALSE(contains(ran.err, "\r"));
  for (const char *rung :
       {"naive", "coalesced", "shared", "tile1d", "tile2d", "vectors", "prefetch", "warps", "async"})
    EXPECT_TRUE(matches(ran.out, std::string("ladder/") + rung +
                                     " .*(L1|shared memory|FP32 pipe|issue slots|L2|DRAM) .*exact.*PASSED"));
  EXPECT_TRUE(contains(ran.out, "f32 65x33x17 on the simulator, as A100 would run it"));
  EXPECT_FALSE(contains(ran.out, "deep_dive/")) << "without a name, the ladder is climbed";
  Ran other = nestsmith("run ladder/naive --shape 9x9x9 --device sim --arch sm_89");
  EXPECT_TRUE(matches(other.out, "^f32 9x9x9 on the simulator, as .* would run it .sm_89."))
      << "as its rows are analysed";
}

/// A tutorial may have rungs of matrices and of vectors. A shape selects those with the same number of extents.
TEST(Run, AShapeIsForTheRungsThatHaveAsManyExtents) {
  Ran ran = nestsmith("run principles/one principles/uniform --shape 33x20x9 --device sim");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(matches(ran.out, "principles/one.*f32 33x20x9.*PASSED"));
  EXPECT_TRUE(matches(ran.out, "principles/uniform.*f32 65536 .*PASSED"));
  EXPECT_TRUE(contains(
      ran.out,
      "--shape 33x20x9 has 3 extents, which principles/uniform does not take: run at a shape of its own"));
  Ran alone = nestsmith("run principles/uniform --shape 33x20x9 --device sim");
  EXPECT_EQ(alone.code, 2);
  EXPECT_TRUE(contains(alone.err, "it has 3 extents, expected 1"));
}

TEST(Run, JsonSaysTheSame) {
  std::vector<llvm::json::Value> lines =
      parsed_lines(nestsmith("run deep_dive/naive deep_dive/shared --shape 33x20x9 --device sim --json"));
  ASSERT_EQ(lines.size(), 3U) << "two rungs and the climb";
  const llvm::json::Object *climb = lines.back().getAsObject();
  ASSERT_NE(climb, nullptr);
  EXPECT_EQ(climb->getBoolean("passed"), true);
  EXPECT_EQ(climb->getBoolean("simulated"), true);
  EXPECT_EQ(climb->getInteger("climbed"), std::int64_t{2});
  lines.pop_back();
  for (const llvm::json::Value &value : lines) {
    const llvm::json::Object *rung = value.getAsObject();
    EXPECT_EQ(rung->getString("verdict"), llvm::StringRef("PASSED"));
    EXPECT_EQ(rung->getBoolean("integers_exact"), true);
    EXPECT_EQ(rung->getString("gpu"), llvm::StringRef("A100"));
    EXPECT_TRUE(static_cast<bool>(rung->getString("limiter")));
    EXPECT_LT(rung->getNumber("error_over_bound"), 1.0);
  }
}

TEST(Run, NamesTheFormThatAShapeTakes) {
  Ran scalar = nestsmith("run transposed/float4 --shape 8x8x6 --device sim");
  EXPECT_EQ(scalar.code, 0) << scalar.out << scalar.err;
  EXPECT_TRUE(contains(scalar.out, "transposed/float4 (scalar)"));
  EXPECT_TRUE(contains(scalar.out, "transposed/float4 takes its scalar form: K % 4 = 2\n"));
  EXPECT_FALSE(contains(nestsmith("run transposed/float4 --shape 8x8x8 --device sim").out, "scalar"));
  Ran json = nestsmith("run transposed/float4 --shape 8x8x6 --device sim --json");
  EXPECT_TRUE(matches(json.out, "\"variant\":\"scalar\"")) << json.out;
  EXPECT_TRUE(matches(json.out, "\"variant_because\":\"K % 4 = 2\"")) << json.out;
  EXPECT_TRUE(contains(nestsmith("emit transposed/float4 --shape 8x8x6").out,
                       "// transposed/float4 (scalar: K % 4 = 2): "));
  EXPECT_TRUE(contains(nestsmith("show transposed/float4 --shape 8x8x6").out, "scalar: K % 4 = 2"));
}

TEST(Run, TakesEveryTypeAndEveryFormOfAProduct) {
  for (const char *dtype : {"f64", "f16", "bf16", "tf32", "i8", "u8", "u32"}) {
    Ran ran = nestsmith(std::string("run gemm/nn gemm/nt gemm/tn gemm/tt gemm/bias_relu --shape 65x33x17 "
                                    "--device sim --dtype ") +
                        dtype);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    for (const char *rung : {"nn", "nt", "tn", "tt", "bias_relu"})
      EXPECT_TRUE(matches(ran.out, std::string("gemm/") + rung + ".*exact.*PASSED"));
    Ran batched = nestsmith(std::string("run gemm/batched --shape 3x33x17x9 --device sim --dtype ") + dtype);
    EXPECT_TRUE(matches(batched.out, std::string(dtype) + " 3x33x17x9(.|\n)*gemm/batched.*exact.*PASSED"));
  }
}

TEST(Run, RingModeIsExact) {
  Ran ran = nestsmith("run --dtype u32 --shape 40x24x19 --device sim");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_FALSE(contains(ran.out, "wrong"));
  EXPECT_TRUE(contains(ran.out, "u32 40x24x19"));
}

TEST(Run, IsTheDefaultCommandAndTakesTutorials) {
  Ran bare = nestsmith("--shape 8x8x8 --device sim"),
      named = nestsmith("run ladder --shape 8x8x8 --device sim");
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_EQ(bare.out, named.out);
}

TEST(Show, StepsLoweredAndTrace) {
  Ran computation = nestsmith("show deep_dive/naive --step 0 --shape 64x32x16");
  EXPECT_EQ(computation.code, 0) << computation.err;
  EXPECT_TRUE(contains(computation.out, "the computation"));
  EXPECT_TRUE(contains(computation.out, "A: f32[64, 16]"));
  EXPECT_TRUE(contains(nestsmith("show deep_dive/naive").out, "blockIdx.x"));
  EXPECT_TRUE(contains(nestsmith("show deep_dive/naive --step 1").out, "step 1 of "));
  EXPECT_TRUE(contains(nestsmith("show deep_dive/shared --lowered").out, "lowered"));
  EXPECT_TRUE(contains(nestsmith("show deep_dive/shared --trace cpp").out, "s.cache_read("));
}

TEST(Show, AndOthersSayThatAResultIsNotDeterministic) {
  for (const char *command : {"show", "check --device sim", "explain"}) {
    std::string rung = std::string(command) + " reduce/atomics --shape 1024";
    Ran floats = nestsmith(rung);
    EXPECT_EQ(floats.code, 0) << floats.err;
    EXPECT_TRUE(
        contains(floats.out, "not deterministic: block y adds to y (f32) by atomics in any order, so its "))
        << floats.out;
    EXPECT_TRUE(contains(nestsmith(rung + " --json").out, "not deterministic: block y adds to")) << rung;
    EXPECT_FALSE(contains(nestsmith(rung + " --dtype u32").out, "by atomics in any order")) << rung;
  }
}

/// Returns a trace of U = max(X + 1, Y[P]), a program of a user that `nestsmith` does not know.
std::string trace_of_a_user(const Shape &shape) {
  Workload w("gathered");
  Expr n = shape.stated ? w.size("N", *shape.stated) : Expr(shape.at(0));
  Tensor x = w.placeholder("X", {n}), y = w.placeholder("Y", {7}), p = w.placeholder("P", {n}, DType::u32);
  Tensor u = w.compute("U", {n}, {"i"},
                       [&](Expr i) -> Definition { return max(x(i) + 1, y(cast(DType::i64, p(i) % 7))); });
  Schedule s(w.output({u}));
  auto [outer, inner] = s.split(s.loop("i"), {infer, 8});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
  return to_json(trace_file(s, shape, DType::f32));
}

TEST(Show, AUsersTraceContainsItsComputation) {
  TemporaryFolder folder;
  std::string file = (folder / "gathered.json").string();
  Shape shape{20}, symbolic{20};
  symbolic.stated = Size{};
  for (const Shape &made : {shape, symbolic}) {
    test::write_file(file, trace_of_a_user(made));
    EXPECT_EQ(nestsmith("show " + file + " --trace json").out, test::read_file(file));
    for (const char *command : {"check", "run --device sim", "emit", "explain", "show --lowered"}) {
      Ran ran = nestsmith(fmt::format("{} {}", command, file));
      EXPECT_EQ(ran.code, 0) << command << ran.out << ran.err;
    }
    EXPECT_TRUE(contains(nestsmith("emit " + file).out, "gathered_launch(const float *X"));
  }
  EXPECT_EQ(nestsmith("check " + file + " --shape 33").code, 0); // a program with sizes
  test::write_file(file, trace_of_a_user(shape));
  Ran other = nestsmith("check " + file + " --shape 33");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.err,
                       "schedules the workload 'gathered' of shape 20, and no rung computes it for the "
                       "shape 33; leave --shape out"))
      << other.err;
  Ran narrow = nestsmith("check " + file + " --dtype f16");
  EXPECT_EQ(narrow.code, 2);
  EXPECT_TRUE(contains(narrow.err,
                       "contains the computation 'gathered' for f32, and no rung computes it for f16; "
                       "leave --dtype out"))
      << narrow.err;
}

TEST(Show, TraceFileStandsWhereverARungStands) {
  TemporaryFolder folder;
  std::string file = (folder / "shared.json").string();
  for (const char *rung : {"deep_dive/naive", "deep_dive/shared", "deep_dive/tile1d"}) {
    test::write_file(file, nestsmith(std::string("show ") + rung + " --shape 40x24x19 --trace json").out);
    std::string here = std::string(rung) + " --shape 40x24x19";
    EXPECT_EQ(nestsmith("show " + file + " --trace json").out, test::read_file(file));
    EXPECT_EQ(nestsmith("show " + file + " --trace cpp").out, nestsmith("show " + here + " --trace cpp").out);
    Ran run = nestsmith("run " + file + " --device sim");
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_TRUE(contains(run.out, "f32 40x24x19"));
  }
}

TEST(Diff, ShowsTheDirectiveAboveWhatItChanged) {
  Ran ran = nestsmith("diff deep_dive/coalesced --shape 64x64x64");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "s\\.bind\\([^\n]*\n\n"));
  EXPECT_TRUE(matches(ran.out, "\n- +for [^\n]*\n\\+ +for [^\n]* in threadIdx.x:"));
  EXPECT_FALSE(contains(ran.out, "\x1b"));
}

TEST(Diff, TwoRungs) {
  Ran ran = nestsmith("diff deep_dive/naive deep_dive/coalesced");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "deep_dive/naive → deep_dive/coalesced"));
  EXPECT_TRUE(contains(ran.out, "\n- "));
  EXPECT_TRUE(contains(nestsmith("diff deep_dive/naive deep_dive/naive").out, "(unchanged)"));
}

TEST(Colour, OnRequestOnly) {
  EXPECT_TRUE(contains(nestsmith("diff deep_dive/coalesced --color always").out, "\x1b[32m"));
  EXPECT_FALSE(contains(nestsmith("diff deep_dive/coalesced --color never").out, "\x1b"));
  EXPECT_FALSE(contains(nestsmith("show deep_dive/coalesced").out, "\x1b"));
}

TEST(Emit, ToStdoutAndToAFile) {
  TemporaryFolder folder;
  std::string file = (folder / "k.cu").string();
  Ran printed = nestsmith("emit deep_dive/shared --shape 100x77x33"),
      written = nestsmith("emit deep_dive/shared --shape 100x77x33 -o " + file);
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_TRUE(contains(printed.out, "__global__"));
  EXPECT_TRUE(contains(printed.out, "__syncthreads();"));
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(test::read_file(file), printed.out);
  EXPECT_TRUE(contains(nestsmith("emit deep_dive/shared --standalone").out, "int main("));
}

TEST(Check, EveryStepIsInterpreted) {
  Ran ran = nestsmith("check deep_dive/coalesced --each-step --shape 9x5x7");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(contains(ran.out, "the computation"));
  EXPECT_TRUE(contains(ran.out, "s.bind("));
  EXPECT_FALSE(contains(ran.out, "✗"));
}

TEST(Check, KernelInEveryMode) {
  Ran ran = nestsmith("check deep_dive/shared --shape 40x24x19 --device sim");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  for (const char *mode : {"floating point", "integer mode", "beta = 0, C full of NaN", "ring mode"})
    EXPECT_TRUE(contains(ran.out, mode));
}

/// Runs NVRTC without the headers that a toolkit and the wheels of the CUDA runtime contain.
TEST(Compile, SaysWhatIsMissingWhereThereAreNoCudaHeaders) {
  std::string path;
  llvm::json::Value items = parsed(nestsmith("doctor --json"));
  for (const llvm::json::Value &item : *items.getAsArray()) {
    const llvm::json::Object *facts = item.getAsObject()->getObject("facts");
    if (item.getAsObject()->getString("key") == llvm::StringRef("nvrtc") && facts && facts->getString("path"))
      path = facts->getString("path")->str();
  }
  if (path.empty())
    GTEST_SKIP() << "needs NVRTC";
  TemporaryFolder cuda, cache;
  std::filesystem::create_directory(cuda / "lib");
  for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    if (contains(entry.path().filename().string(), "libnvrtc"))
      std::filesystem::create_symlink(entry.path(), cuda / "lib" / entry.path().filename());
  std::string environment = "NESTSMITH_CUDA_PATH=" + cuda.string() + " NESTSMITH_CACHE=" + cache.string();
  const char *missing = "the kernel includes cuda_fp16.h, which NVRTC does not provide; `nestsmith doctor` "
                        "says how to get the CUDA headers";
  Ran half = nestsmith("compile deep_dive/naive --dtype f16", environment);
  EXPECT_EQ(half.code, 4);
  EXPECT_TRUE(contains(half.err, missing));
  EXPECT_EQ(nestsmith("compile deep_dive/naive --dtype tf32", environment).code, 0);
  Ran run = nestsmith("run deep_dive/naive --dtype f16 --shape 9x9x9 --device sim", environment);
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(matches(run.out, "n/a.*PASSED"));
  EXPECT_TRUE(contains(run.out, std::string("registers n/a: ") + missing));
  EXPECT_TRUE(contains(nestsmith("doctor", environment).out, "cuda_fp16.h not found"));
}

TEST(Doctor, NamesWhatItLookedFor) {
  Ran ran = nestsmith("doctor");
  EXPECT_EQ(ran.code, 0);
  for (const char *part : {"GPU", "NVRTC", "cuBLAS"})
    EXPECT_TRUE(contains(ran.out, part));
  EXPECT_NE(parsed(nestsmith("doctor --json")).getAsArray(), nullptr);
}

TEST(Lint, CatchesEveryPrintedMistake) {
  Ran all = nestsmith("lint");
  EXPECT_EQ(all.code, 0) << all.out << all.err;
  EXPECT_TRUE(matches(all.out, "^([0-9]+) of \\1 mistakes caught$"));
  for (const char *part :
       {"✓ deep_dive/row_modulo_n  reported", "✓ deep_dive/inner_row_b  reported",
        "✓ transposed/narrow_tile  reported", "✓ tvm_steps/thread_extents  refused", "\n  claim ",
        "\n  correct ", "\n  nestsmith ", "\n  correct rung  deep_dive/naive\n",
        "\n  details       nestsmith lint deep_dive/row_modulo_n\n"})
    EXPECT_TRUE(contains(all.out, part));
  EXPECT_FALSE(contains(all.out, "✗"));

  Ran one = nestsmith("lint tvm_steps");
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(contains(one.out, "tvm_steps/thread_extents"));
  EXPECT_FALSE(contains(one.out, "deep_dive/"));
}

TEST(Lint, ShowsTheExampleOfOneMistake) {
  Ran refused = nestsmith("lint tvm_steps/thread_extents");
  EXPECT_EQ(refused.code, 0);
  EXPECT_TRUE(contains(refused.out, "s.bind("));
  EXPECT_TRUE(contains(refused.out, "^^^^")) << "the culprit is underlined";
  Ran reported = nestsmith("lint deep_dive/inner_row_b");
  EXPECT_EQ(reported.code, 0);
  EXPECT_TRUE(contains(reported.out, "__global__ void"));
  EXPECT_TRUE(contains(reported.out, "elements are wrong in total"));
}

TEST(Lint, GivesJson) {
  Ran ran = nestsmith("lint deep_dive --json");
  EXPECT_EQ(ran.code, 0);
  const llvm::json::Value list = parsed(ran);
  ASSERT_NE(list.getAsArray(), nullptr);
  EXPECT_EQ(list.getAsArray()->size(), 4U);
  for (const llvm::json::Value &value : *list.getAsArray()) {
    const llvm::json::Object &mistake = *value.getAsObject();
    bool figure = mistake.getString("name") == llvm::StringRef("deep_dive/dram_explains_coalescing");
    EXPECT_EQ(mistake.getString("verdict"), llvm::StringRef(figure ? "counted" : "reported"));
    EXPECT_EQ(mistake.getString("command")->str(), "nestsmith lint " + mistake.getString("name")->str());
    EXPECT_FALSE(mistake.getArray("said")->empty());
  }
}

TEST(Lint, RefusesWhatIsNoTutorial) {
  Ran ran = nestsmith("lint 00");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "there is no mistake '00' and no tutorial of that name with a mistake"));
  EXPECT_EQ(nestsmith("lint deep_dive transposed").code, 2);
}

/// relu(x + 1) in two kernels. Every command must show both kernels and the temporary between them.
TEST(SeveralKernels, AreSeenByEveryCommand) {
  Ran run = nestsmith("run principles/unfused principles/fused --shape 1000 --device sim");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(matches(run.out, "principles/unfused.*PASSED"));
  Ran lowered = nestsmith("show principles/unfused --shape 1000 --lowered");
  EXPECT_TRUE(contains(lowered.out, "workspace t[1000]: f32 at byte 0\n\nkernel shifted_relu_t("));
  EXPECT_TRUE(contains(lowered.out, "\nkernel shifted_relu_y("));
  Ran emit = nestsmith("emit principles/unfused --shape 1000 --json");
  EXPECT_TRUE(contains(emit.out, "\"workspace_bytes\": 4000"));
  EXPECT_FALSE(contains(nestsmith("emit principles/fused --shape 1000").out, "workspace"));
  EXPECT_EQ(nestsmith("check principles/unfused --each-step").code, 0);
  EXPECT_TRUE(contains(nestsmith("diff principles/unfused principles/fused --lowered").out,
                       "- kernel shifted_relu_t("));
}

} // namespace
} // namespace nestsmith
