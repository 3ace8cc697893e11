/// Tests bad input: it must give one clear message and the right exit code, and no file may be written.

#include "tests/tools/run_binary.h"

#include <algorithm>
#include <filesystem>

namespace nestsmith {
namespace {

using test::contains;
using test::nestsmith;
using test::Ran;
using test::TemporaryFolder;
using test::write_file;

void expect_refused(const Ran &ran, int code, const std::string &message) {
  EXPECT_EQ(ran.code, code) << ran.out << ran.err;
  EXPECT_TRUE(contains(ran.err, "nestsmith: " + message));
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << "one message: " << ran.err;
}

TEST(BadInput, UnknownCommandNamesTheNearest) {
  expect_refused(nestsmith("shwo naive"), 2,
                 "unknown command 'shwo'; `nestsmith --help` lists them; did you mean 'show'?\n");
  expect_refused(nestsmith("frobnicate"), 2, "unknown command 'frobnicate'; `nestsmith --help` lists them");
}

TEST(BadInput, UnknownRungNamesTheNearest) {
  expect_refused(nestsmith("run coalescd"), 2,
                 "unknown rung 'coalescd'; `nestsmith list` shows them; did you mean 'ladder/coalesced' or "
                 "'deep_dive/coalesced'?\n");
  expect_refused(
      nestsmith("show deep_dive/nave"), 2,
      "unknown rung 'deep_dive/nave'; `nestsmith list` shows them; did you mean 'deep_dive/naive', ");
  expect_refused(nestsmith("show naive"), 2,
                 "'naive' is the name of several rungs; say 'ladder/naive', 'deep_dive/naive', "
                 "'transposed/naive', 'tiling/naive', 'reduce/naive', 'transpose/naive', 'gemv/naive', "
                 "'stencil/naive', 'conv/naive', "
                 "'softmax/naive', 'layernorm/naive' or 'rmsnorm/naive'");
  expect_refused(nestsmith("emit zzz"), 2, "unknown rung 'zzz'; `nestsmith list` shows them");
  expect_refused(nestsmith("show deep_dive"), 2, "'deep_dive' is a tutorial, expected one rung");
  // `transposed` is a rung of principles and the name of another tutorial.
  expect_refused(nestsmith("show transposed"), 2, "'transposed' is a tutorial, expected one rung");
  EXPECT_EQ(nestsmith("show principles/transposed").code, 0);
}

/// The question is the end of the message, wherever names are suggested.
TEST(BadInput, ASuggestionEndsTheMessage) {
  for (const char *words : {"shwo", "show coalescd", "run --shap 8x8x8", "bench ladder --launch graphs",
                            "exercise rows", "list tvm_step", "lint tvm_step", "report tilling -o x.html"}) {
    Ran ran = nestsmith(words);
    EXPECT_EQ(ran.code, 2) << words;
    EXPECT_TRUE(contains(ran.err, "; did you mean '")) << words << ": " << ran.err;
    EXPECT_TRUE(ran.err.ends_with("'?\n")) << words << ": " << ran.err;
  }
  std::string far = nestsmith("lint zzz").err;
  EXPECT_TRUE(far.ends_with("`nestsmith lint` shows all\n")) << far;
}

TEST(BadInput, OptionsAreChecked) {
  expect_refused(
      nestsmith("run --shap 8x8x8"), 2,
      "unknown option '--shap' of 'run'; `nestsmith run --help` lists them; did you mean '--shape'?\n");
  expect_refused(nestsmith("run --shape"), 2, "option '--shape' needs a value: --shape MxNxK");
  expect_refused(
      nestsmith("run --dtype f99"), 2,
      "option '--dtype' must be one of 'f32', 'f64', 'f16', 'bf16', 'tf32', 'i8', 'u8' or 'u32', got 'f99'");
  expect_refused(nestsmith("list --json=yes"), 2, "option '--json' takes no value, got 'yes'");
  expect_refused(nestsmith("run --shape 8x8x8 --shape 9x9x9"), 2, "option '--shape' is given twice");
  expect_refused(nestsmith("show"), 2, "'show' needs a RUNG: nestsmith show RUNG");
  expect_refused(nestsmith("show deep_dive/naive deep_dive/shared"), 2,
                 "'show' takes at most 1 argument, got 'deep_dive/shared' after it");
  expect_refused(nestsmith("show deep_dive/naive --step -1"), 2,
                 "option '--step' must be a number of at least 0, got '-1'");
  expect_refused(nestsmith("show deep_dive/naive --step 99"), 2, "option '--step' must be at most ");
  expect_refused(nestsmith("show deep_dive/naive --step 1 --lowered"), 2,
                 "--step, --lowered and --trace exclude each other");
}

TEST(BadInput, OptionsOfBenchAreChecked) {
  auto refused = [](const std::string &options, const std::string &message) {
    expect_refused(nestsmith("bench " + options), 2, message);
  };
  refused("", "'bench' needs a RUNG: nestsmith bench RUNG or TUTORIAL …");
  refused("ladder --shapes 512,", "shape '': '' is not a number");
  refused("ladder --shapes 512,0", "shape '0': an extent must be at least 1, got 0");
  refused("ladder --shapes 512x3", "shape '512x3': it has 2 extents, expected 3; give MxNxK");
  refused("ladder --shapes 512,512", "option '--shapes' has '512' twice");
  refused("ladder --against cublas,triton",
          "option '--against' must be a list of 'cublas', 'cublaslt' or 'none' with commas between them, got "
          "'triton'");
  refused("ladder --against none,cublas",
          "option '--against' has 'none' beside a library; give only one of them");
  refused(
      "ladder --launch graphs",
      "option '--launch' must be a list of 'single', 'back-to-back' or 'graph' with commas between them, got "
      "'graphs'; did you mean 'graph'?");
  refused("ladder --l2 cold,cold", "option '--l2' has 'cold' twice");
  refused("ladder --pause 10001", "option '--pause' must be at most 10000 milliseconds, got '10001'");
  refused("ladder --record x --pause 5",
          "--record keeps the times of rungs with their usual knobs, as a table; leave --pause out");
  refused("ladder --rounds 0", "option '--rounds' must be a number from 1 to 10000, got '0'");
  refused(
      "ladder principles",
      "the shape of 'ladder/naive' has 3 extents and that of 'principles/divergent' 1, so they have no common "
      "shape; measure them with two commands");
}

TEST(BadInput, BenchWithoutAGpuNamesTheModel) {
  expect_refused(
      nestsmith("bench ladder --shapes 512", "CUDA_VISIBLE_DEVICES="), 4,
      "bench measures on a GPU, and there is none that can be used; `nestsmith doctor` says what was "
      "found, and `nestsmith explain RUNG` predicts the time without a GPU");
}

struct BadShape {
  const char *shape, *message;
};
class BadShapes : public testing::TestWithParam<BadShape> {};
TEST_P(BadShapes, AreRefused) {
  for (const char *command : {"run", "emit deep_dive/naive", "show deep_dive/naive"})
    expect_refused(nestsmith(std::string(command) + " --shape=" + GetParam().shape), 2,
                   std::string("shape '") + GetParam().shape + "': " + GetParam().message +
                       "; give MxNxK such as 512x512x512");
}
INSTANTIATE_TEST_SUITE_P(
    All, BadShapes,
    testing::Values(BadShape{"0x1x1", "an extent must be at least 1, got 0"},
                    BadShape{"1x-2x1", "an extent must be at least 1, got -2"},
                    BadShape{"1x1", "it has 2 extents, expected 3"},
                    BadShape{"1x1x1x1", "it has 4 extents, expected 3"},
                    BadShape{"99999999999x1x1", "an extent must be at most 2147483647, got 99999999999"},
                    BadShape{"1x99999999999999999999999x1",
                             "an extent must be at most 2147483647, got 99999999999999999999999"},
                    BadShape{"axbxc", "'a' is not a number"}, BadShape{"1xx1", "'' is not a number"},
                    BadShape{"8x8x8x", "'' is not a number"}, BadShape{"1.5x1x1", "'1.5' is not a number"},
                    BadShape{"", "'' is not a number"}),
    [](const auto &info) { return "Shape" + std::to_string(info.index); });

TEST(BadInput, ShapeBeyondTheMemoryIsRefused) {
  expect_refused(nestsmith("run deep_dive/naive --shape 300000x300000x1"), 2, "shape 300000x300000x1 needs ");
}

TEST(BadInput, ATraceThatNestsWithoutEndIsNone) {
  TemporaryFolder folder;
  std::string path = (folder / "deep.json").string();
  write_file(path, std::string(200000, '['));
  expect_refused(nestsmith("show " + path), 2, path + ": is not a trace: its brackets nest more than 64 deep");
}

TEST(BadInput, EachStepOfALargeShapeIsNotBegun) {
  expect_refused(nestsmith("check deep_dive/shared --each-step --shape 512x512x512"), 2,
                 "--each-step would interpret ");
}

TEST(BadInput, UnwritableOutputLeavesNothing) {
  TemporaryFolder folder;
  write_file(folder / "file", "old");
  std::string missing = (folder / "missing" / "x.cu").string(),
              below_a_file = (folder / "file" / "x.cu").string();
  expect_refused(nestsmith("emit deep_dive/naive -o " + missing), 2,
                 "cannot write '" + missing + "': No such file or directory; nothing was written");
  expect_refused(nestsmith("emit deep_dive/naive -o " + below_a_file), 2,
                 "cannot write '" + below_a_file + "': Not a directory; nothing was written");
  expect_refused(nestsmith("emit deep_dive/naive -o " + folder.string()), 2,
                 "cannot write '" + folder.string() + "': Is a directory; nothing was written");
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(test::read_file(folder / "file"), "old");
}

TEST(BadInput, FailedEmitKeepsTheOldFile) {
  TemporaryFolder folder;
  write_file(folder / "x.cu", "old");
  EXPECT_EQ(nestsmith("emit deep_dive/naive --shape 0x1x1 -o " + (folder / "x.cu").string()).code, 2);
  EXPECT_EQ(test::read_file(folder / "x.cu"), "old");
  EXPECT_EQ(nestsmith("emit deep_dive/naive --shape 8x8x8 -o " + (folder / "x.cu").string()).code, 0);
  EXPECT_TRUE(contains(test::read_file(folder / "x.cu"), "__global__"));
  EXPECT_EQ(folder.files(), 1U);
}

struct BadTrace {
  const char *text, *message;
};
class BadTraces : public testing::TestWithParam<BadTrace> {};
TEST_P(BadTraces, AreRefused) {
  TemporaryFolder folder;
  std::string path = (folder / "trace.json").string();
  write_file(path, GetParam().text);
  for (const char *command : {"run", "show", "emit", "check"}) {
    Ran ran = nestsmith(std::string(command) + " " + path);
    expect_refused(ran, 2, "");
    EXPECT_TRUE(contains(ran.err, path));
    EXPECT_TRUE(contains(ran.err, GetParam().message));
  }
}
constexpr const char *trace_of_another_workload =
    R"({"nestsmith_trace": 1, "workload": "conv", "shape": [8, 8, 8], "dtype": "f32", "target": "sm_80",
        "directives": []})";
constexpr const char *trace_with_unknown_directive =
    R"({"nestsmith_trace": 1, "workload": "gemm", "shape": [8, 8, 8], "dtype": "f32", "target": "sm_80",
        "directives": [{"op": "teleport", "args": []}]})";
constexpr const char *trace_with_bad_shape =
    R"({"nestsmith_trace": 1, "workload": "gemm", "shape": [8, 0, 8], "dtype": "f32", "target": "sm_80",
        "directives": []})";
INSTANTIATE_TEST_SUITE_P(All, BadTraces,
                         testing::Values(BadTrace{"{\"nestsmith_trace\": 1, ", "not JSON"},
                                         BadTrace{"", "not JSON"},
                                         BadTrace{"\x7f"
                                                  "ELF",
                                                  "not JSON"},
                                         BadTrace{"{\"name\": \"package\"}", "not a nestsmith trace"},
                                         BadTrace{"[1, 2]", "not a nestsmith trace"},
                                         BadTrace{"{\"nestsmith_trace\": 99}", "version 99"},
                                         BadTrace{trace_of_another_workload, "the workload 'conv'"},
                                         BadTrace{trace_with_unknown_directive, "unknown directive 'teleport'"},
                                         BadTrace{trace_with_bad_shape, "an extent must be at least 1, got 0"}),
                         [](const auto &info) { return "Trace" + std::to_string(info.index); });

TEST(BadInput, MissingTraceFileIsNamed) {
  expect_refused(nestsmith("show nowhere.json"), 2,
                 "cannot read the trace 'nowhere.json': No such file or directory");
}

TEST(BadInput, TraceWithAnIllegalDirectiveIsAnIllegalSchedule) {
  TemporaryFolder folder;
  std::string path = (folder / "trace.json").string();
  write_file(path, R"({"nestsmith_trace": 1, "workload": "gemm", "shape": [8, 8, 8], "dtype": "f32",
    "target": "sm_80", "directives": [{"op": "split", "args": [{"loop": "i"}, [0, 4]], "results": ["a", "b"]}]})");
  Ran ran = nestsmith("show " + path);
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_TRUE(contains(ran.err, "split"));
  for (const char *command : {"show --json", "run --device sim --json"}) {
    Ran json = nestsmith(std::string(command) + " " + path);
    EXPECT_EQ(json.code, 3) << command;
    std::vector<llvm::json::Value> lines = test::parsed_lines(json);
    ASSERT_FALSE(lines.empty());
    ASSERT_NE(lines[0].getAsObject(), nullptr) << json.out;
    EXPECT_EQ(lines[0].getAsObject()->getString("requirement"), llvm::StringRef("split.factors")) << json.out;
  }
}

TEST(BadInput, AFolderOfADatabaseIsNotMade) {
  expect_refused(nestsmith("tune ladder/warps --gpu H200 --shape 256x256x64 --set bk=16,lanes=4x8,blocks=2 "
                           "--db /nonexistent/x.db"),
                 2,
                 "there is no folder /nonexistent for the database /nonexistent/x.db; make it, or name another "
                 "file with --db");
  EXPECT_FALSE(std::filesystem::exists("/nonexistent"));
}

TEST(BadInput, ATraceStatesTheShapeAndTheDtypeOfItsComputation) {
  TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  ASSERT_EQ(nestsmith("show ladder/shared --shape 33x34x35 --trace json -o " + path).code, 0);
  const std::string text = test::read_file(path);
  auto with = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write_file(path, changed.replace(at, from.size(), to));
  };
  std::string shape = text.substr(text.find("\"shape\":"));
  shape = shape.substr(0, shape.find(']') + 1);
  with(shape, "\"shape\": [4096, 33, 35]");
  for (const char *command : {"check", "emit", "show", "explain", "run --device sim"})
    expect_refused(
        nestsmith(std::string(command) + " " + path), 2,
        "trace '" + path +
            "' states the shape 4096x33x35 in f32, but in its computation A is f32[33, 35], expected "
            "f32[4096, 35]; make the trace again with show --trace json");
  with(shape, "\"shape\": []");
  expect_refused(
      nestsmith("check " + path), 2,
      "trace '" + path +
          "' has no 'shape', expected the extents of its computation, such as [64, 64, 64]; make the trace "
          "again with show --trace json");
  with("\"dtype\": \"f32\"", "\"dtype\": \"f64\"");
  EXPECT_TRUE(contains(nestsmith("show " + path).err,
                       "states the shape 33x34x35 in f64, but in its computation A is f32[33, 35], expected "
                       "f64[33, 35]"));
  with("\"target\": \"sm_80\"", "\"target\": \"sm_12\"");
  expect_refused(
      nestsmith("show " + path), 2,
      "trace '" + path +
          "' states the target 'sm_12', expected an architecture such as sm_80; give one with --arch");
}

/// The computation of a rung, as a trace with an obligation: the sum is local, but its reader is in another
/// nest.
constexpr const char *owing_trace =
    R"({"nestsmith_trace": 1, "workload": "gemm", "shape": [8, 8, 8], "dtype": "f32", "target": "sm_80",
        "directives": [{"op": "set_scope", "args": [{"block": "AB"}, "local"], "results": []}]})";

TEST(BadInput, OpenObligationsAreShownAndNotLowered) {
  TemporaryFolder folder;
  std::string path = (folder / "trace.json").string();
  write_file(path, owing_trace);
  Ran show = nestsmith("show " + path);
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_TRUE(contains(show.out, "\nowed: "));
  for (const char *command : {"show --lowered", "emit", "check"}) {
    Ran ran = nestsmith(std::string(command) + " " + path);
    EXPECT_EQ(ran.code, 3) << command;
    EXPECT_EQ(ran.out, "");
  }
  Ran run = nestsmith("run deep_dive/naive " + path + " --shape 8x8x8 --device sim");
  EXPECT_EQ(run.code, 3);
  EXPECT_TRUE(contains(run.out, "REFUSED"));
  EXPECT_TRUE(contains(run.out, "PASSED")) << "the other rung is climbed";
}

TEST(BadInput, ShapeThatTheGridCannotCoverIsRefused) {
  Ran ran = nestsmith("run deep_dive/naive --shape 2000000x2000000x1 --device sim");
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(contains(ran.out, "REFUSED"));
  EXPECT_TRUE(
      contains(ran.out, "s.bind(j_i_outer, Axis::block_x): the loop j_i_outer has 15625000000 iterations"));
}

TEST(BadInput, ErrorsAreJsonToo) {
  Ran ran = nestsmith("run coalescd --json");
  EXPECT_EQ(ran.code, 2);
  llvm::json::Value value = test::parsed(ran);
  ASSERT_NE(value.getAsObject(), nullptr);
  EXPECT_TRUE(contains(value.getAsObject()->getString("error")->str(), "unknown rung 'coalescd'"));
  EXPECT_EQ(value.getAsObject()->getInteger("exit_code"), std::int64_t{2});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << "it may be one of several lines";
}

bool has_nvrtc() { return nestsmith("doctor").out.find("✓ NVRTC") != std::string::npos; }
bool has_gpu() { return nestsmith("doctor").out.find("✓ GPU") != std::string::npos; }

TEST(BadInput, WithoutNvrtcCompileSaysSoAndRunGoesOn) {
  std::string nowhere = "NESTSMITH_CUDA_PATH=/nonexistent";
  Ran compile = nestsmith("compile deep_dive/naive", nowhere);
  EXPECT_EQ(compile.code, 4) << compile.err;
  EXPECT_TRUE(contains(compile.err, "NVRTC"));
  Ran run = nestsmith("run deep_dive/naive --shape 8x8x8 --device sim", nowhere);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "n/a"));
  EXPECT_TRUE(contains(run.out, "no NVRTC: registers n/a"));
}

TEST(BadInput, UnknownArchListsTheKnownOnes) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC";
  Ran ran = nestsmith("compile deep_dive/naive --arch sm_1");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "sm_1"));
  EXPECT_TRUE(contains(ran.err, "sm_90"));
}

TEST(BadInput, UnwritableCacheIsNoObstacle) {
  Ran ran = nestsmith("run deep_dive/naive --shape 8x8x8 --device sim", "NESTSMITH_CACHE=/proc/nothing");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(BadInput, GpuWhereThereIsNone) {
  if (has_gpu())
    GTEST_SKIP() << "there is a GPU";
  Ran ran = nestsmith("run deep_dive/naive --device gpu");
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

/// Returns a prefix that runs a command with files of at most 512 bytes. A larger file ends the command, or is
/// refused. NVRTC is hidden, so that no kernel is cached before.
std::string small_files(bool ends) {
  return std::string("NESTSMITH_CUDA_PATH=/nonexistent sh -c 'ulimit -f 1; ulimit -c 0; ") +
         (ends ? "" : "trap \"\" XFSZ; ") + "exec \"$@\"' sh";
}

/// The parameter is a command with an output file, without the name of the file.
class WrittenFile : public testing::TestWithParam<const char *> {};

TEST_P(WrittenFile, ThatTheDiskDoesNotTakeStaysAsItWas) {
  TemporaryFolder folder;
  std::string file = (folder / "file.json").string(), command = std::string(GetParam()) + " -o " + file;
  std::string message = "cannot write '" + file + "': File too large; nothing was written";
  expect_refused(nestsmith(command, small_files(false)), 2, message);
  EXPECT_EQ(folder.files(), 0U);
  write_file(file, "old");
  expect_refused(nestsmith(command, small_files(false)), 2, message);
  EXPECT_EQ(test::read_file(file), "old");
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(nestsmith(command).code, 0);
  EXPECT_GT(test::read_file(file).size(), 512U);
  EXPECT_EQ(folder.files(), 1U);
}

TEST_P(WrittenFile, OfAProcessThatEndsWhileItWritesStaysAsItWas) {
  TemporaryFolder folder;
  std::string file = (folder / "file.json").string(), command = std::string(GetParam()) + " -o " + file;
  EXPECT_NE(nestsmith(command, small_files(true)).code, 0);
  EXPECT_FALSE(std::filesystem::exists(file));
  write_file(file, "old");
  EXPECT_NE(nestsmith(command, small_files(true)).code, 0);
  EXPECT_EQ(test::read_file(file), "old");
}

TEST_P(WrittenFile, OnAFullDeviceIsNoSuccess) {
  expect_refused(nestsmith(std::string(GetParam()) + " -o /dev/full"), 2,
                 "cannot write '/dev/full': No space left on device; nothing was written");
}

INSTANTIATE_TEST_SUITE_P(All, WrittenFile,
                         testing::Values("emit deep_dive/naive --shape 8x8x8",
                                         "show deep_dive/naive --shape 8x8x8 --trace json",
                                         "show deep_dive/shared --lowered"),
                         [](const auto &info) { return "File" + std::to_string(info.index); });

TEST(BadInput, ATraceThatIsSavedIsRead) {
  TemporaryFolder folder;
  std::string file = (folder / "trace.json").string();
  EXPECT_EQ(nestsmith("show deep_dive/naive --shape 8x8x8 --color always --trace json -o " + file).code, 0);
  EXPECT_EQ(nestsmith("show " + file + " --trace json").out, test::read_file(file));
}

/// Damages the kernels in the cache in several ways. They must be compiled again.
TEST(BadInput, ADamagedCacheIsNoObstacle) {
  if (!has_nvrtc())
    GTEST_SKIP() << "no NVRTC";
  TemporaryFolder folder;
  std::string cache = "NESTSMITH_CACHE=" + (folder / "cache").string(),
              command = "compile deep_dive/naive --shape 8x8x8";
  // Two processes fill the cache at the same time.
  std::string both = "env " + cache + " " NESTSMITH_BINARY " " + command + " >" + (folder / "first").string() +
                     " & env " + cache + " " NESTSMITH_BINARY " " + command + " >" +
                     (folder / "second").string() + "; wait $!";
  EXPECT_EQ(std::system(both.c_str()), 0);
  std::filesystem::path entry;
  for (const auto &file : std::filesystem::directory_iterator(folder / "cache"))
    entry = entry.empty() ? file.path() : throw std::runtime_error("more than one entry");
  const std::string whole = test::read_file(entry), flipped = whole.substr(0, 999) + "?" + whole.substr(1000);
  auto expect_compiled = [&] {
    Ran ran = nestsmith(command, cache);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(contains(ran.out, "registers"));
  };
  for (const std::string &damaged : {std::string(), whole.substr(0, whole.size() / 2), flipped}) {
    write_file(entry, damaged);
    expect_compiled();
    EXPECT_FALSE(test::read_file(entry) == damaged) << "it is not made anew";
  }
  std::filesystem::remove(entry);
  std::filesystem::create_directory(entry);
  expect_compiled();
}

TEST(BadInput, FullDiskIsNoSuccess) {
  TemporaryFolder folder;
  std::string command = NESTSMITH_BINARY " list >/dev/full 2>" + (folder / "err").string();
  int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_TRUE(contains(test::read_file(folder / "err"), "cannot write the result: No space left on device"));
}

} // namespace
} // namespace nestsmith
