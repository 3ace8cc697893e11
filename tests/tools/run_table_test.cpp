/// Tests the columns of `run`, also those of a GPU, without a GPU.

#include "tests/tools/plain_text.h"
#include "tools/tables/run_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::cli {
namespace {

using test::plain;
using test::widest;
using testing::HasSubstr;
using testing::Not;

RunTableFacts facts(std::vector<std::string> names, bool simulated) {
  std::vector<std::string> problems(names.size(), "f32 2048x2048x2048"), published(names.size());
  return {std::move(names), std::move(problems), std::move(published), simulated};
}

/// Returns a row such as a GPU gives.
Climbed timed(const std::string &name) {
  Climbed row;
  row.name = name;
  row.operations = 2.0 * 2048 * 2048 * 2048;
  row.ms.emplace();
  row.ms->median = 0.36953;
  row.cublas_ms = 0.349;
  row.shared_bytes = 102400;
  row.compiled.resize(2);
  row.compiled[0].registers = 32;
  row.compiled[1].registers = 255;
  RunResult random, integers;
  random.run = CheckRun::random;
  random.passed = integers.passed = true;
  random.max_error_over_bound = 0.0049;
  integers.run = CheckRun::integers;
  row.check.runs = {random, integers};
  return row;
}

TEST(RunTable, OfAGpuHasTimesAtAnyWidth) {
  for (const char *name : {"ladder/prefetch", "principles/branch_free", "transposed/prefetch"})
    for (std::size_t width : {80U, 100U, 120U, 160U}) {
      RunTable table(facts({name}, false), width, plain);
      std::string text =
          table.header() + table.row(0, timed(name)) + table.cublas_row("cuBLAS 13.0.2, default", timed(name));
      EXPECT_LE(widest(text), width) << text;
      for (const char *part : {"GFLOP/s", "0.3695", "46491", "94.4", "PASSED", "100.0", "49226"})
        EXPECT_THAT(text, HasSubstr(part)) << width;
    }
}

TEST(RunTable, ShowsAllColumnsWhereThereIsRoom) {
  RunTable table(facts({"ladder/naive"}, false), 200, plain);
  std::string text = table.header() + table.row(0, timed("ladder/naive"));
  for (const char *part :
       {"0.3695 ms", "94.4 %", "error/bound", "0.005, exact", "regs", " 255 ", "102400 B", "occup."})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(RunTable(facts({"ladder/naive"}, true), 200, plain).header(), Not(HasSubstr("GFLOP/s")));
}

TEST(RunTable, PublishedFiguresStandInAWideTableOfAGpu) {
  RunTableFacts both = facts({"tvm_steps/step1", "tvm_steps/step2"}, false);
  both.published[0] = "91 (512), 95 (1024) GFLOP/s";
  RunTable wide(both, 200, plain), narrow(both, 80, plain);
  EXPECT_TRUE(wide.shows_published());
  EXPECT_THAT(wide.row(0, timed("tvm_steps/step1")), HasSubstr("91 (512), 95 (1024) GFLOP/s │ PASSED"));
  EXPECT_FALSE(narrow.shows_published());
  both.simulated = true;
  EXPECT_FALSE(RunTable(both, 200, plain).shows_published());
}

TEST(RunTable, AWrongResultIsSeenInEveryForm) {
  Climbed row = timed("ladder/naive");
  row.check.passed = row.check.runs[1].passed = false;
  row.check.runs[1].wrong_elements = 3;
  row.code = ExitCode::wrong_result;
  for (std::size_t width : {80U, 200U})
    EXPECT_THAT(RunTable(facts({"ladder/naive"}, false), width, plain).row(0, row),
                testing::AllOf(HasSubstr("wrong"), HasSubstr("FAILED"), Not(HasSubstr("PASSED"))));
}

TEST(RunTable, RowsOfSeveralProblemsStandBelowTheirs) {
  RunTableFacts mixed = facts({"a", "b", "c"}, true);
  mixed.problems[1] = mixed.problems[2] = "f32 65536";
  RunTable narrow(mixed, 60, plain), wide(mixed, 160, plain);
  EXPECT_THAT(narrow.row(0, timed("a")), testing::StartsWith(" f32 2048x2048x2048\n a "));
  EXPECT_THAT(narrow.row(1, timed("b")), testing::StartsWith(" f32 65536\n b "));
  EXPECT_THAT(narrow.row(2, timed("c")), testing::StartsWith(" c "));
  EXPECT_THAT(wide.row(1, timed("b")), testing::StartsWith(" b    │ f32 65536"));
}

TEST(RunTable, NothingIsSpareBelowTheVerdict) {
  RunTable table(facts({"ladder/naive"}, false), 20, plain);
  EXPECT_THAT(table.header(),
              testing::AllOf(HasSubstr("rung"), HasSubstr("verdict"), Not(HasSubstr("GFLOP/s"))));
}

} // namespace
} // namespace nestsmith::cli
