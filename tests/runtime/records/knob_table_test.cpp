/// Tests which record the table of the best knobs selects for a problem.

#include "runtime/records/knob_table.h"

#include "dsl/expr/error.h"
#include "runtime/records/text.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith::records {
namespace {

using test::expect_user_error;
using testing::ElementsAre;

Record best_record(const std::string &shape, double ms = 1, const std::string &gpu = "NVIDIA H200") {
  Record one;
  one.rung = "fast/gemm";
  one.knobs = {{"bk", "8"}};
  one.shape = shape;
  one.dtype = "f32";
  one.gpu = gpu;
  one.median_ms = ms;
  one.samples = 1;
  return one;
}

KnobTable table(const std::vector<Record> &records) {
  return KnobTable(to_text(records), "best.json", "fast/gemm");
}

Problem problem(std::vector<std::int64_t> extents) {
  return {.gpu = "NVIDIA H200", .dtype = "f32", .extents = std::move(extents)};
}

std::string nearest(const KnobTable &table, const Problem &problem) {
  std::vector<const Record *> found = table.nearest(problem);
  return found.empty() ? "none" : found.front()->shape + (found.front()->symbolic ? " symbolic" : "");
}

TEST(KnobTable, HasTheShapeOrTheNearestOne) {
  KnobTable squares = table({best_record("512x512x512"), best_record("4096x4096x4096"),
                             best_record("1024x1024x1024"), best_record("64x4096x4096")});
  EXPECT_EQ(nearest(squares, problem({1024, 1024, 1024})), "1024x1024x1024");
  EXPECT_EQ(nearest(squares, problem({1400, 1400, 1400})), "1024x1024x1024");
  EXPECT_EQ(nearest(squares, problem({4, 4, 4})), "512x512x512");
  EXPECT_EQ(nearest(squares, problem({32, 4096, 2048})), "64x4096x4096");
  EXPECT_EQ(nearest(squares, problem({65536, 65536, 65536})), "4096x4096x4096");
  EXPECT_EQ(nearest(squares, problem({1024})), "none");
}

/// For a shape without vectors, the same alignment is worth more than a factor of up to 2 in each extent.
TEST(KnobTable, PrefersAShapeOfTheSameAlignment) {
  KnobTable mixed =
      table({best_record("1024x1024x1024"), best_record("1023x1023x1023"), best_record("4096x4096x4096")});
  EXPECT_EQ(nearest(mixed, problem({1025, 1025, 1025})), "1023x1023x1023");
  EXPECT_EQ(nearest(mixed, problem({1020, 1020, 1020})), "1024x1024x1024");
  EXPECT_EQ(nearest(mixed, problem({2001, 2001, 2001})), "1023x1023x1023");
  EXPECT_EQ(nearest(mixed, problem({4001, 4001, 4001})), "4096x4096x4096");
}

TEST(KnobTable, GivesOnlyKernelsOfTheSameKind) {
  Record symbolic = best_record("1000x1000x1000");
  symbolic.symbolic = true;
  KnobTable both = table({symbolic, best_record("1000x1000x1000"), best_record("1001x1001x1001")});
  Problem all = problem({1000, 1000, 1000});
  EXPECT_EQ(nearest(both, all), "1000x1000x1000");
  all.symbolic = true;
  EXPECT_EQ(nearest(both, all), "1000x1000x1000 symbolic");
  KnobTable constant = table({best_record("1000x1000x1000"), best_record("1001x1001x1001")});
  EXPECT_EQ(nearest(constant, all), "none");
}

TEST(KnobTable, SeparatesGpusAndTypes) {
  Record half = best_record("64x64x64");
  half.dtype = "f16";
  KnobTable several = table({best_record("512x512x512"), best_record("64x64x64", 1, "NVIDIA A100"), half});
  EXPECT_EQ(nearest(several, problem({64, 64, 64})), "512x512x512");
  EXPECT_THAT(several.gpus("f32"), ElementsAre("NVIDIA A100", "NVIDIA H200"));
  EXPECT_THAT(several.gpus("f16"), ElementsAre("NVIDIA H200"));
  EXPECT_TRUE(several.gpus("bf16").empty());
}

TEST(KnobTable, HasTheFastestMeasuredRecordsOfItsRung) {
  Record other = best_record("512x512x512", 0.1), failed = best_record("512x512x512", 0),
         fast = best_record("512x512x512", 0.5);
  other.rung = "ladder/warps";
  failed.outcome = Outcome::hung;
  fast.knobs = {{"bk", "16"}};
  KnobTable best = table({best_record("512x512x512"), other, failed, fast, best_record("64x64x64")});
  EXPECT_EQ(*best.nearest(problem({512, 512, 512})).front(), fast);
  std::vector<std::string> shapes;
  for (const Record *one : best.of_gpu("NVIDIA H200", "f32"))
    shapes.push_back(one->shape);
  EXPECT_THAT(shapes, ElementsAre("64x64x64", "512x512x512"));
}

TEST(KnobTable, RefusesRecordsThatNoMeasurementHas) {
  auto refused = [](const std::vector<Record> &records, const std::string &message) {
    expect_user_error([&] { table(records); }, ExitCode::usage, message);
  };
  Record unknown = best_record("512x512x512");
  unknown.dtype = "f99";
  refused({unknown}, "best.json: a record of fast/gemm has the dtype 'f99', expected one such as f32");
  refused({best_record("512x512x512", -1)}, "best.json: the 'median_ms' of record 1 is not above 0");
  refused({best_record("512x512x512"), best_record("512x512")},
          "best.json: the records of fast/gemm have the shapes 512x512 and 512x512x512, expected shapes of one "
          "rank");
}

TEST(KnobTable, RefusesATextWithoutRecordsOfItsRung) {
  auto refused = [](const std::string &text, const std::string &message) {
    expect_user_error([&] { KnobTable(text, "best.json", "fast/gemm"); }, ExitCode::usage, message);
  };
  Record other = best_record("512x512x512"), failed = other, shapeless = other;
  other.rung = "ladder/warps";
  failed.outcome = Outcome::wrong;
  shapeless.shape = "512x";
  refused("", "best.json: not JSON: ");
  refused("[]",
          "best.json: not a file of records; expected an object with 'nestsmith_records', as tune export");
  refused(R"({"nestsmith_records": 2, "records": []})",
          "best.json: the version of the records is 2, expected 1");
  refused(to_text(std::vector<Record>{}),
          "best.json has no measured record of 'fast/gemm'; `nestsmith tune export fast/gemm -o FILE` "
          "writes them");
  refused(to_text({other}), "best.json has no measured record of 'fast/gemm', only records of ladder/warps; ");
  refused(to_text({failed}), "best.json has no measured record of 'fast/gemm'");
  refused(to_text({shapeless}), "best.json: a record has the shape '512x', expected extents joined by 'x'");
}

} // namespace
} // namespace nestsmith::records
