/// Tests the table of measured times: one record for each place, in a fixed order.

#include "runtime/records/measured.h"

#include "dsl/expr/error.h"
#include "runtime/records/text.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith::records {
namespace {

using test::expect_user_error;
using testing::ElementsAre;

Record timed(const std::string &rung, double ms, const std::string &code = "a") {
  Record one;
  one.rung = rung, one.shape = "512x512x512", one.dtype = "f32", one.gpu = "NVIDIA H200";
  one.driver = "13.0", one.nvrtc = "13.1", one.launch = "back-to-back";
  one.median_ms = ms, one.samples = 9, one.code = code;
  return one;
}

std::vector<std::string> rungs(const MeasuredTable &table) {
  std::vector<std::string> names;
  for (const Record &record : table.records())
    names.push_back(record.rung);
  return names;
}

TEST(MeasuredTable, KeepsOneRecordForEachPlace) {
  MeasuredTable table;
  table.put(timed("ladder/warps", 2));
  table.put(timed("ladder/naive", 9));
  table.put(timed("ladder/warps", 1, "b"));
  EXPECT_THAT(rungs(table), ElementsAre("ladder/naive", "ladder/warps"));
  EXPECT_EQ(table.records()[1].median_ms, 1);
  EXPECT_TRUE(table.has(timed("ladder/warps", 5, "b"))) << "the time is no part of the identity";
  EXPECT_FALSE(table.has(timed("ladder/warps", 5, "a"))) << "the text is another one";
  Record newer = timed("ladder/warps", 5, "b");
  newer.driver = "13.1";
  EXPECT_FALSE(table.has(newer));
}

TEST(MeasuredTable, HasAnOrderThatTheTextOfAKernelDoesNotChange) {
  MeasuredTable table;
  for (const char *rung : {"b", "a", "c"})
    table.put(timed(rung, 1, rung == std::string("a") ? "z" : "0"));
  EXPECT_LT(table.text().find("\"a\""), table.text().find("\"b\""));
  EXPECT_LT(table.text().find("\"b\""), table.text().find("\"c\""));
  EXPECT_EQ(MeasuredTable(table.text(), "t.json").text(), table.text());
  EXPECT_EQ(MeasuredTable(to_text({timed("b", 1), timed("a", 1)}), "t.json").text().find("\"b\"") >
                MeasuredTable(to_text({timed("b", 1), timed("a", 1)}), "t.json").text().find("\"a\""),
            true);
}

TEST(MeasuredTable, RefusesOtherOutcomesAndTwoRecordsOfOnePlace) {
  Record wrong = timed("ladder/warps", 1);
  wrong.outcome = Outcome::wrong;
  expect_user_error(
      [&] { MeasuredTable(to_text({wrong}), "t.json"); }, ExitCode::usage,
      "t.json: a record of ladder/warps at 512x512x512 has the outcome 'wrong', expected 'measured'");
  expect_user_error(
      [&] {
        MeasuredTable(to_text({timed("ladder/warps", 1), timed("ladder/warps", 2, "b")}), "t.json");
      },
      ExitCode::usage,
      "t.json: two records of ladder/warps at 512x512x512 in f32 on NVIDIA H200; expected one");
  expect_user_error([&] { MeasuredTable("{}", "t.json"); }, ExitCode::usage, "not a file of records");
}

} // namespace
} // namespace nestsmith::records
