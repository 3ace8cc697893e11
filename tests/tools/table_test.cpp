/// Tests the best knobs by GPU, dtype and shape: rungs with a table, and --table.

#include "dsl/expr/error.h"
#include "runtime/records/knob_table.h"
#include "runtime/records/text.h"
#include "schedules/fast/rungs.h"
#include "tests/codegen/host_text.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"
#include "tools/options/scheduled.h"
#include "tools/output/table.h"

#include <fmt/format.h>
#include <fstream>

namespace nestsmith {
namespace {

using test::call_main;
using test::Called;
using test::contains;
using test::nestsmith;
using test::parsed;
using test::parsed_lines;
using test::Ran;

records::Record record(const std::string &rung, const std::string &shape, const std::string &knobs,
                       const std::string &gpu = "NVIDIA H200") {
  records::Record one;
  one.rung = rung, one.shape = shape, one.knobs = parse_knobs(knobs), one.gpu = gpu, one.dtype = "f32";
  one.median_ms = 0.5, one.peer_ms = 0.25, one.peer = "cuBLAS 13.0", one.samples = 5;
  return one;
}

/// Y = X. Blocks of 256 threads require a size that is a multiple of 256.
Schedule copied(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Workload w("copied");
  Tensor x = w.placeholder("X", {shape[0]}, dtype);
  Tensor y = w.compute("Y", {shape[0]}, {"i"}, [&](Expr i) -> Definition { return x(i); });
  Schedule s(w.output({y}), target);
  auto [i] = s.loops<1>(s.block("Y"));
  std::int64_t threads = knobs.choose("threads", {128, 64, 256});
  auto [block, thread] = s.split(i, {infer, threads});
  if (shape[0] % 8 == 0)
    knobs.flag("eights");
  s.bind(block, Axis::block_x);
  s.bind(thread, threads == 256 && shape[0] % 256 != 0 ? Axis::block_x : Axis::thread_x);
  return s;
}

/// Returns a rung with knobs, and one with a table of records.
std::vector<Rung> own_rungs() {
  std::string table =
      records::to_text({record("tuned", "1000", "threads=64"), record("tuned", "4096", "threads=256"),
                        record("tuned", "100", "threads=128", "NVIDIA A100-SXM4-40GB")});
  return {{"", "tuned", "with knobs", copied, {128}, {1000}},
          {.tutorial = "",
           .name = "best",
           .summary = "with the best knobs",
           .build = copied,
           .tile = {128},
           .default_shape = {1000},
           .table = table,
           .tuned = "tuned"}};
}

std::string shown(std::vector<std::string> words) {
  words.insert(words.begin(), {"show", "best", "--arch", "sm_90a"});
  Called called = call_main(words, own_rungs());
  EXPECT_EQ(called.code, 0) << called.err;
  return called.out.substr(0, called.out.find("\n\n"));
}

TEST(Table, GivesTheKnobsOfTheShapeOrOfTheNearestOne) {
  EXPECT_TRUE(contains(shown({}), "best  f32 1000  as 1000 on NVIDIA H200: eights=false, threads=64"));
  EXPECT_TRUE(contains(shown({"--shape", "5120"}), "as 4096 on NVIDIA H200: eights=false,"));
  EXPECT_TRUE(contains(shown({"--shape", "10"}), "best  f32 10  as 1000 on NVIDIA H200: threads=64"));
}

/// The schedule refuses 256 threads for this shape, so this knob has its default value.
TEST(Table, LeavesOutAKnobWithWhichTheScheduleIsIllegal) {
  EXPECT_TRUE(contains(shown({"--shape", "4097"}), "best  f32 4097  as 4096 on NVIDIA H200, except threads: "
                                                   "threads=128"));
}

TEST(Table, GivesWayToGivenKnobs) {
  EXPECT_TRUE(contains(shown({"--set", "threads=128"}), "as 1000 on NVIDIA H200: eights=false, threads=128"));
  Called unknown = call_main({"show", "best", "--set", "bk=8"}, own_rungs());
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "best: the schedule has no knob 'bk', expected one of threads, eights"));
}

TEST(Table, WithoutARecordOfTheTypeTheDefaultsAreUsed) {
  EXPECT_TRUE(contains(shown({"--dtype", "f16"}), "best  f16 1000  default knobs: eights=false, threads=128"));
  EXPECT_TRUE(contains(shown({"--dtype", "u32"}), "best  u32 1000  as 1000 on NVIDIA H200"));
}

TEST(Table, IsNamedInTheRow) {
  Called run = call_main({"run", "tuned", "best", "--device", "sim", "--arch", "sm_90a"}, own_rungs());
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "\n best (as 1000)"));
  EXPECT_TRUE(contains(run.out, "best takes the knobs of 1000 on NVIDIA H200 (0.5 ms, 0.500 of cuBLAS 13.0):"));
  Called half = call_main({"run", "best", "--device", "sim", "--dtype", "f16"}, own_rungs());
  EXPECT_TRUE(contains(half.out, "best (default knobs)"));
  EXPECT_TRUE(
      contains(half.out, "best takes the defaults of its knobs: the table of best has no record of f16"));
  Called json = call_main({"run", "best", "--device", "sim", "--arch", "sm_90a", "--json"}, own_rungs());
  const llvm::json::Value row = parsed_lines({json.code, json.out, json.err}).front();
  const llvm::json::Object *table = row.getAsObject()->getObject("table");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->getString("shape"), llvm::StringRef("1000"));
  EXPECT_EQ(table->getBoolean("exact"), true);
  EXPECT_EQ(row.getAsObject()->getObject("knobs")->getString("threads"), llvm::StringRef("64"));
}

TEST(Table, ServesTheMostSimilarGpu) {
  const std::vector<Rung> rungs = own_rungs();
  const cli::ChosenRung best = cli::choose_rung(rungs, "best");
  auto served = [&](const Target &target, DType dtype = DType::f32) {
    Knobs knobs;
    auto use = cli::chosen_knobs(best, {1000}, dtype, target, knobs).use;
    return use && use->record ? use->record->gpu : "none";
  };
  Target target = make_target("sm_90a");
  EXPECT_EQ(served(target), "NVIDIA H200");
  EXPECT_EQ(served(target, DType::u32), "NVIDIA H200") << "ring mode has the operations of f32";
  target.gpu = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(served(target), "NVIDIA H200");
  target.gpu = "NVIDIA A100-SXM4-40GB";
  EXPECT_EQ(served(target), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(served(make_target("sm_86")), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(served(target, DType::f16), "none");
}

TEST(Table, IsNotTuned) {
  Ran ran = nestsmith("tune fast/best");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(
      contains(ran.err, "'fast/best' takes its knobs from a table of records of 'fast/gemm'; tune that rung"));
}

class GivenTable : public testing::Test {
protected:
  std::string write(const std::string &text) {
    std::ofstream(folder_ / "mine.json") << text;
    return (folder_ / "mine.json").string();
  }
  std::string write(const std::vector<records::Record> &records) { return write(records::to_text(records)); }

  test::TemporaryFolder folder_;
};

TEST(KnobTables, AKernelTableOfTheGpuComesBeforeARecordOfAnotherOne) {
  std::string emit = "emit fast/best --shape 512x512x512 --gpu ";
  EXPECT_TRUE(contains(nestsmith(emit + "H100").out, "fast/best (as predicted for NVIDIA H100"));
  EXPECT_TRUE(contains(nestsmith(emit + "H200").out, "fast/best (as 512x512x512 on NVIDIA H200)"));
  EXPECT_TRUE(contains(nestsmith(emit + "A100").out, "fast/best (as 512x512x512 on NVIDIA H200)"))
      << "neither is of this GPU";
}

TEST_F(GivenTable, ReplacesTheTableOfTheRung) {
  std::string mine = write({record("fast/gemm", "64x64x64", "warps=1x1,results=4x4"),
                            record("ladder/warps", "64x64x64", "bk=16,warps=2x4")});
  Ran best = nestsmith("show fast/best --shape 64x64x64 --gpu H200 --table " + mine);
  EXPECT_EQ(best.code, 2) << "show takes no --gpu";
  best = nestsmith("show fast/best --shape 64x64x64 --table " + mine);
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_TRUE(contains(best.out, "as 64x64x64 on NVIDIA H200: async=false, bk=16, blocks=3, columns=false, "
                                 "fragments=false, group=1"));
  EXPECT_TRUE(contains(best.out, "results=4x4"));
  Ran warps = nestsmith("run ladder/warps --device sim --shape 70x64x64 --table " + mine);
  EXPECT_EQ(warps.code, 0) << warps.out << warps.err;
  EXPECT_TRUE(contains(warps.out, " ladder/warps (as 64x64x64) "));
  EXPECT_TRUE(contains(warps.out, "bk=16, "));
}

TEST_F(GivenTable, IsRefusedIfItIsNotATableOfTheRung) {
  auto refused = [&](const std::string &text, const std::string &why) {
    Ran ran = nestsmith("show fast/best --shape 64x64x64 --table " + write(text));
    EXPECT_EQ(ran.code, 2) << why;
    EXPECT_TRUE(contains(ran.err, why));
    EXPECT_EQ(ran.out, "");
  };
  auto text = [](const std::string &rung, const std::string &knobs) {
    return records::to_text({record(rung, "64x64x64", knobs)});
  };
  refused("", "mine.json: not JSON: ");
  refused("bk=8", "mine.json: not JSON: ");
  refused(R"({"directives": []})",
          "mine.json: not a file of records; expected an object with 'nestsmith_records'");
  refused(R"({"nestsmith_records": 2, "records": []})",
          "mine.json: the version of the records is 2, expected 1");
  refused(records::to_text(std::vector<records::Record>{}),
          "mine.json has no measured record of 'fast/gemm'; `nestsmith tune export fast/gemm");
  refused(text("ladder/warps", "bk=8"), "has no measured record of 'fast/gemm', only records of ladder/warps");
  refused(text("fast/gemm", "bk=8,unroll=2"), "mine.json: the record of f32 64x64x64 on NVIDIA H200: the "
                                              "schedule has no knob 'unroll', expected one of "
                                              "roles, warps, ");
  refused(text("fast/gemm", "bk=7"),
          "on NVIDIA H200: the knob 'bk' is '7', expected one of 16, 8, 32; export the "
          "table again");
  Ran missing = nestsmith("show fast/best --table /nonexistent/mine.json");
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(
      contains(missing.err, "cannot read the table '/nonexistent/mine.json': No such file or directory"));
}

TEST_F(GivenTable, IsNotForATrace) {
  std::string trace = (folder_ / "t.json").string();
  ASSERT_EQ(nestsmith("show deep_dive/naive --shape 8x8x8 --trace json -o " + trace).code, 0);
  Ran ran = nestsmith("show " + trace + " --table " + trace);
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "is a trace file, which contains its schedule; leave --table out"));
}

/// The attribute `table` of `show fast/best --json`.
llvm::json::Object use_in(const std::string &command) {
  const llvm::json::Value json = parsed(nestsmith(command));
  const llvm::json::Object *use = json.getAsObject() ? json.getAsObject()->getObject("table") : nullptr;
  EXPECT_NE(use, nullptr) << command;
  return use ? *use : llvm::json::Object{};
}
llvm::json::Object use_of(const std::string &arguments) {
  return use_in("show fast/best --json --arch sm_90a " + arguments);
}
/// On an H200, whose table is not that of the architecture.
llvm::json::Object use_on_h200(const std::string &shape) {
  return use_in("explain fast/best --json --gpu H200 --shape " + shape);
}

TEST(Predicted, IsTheKernelOfAShapeWithoutARecord) {
  for (const char *shape :
       {"1000x777x333", "1x1x1", "7x4099x64", "128x136x30000 --dtype bf16", "513x515x517 --dtype bf16"}) {
    const llvm::json::Object use = use_of(std::string("--shape ") + shape);
    EXPECT_TRUE(contains(use.getString("gpu")->str(), "NVIDIA H"));
    EXPECT_EQ(use.getArray("tile")->size(), 3U);
    EXPECT_GE(*use.getInteger("parts"), 1);
    EXPECT_GT(*use.getNumber("predicted_ms"), 0);
    const llvm::json::Object *next = use.getObject("next");
    ASSERT_NE(next, nullptr) << shape;
    EXPECT_GE(*next->getNumber("predicted_ms"), *use.getNumber("predicted_ms"));
    EXPECT_TRUE(*next->getArray("tile") != *use.getArray("tile") ||
                next->getInteger("parts") != use.getInteger("parts"));
    EXPECT_TRUE(contains(next->getString("knobs")->str(), "warps="));
  }
  EXPECT_GT(*use_of("--shape 128x128x30000").getInteger("parts"), 1) << "few tiles, so blocks share them";
  EXPECT_EQ(*use_of("--shape 3000x3000x20").getInteger("parts"), 1) << "one part has at least two tiles of k";
}

/// There is no table of this GPU, so the text names the one of the most similar GPU.
TEST(Predicted, IsExplained) {
  Ran ran = nestsmith("explain fast/best --shape 8x8x8 --gpu A100");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(
      test::matches(ran.out, "^fast/best  f32 8x8x8  as predicted for NVIDIA H.* on NVIDIA A100|sm_80"));
  EXPECT_TRUE(contains(ran.out, "\nKnobs\n  fast/best takes the kernel that the kernel table of NVIDIA H"));
  EXPECT_TRUE(test::matches(ran.out, "predicts to be the fastest, with tiles of [0-9]+x[0-9]+x[0-9]+: 0[.]"));
  EXPECT_TRUE(contains(ran.out, "; the next one"));
}

/// The numbers of blocks, waves and tiles of k follow from the tiles.
TEST(Predicted, IsExplainedByTheBlocksAndWaves) {
  Ran ran = nestsmith("explain fast/best --shape 464x880x2108 --gpu H200");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(test::matches(ran.out, "The first one has [0-9]+ blocks?, [0-9.]+ waves of [0-9]+, with"));
  EXPECT_TRUE(contains(ran.out, "The next one has"));
  EXPECT_FALSE(contains(ran.out, "the model extrapolates")) << ran.out;
  const llvm::json::Object use = use_on_h200("464x880x2108");
  const llvm::json::Array &tile = *use.getArray("tile");
  const auto tiles = [&](std::size_t n, std::int64_t extent) {
    const std::int64_t of_tile = *tile[n].getAsInteger();
    return (extent + of_tile - 1) / of_tile;
  };
  const std::int64_t parts = *use.getInteger("parts"), blocks = *use.getInteger("blocks");
  ASSERT_EQ(*use.getInteger("even"), 0);
  EXPECT_EQ(blocks, tiles(0, 464) * tiles(1, 880) * parts);
  EXPECT_EQ(*use.getInteger("depth"), (tiles(2, 2108) + parts - 1) / parts);
  EXPECT_DOUBLE_EQ(*use.getNumber("waves") * *use.getNumber("blocks_of_wave"), static_cast<double>(blocks));
  EXPECT_EQ(*use.getNumber("sum_ms") > 0, parts > 1);
  EXPECT_EQ(use.getBoolean("extrapolated"), false);
}

/// A shape that was searched has a record. The kernel of the table stands beside it.
TEST(Predicted, StandsBesideARecord) {
  Ran ran = nestsmith("explain fast/best --shape 512x512x512 --gpu H200");
  EXPECT_TRUE(test::matches(
      ran.out,
      "which[ \n]+was[ \n]+searched.[ \n]+Of[ \n]+the[ \n]+kernel[ \n]+table[ \n]+of[ \n]+NVIDIA[ \n]+H200"));
  EXPECT_TRUE(test::matches(ran.out, "The one of the table[ \n]+has[ \n]+[0-9]+[ \n]+blocks"));
}

TEST(Predicted, SaysWhereTheModelExtrapolates) {
  Ran ran = nestsmith("explain fast/best --gpu H200 --shape 1x1x1");
  EXPECT_TRUE(test::matches(ran.out, "outside[ \n]+of[ \n]+the[ \n]+sizes[ \n]+of[ \n]+the[ \n]+table"))
      << ran.out;
  for (const char *shape : {"1x1x1", "20x30x1000000", "40000x40000x64"})
    EXPECT_EQ(use_of(std::string("--shape ") + shape).getBoolean("extrapolated"), true) << shape;
  EXPECT_EQ(use_of("--shape 1000x777x333").getBoolean("extrapolated"), false);
}

/// The point says helped=false, and this product cannot have a helped tail, so its schedule has no such knob.
TEST(Predicted, TakesAPointWithRolesWhereNoTailCanBeHelped) {
  const Ran ran = nestsmith("emit fast/best --shape 2047x2047x2047 --gpu H200");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "as predicted for NVIDIA H200"));
  EXPECT_TRUE(contains(ran.out, "the other warps fill the tiles"));
}

TEST(Predicted, GivesWayToARecordOfTheShape) {
  const llvm::json::Object use = use_of("--shape 512x512x512");
  EXPECT_EQ(use.getBoolean("exact"), true);
  EXPECT_EQ(use.getString("shape"), llvm::StringRef("512x512x512"));
  EXPECT_EQ(use.get("predicted_ms"), nullptr);
}

TEST(Predicted, GivesWayToGivenKnobs) {
  Ran set = nestsmith("show fast/best --shape 1000x776x332 --arch sm_90a --set results=4x8,warps=2x1,bk=8");
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_TRUE(contains(set.out, "as predicted for NVIDIA H"));
  for (const char *knob : {"results=4x8", "warps=2x1", "bk=8"})
    EXPECT_TRUE(contains(set.out, knob));
  Ran unknown = nestsmith("show fast/best --shape 1000x776x332 --set depth=8");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "fast/best: the schedule has no knob 'depth', expected one of "));
}

TEST_F(GivenTable, IsUsedWithoutThePrediction) {
  std::string mine = write({record("fast/gemm", "64x64x64", "warps=1x1,results=4x4")});
  EXPECT_EQ(use_of("--shape 1000x776x332 --table " + mine).getString("shape"), llvm::StringRef("64x64x64"));
  // Also where the program has no kernel table of the GPU.
  EXPECT_EQ(use_in("explain fast/best --json --gpu A100 --shape 64x64x64 --table " + mine).getString("shape"),
            llvm::StringRef("64x64x64"));
}

/// Sizes that are known at run time only take registers, so the times of constant kernels are not theirs.
TEST(Predicted, IsNotASymbolicKernel) {
  const llvm::json::Object use = use_of("--shape 1000x776x332 --symbolic");
  EXPECT_TRUE(contains(use.getString("why_not")->str(), "has no record of f32 with 3 extents for all shapes"));
}

TEST(Predicted, IsNamedInTheRow) {
  Ran run = nestsmith("run fast/best --device sim --arch sm_80 --shape 65x67x129");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "fast/best (scalar, predicted)"));
  EXPECT_TRUE(contains(run.out, "fast/best takes the kernel that the kernel table of NVIDIA H"));
  EXPECT_TRUE(contains(run.out, "PASSED"));
}

/// Matrix units need asynchronous copies here, those that read tiles a Hopper GPU, and ring mode (u32) takes
/// the schedule of f32.
TEST(Predicted, IsOfTheRungThatTheDtypeHas) {
  auto title = [](const std::string &arguments) {
    Ran ran = nestsmith("show fast/best --shape 1000x776x336 " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out.substr(0, ran.out.find("\n\n"));
  };
  std::string bf16 = title("--arch sm_90a --dtype bf16");
  EXPECT_TRUE(contains(bf16, "as predicted for NVIDIA H"));
  EXPECT_TRUE(contains(bf16, "wgmma=true"));
  std::string ampere = title("--arch sm_80 --dtype bf16");
  EXPECT_TRUE(contains(ampere, "as predicted for NVIDIA H"));
  EXPECT_TRUE(contains(ampere, "ldmatrix=true") && !contains(ampere, "wgmma=true")) << ampere;
  std::string before = title("--arch sm_75 --dtype bf16");
  EXPECT_TRUE(contains(before, "default knobs"));
  EXPECT_TRUE(contains(before, "lanes="));
  std::string f32 = title("--arch sm_90a --dtype f32"), ring = title("--arch sm_90a --dtype u32");
  EXPECT_EQ(ring.substr(ring.find("as predicted")), f32.substr(f32.find("as predicted")));
}

/// Every record of the committed table must be legal at its own shape, with all of its knobs.
TEST(CommittedTable, FitsItsSchedule) {
  records::KnobTable table(fast::gemm_table, "gemm.json", "fast/gemm");
  for (const std::string &gpu : table.gpus("f32"))
    for (const records::Record *record : table.of_gpu(gpu, "f32")) {
      Shape shape = records::extents_of(*record);
      if (record->symbolic)
        shape.stated = Size{};
      Knobs knobs(record->knobs);
      Schedule schedule = fast::gemm(shape, DType::f32, make_target("sm_90a"), knobs);
      EXPECT_TRUE(schedule.obligations().empty()) << record->shape;
      EXPECT_NO_THROW(knobs.refuse_unknown()) << record->shape;
    }
}

} // namespace
} // namespace nestsmith
