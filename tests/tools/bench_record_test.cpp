/// Tests `bench --record` with measurements that the test makes up.

#include "tools/bench/bench_record.h"

#include "dsl/expr/error.h"
#include "tests/dsl/support.h"
#include "tests/files.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>

namespace nestsmith::cli {
namespace {

using test::expect_user_error;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Schedule refused_below_256(const Shape &shape, DType dtype, const Target &target) {
  if (shape[0] < 256)
    throw UserError(ExitCode::illegal_schedule, "too small");
  return test::axpy(shape, dtype, target);
}

const std::vector<Rung> own = {{"", "fast", "", test::axpy, {128}, {256}, {1024}},
                               {"", "slow", "", test::axpy, {128}, {256}, {1024}},
                               {"", "large", "", refused_below_256, {128}, {256}, {1024}}};

struct Asked {
  explicit Asked(std::vector<std::string> words, const std::vector<Rung> &rungs = own)
      : arguments("bench", words,
                  {{.name = "shapes", .value = "LIST", .help = "", .list = true}, {"dtype", "T", ""}}),
        context{rungs, arguments, Style(Colour::never)} {
    for (const Rung &rung : rungs)
      all.push_back(&rung);
  }
  std::vector<RecordBatch> batches() const { return batches_of(context, all); }

  Arguments arguments;
  Context context;
  std::vector<const Rung *> all;
};

/// A machine on which "fast" takes 1 ms, and each other rung `slow_ms`.
class RecordedBench : public testing::Test {
protected:
  RecordedBench() {
    run.file = (folder / "times.json").string();
    run.machine = {"NVIDIA H200", "13.0", "13.1"};
    run.commit = "abc1234";
    run.options.rounds = 9;
    run.measure = [this](const std::vector<Planned> &planned) { return measured(planned); };
  }
  BenchShape measured(const std::vector<Planned> &planned) {
    BenchShape shape;
    shape.shape = planned.front().shape;
    for (const Planned &rung : planned) {
      names.push_back(rung.choice.name + " " + to_text(rung.shape));
      BenchRow row;
      row.name = rung.choice.name;
      row.computation = 0;
      if (row.name == wrong)
        row.failure = {"wrong result on small integers", "", "", ExitCode::wrong_result};
      else
        row.times = {{"", {1, 1, row.name == "fast" ? 1 : slow_ms, 3, 4}, 2, 1.5, 1980.0}};
      shape.rows.push_back(row);
    }
    for (const char *library : {"cuBLAS 13.1.0", "cuBLASLt 13.1.0"}) {
      BenchRow peer;
      peer.name = library, peer.peer = true, peer.computation = 0;
      peer.times = {{"", {1, 1, library == std::string("cuBLAS 13.1.0") ? 0.75 : 0.5, 1, 1}, 1, 1, {}}};
      shape.rows.push_back(peer);
    }
    return shape;
  }
  std::map<std::string, double> kept() const {
    std::map<std::string, double> times;
    records::MeasuredTable table(test::read_file(run.file), run.file);
    for (const records::Record &record : table.records())
      times[record.rung + " " + record.shape] = record.median_ms;
    return times;
  }

  test::TemporaryFolder folder;
  RecordRun run;
  std::string wrong;
  double slow_ms = 2;
  std::vector<std::string> names; ///< what was measured
};

TEST_F(RecordedBench, KeepsTimesWithTheirConditions) {
  Asked asked({});
  Recorded recorded = record_batches(asked.context, asked.batches(), run);
  EXPECT_EQ(recorded.measured, 3U);
  EXPECT_EQ(recorded.known, 0U);
  EXPECT_THAT(kept(), ElementsAre(Pair("fast 1024", 1), Pair("large 1024", 2), Pair("slow 1024", 2)));
  records::Record record = records::MeasuredTable(test::read_file(run.file), "").records()[0];
  EXPECT_EQ(record.gpu, "NVIDIA H200");
  EXPECT_EQ(record.driver, "13.0");
  EXPECT_EQ(record.nvrtc, "13.1");
  EXPECT_EQ(record.launch, "back-to-back");
  EXPECT_EQ(record.samples, 9);
  EXPECT_EQ(record.upper_quartile_ms, 3);
  EXPECT_EQ(record.sm_mhz, 1980.0);
  EXPECT_EQ(record.peer, "cuBLASLt 13.1.0");
  EXPECT_EQ(record.peer_ms, 0.5);
  EXPECT_EQ(record.code.size(), 64U);
  EXPECT_THAT(record.nestsmith, testing::EndsWith("+abc1234"));
  EXPECT_THAT(record.measured_at, testing::MatchesRegex("[0-9-]+T[0-9:]+Z"));
}

TEST_F(RecordedBench, ContinuesATable) {
  const std::vector<Rung> one = {own[0]};
  Asked first({}, one);
  record_batches(first.context, first.batches(), run);
  slow_ms = 5;
  Asked all({});
  Recorded recorded = record_batches(all.context, all.batches(), run);
  EXPECT_EQ(recorded.measured, 2U);
  EXPECT_EQ(recorded.known, 1U);
  EXPECT_THAT(names, ElementsAre("fast 1024", "slow 1024", "large 1024"));
  // Another driver measures all of them again, and replaces them.
  run.machine.driver = "13.1";
  EXPECT_EQ(record_batches(all.context, all.batches(), run).measured, 3U);
  EXPECT_EQ(kept().size(), 3U);
}

TEST_F(RecordedBench, WritesTheFileAfterEachBatch) {
  Asked asked({});
  int shown = 0;
  run.show = [&](const BenchShape &) {
    EXPECT_TRUE(std::filesystem::exists(run.file));
    if (++shown == 1)
      throw UserError(ExitCode::wrong_result, "the driver reported a fault");
  };
  EXPECT_THROW(record_batches(asked.context, asked.batches(), run), UserError);
  EXPECT_EQ(kept().size(), 3U) << "the results before the fault are kept";
}

TEST_F(RecordedBench, NotesWhatIsRefusedOrWrong) {
  wrong = "slow";
  const std::vector<Rung> small = {own[1], {"", "large", "", refused_below_256, {128}, {128}, {128}}, own[0]};
  Asked asked({}, small);
  Recorded recorded = record_batches(asked.context, asked.batches(), run);
  EXPECT_TRUE(recorded.wrong);
  EXPECT_THAT(kept(), ElementsAre(Pair("fast 1024", 1)));
  EXPECT_THAT(recorded.notes,
              UnorderedElementsAre("large at 128 in f32 is not recorded: too small",
                                   "slow at 1024 in f32 is not recorded: wrong result on small integers"));
}

TEST_F(RecordedBench, RefusesAFileThatIsNoTable) {
  std::ofstream(run.file) << "{}";
  Asked asked({});
  expect_user_error([&] { record_batches(asked.context, asked.batches(), run); }, ExitCode::usage,
                    "not a file of records");
  EXPECT_TRUE(names.empty()) << "before anything is measured";
  run.file = (folder / "none" / "times.json").string();
  expect_user_error([&] { record_batches(asked.context, asked.batches(), run); }, ExitCode::usage,
                    "cannot write");
}

std::vector<std::string> texts(const std::vector<RecordBatch> &batches) {
  std::vector<std::string> list;
  for (const RecordBatch &batch : batches)
    list.push_back(fmt::format("{} {}: {}", name(batch.dtype), to_text(batch.shape), batch.rungs.size()));
  return list;
}

TEST(RecordBatches, HaveSensibleShapesAndTypes) {
  EXPECT_THAT(texts(Asked({}).batches()), ElementsAre("f32 1024: 3"));
  std::vector<Rung> some;
  for (const Rung &rung : builtin_rungs())
    for (const char *name : {"ladder/naive", "tensor/mma", "principles/divergent", "gemm/batched"})
      if (rung.full_name() == name)
        some.push_back(rung);
  ASSERT_EQ(some.size(), 4U);
  std::vector<std::string> usual = texts(Asked({}, some).batches());
  EXPECT_EQ(usual.size(), 4 + 4 * 4 + 2U);
  EXPECT_THAT(usual, testing::IsSupersetOf({"f32 512x512x512: 1", "i8 4096x4096x4096: 1",
                                            "bf16 2048x2048x2048: 1", "f32 16x1024x1024x1024: 1"}));
  EXPECT_EQ(usual[1], "f32 512x512x512: 1") << "small shapes come first";
  EXPECT_EQ(usual.back(), "i8 4096x4096x4096: 1");
  // One number is a product; rungs of other ranks keep their shapes.
  EXPECT_THAT(texts(Asked({"--shapes", "64,8x16x32", "--dtype", "f16"}, some).batches()),
              testing::IsSupersetOf({"f16 64x64x64: 2", "f16 8x16x32: 2", "f16 16x1024x1024x1024: 1"}));
  expect_user_error(
      [&] {
        Asked({"--shapes", "64x"}, some).batches();
      },
      ExitCode::usage, "shape '64x': '' is not a number; give MxNxK such as 512x512x512");
}

TEST(RecordBatches, OfManyRungsAreDivided) {
  std::vector<Rung> many;
  for (int n = 0; n < 20; ++n)
    many.push_back({"", fmt::format("r{}", n), "", test::axpy, {128}, {256}, {1024}});
  EXPECT_THAT(texts(Asked({}, many).batches()), ElementsAre("f32 1024: 16", "f32 1024: 4"));
}

TEST(Precompiled, CompilesEachTextOnce) {
  std::atomic<int> calls = 0;
  Precompiled compiled([&](const kernel::Plan &plan, Arch) {
    if (++calls == 2)
      throw UserError(ExitCode::no_device, "no compiler");
    return std::vector<cuda::Compiled>(plan.kernels.size());
  });
  Asked asked({});
  kernel::Plan plan = lower(own[0].build(Shape{1024}, DType::f32, make_target("sm_90a"))),
               other = lower(own[0].build(Shape{1000}, DType::f32, make_target("sm_90a")));
  compiled.add({plan}, Arch{90});
  EXPECT_EQ(compiled(plan, Arch{90}).size(), 1U);
  compiled.add({plan}, Arch{90});
  EXPECT_EQ(calls, 1);
  compiled.add({other}, Arch{90}); // fails: the row of the rung says why
  EXPECT_EQ(compiled(other, Arch{90}).size(), 1U);
  EXPECT_EQ(compiled(plan, Arch{80}).size(), 1U) << "another architecture is another kernel";
  EXPECT_EQ(calls, 4);
}

TEST(BenchRecord, RefusesOptionsThatDoNotGoTogether) {
  auto refused = [](const std::string &options, const std::string &message) {
    test::Ran ran = test::nestsmith("bench " + options, "CUDA_VISIBLE_DEVICES=");
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_TRUE(test::contains(ran.err, message)) << ran.err;
  };
  refused("--all", "option '--all' belongs to --record; give --record FILE too");
  refused("ladder --most-ms 3", "option '--most-ms' belongs to --record; give --record FILE too");
  refused("--all ladder --record a.json", "--all means every rung, got 'ladder' too; leave one of them out");
  refused("--record a.json", "'bench' needs a RUNG: nestsmith bench RUNG or TUTORIAL …");
  refused("ladder --record a.json --set bk=8",
          "--record keeps the times of rungs with their usual knobs, as a table; leave --set out");
  test::TemporaryFolder folder;
  std::string trace = (folder / "t.json").string();
  ASSERT_EQ(test::nestsmith("show ladder/naive --trace json -o " + trace).code, 0);
  refused(trace + " --record a.json", "is a trace file, and --record keeps the times of rungs; leave it out");
  test::Ran ran = test::nestsmith("bench --all --record a.json", "CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(test::contains(ran.err, "bench measures on a GPU, and there is none that can be used"))
      << ran.err;
}

} // namespace
} // namespace nestsmith::cli
