/// Tests the text of a kernel table: what is written is read again, and what is malformed is refused by its
/// name.

#include "schedules/kernels/kernel_table.h"

#include "dsl/expr/error.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>
#include <sstream>
#include <string>

namespace nestsmith::records {
namespace {

KernelTable small_table() {
  KernelTable table{.rung = "fast/gemm",
                    .parts_knob = "split_k",
                    .even_knob = "even",
                    .dtype = "f32",
                    .gpu = "NVIDIA H100 80GB HBM3",
                    .sms = 132,
                    .elements = 4,
                    .l2_bytes = 50 << 20,
                    .bytes_per_ms = 3.35e9,
                    .driver = "13.0",
                    .nvrtc = "13.1",
                    .launch = "back-to-back",
                    .nestsmith = "0.2.0",
                    .measured_at = "2026-11-27T02:21:20Z",
                    .points = {}};
  KernelForm plain{
      .rows = Rows::vectors, .parts = 1, .with = "", .resident = 8, .times = {{{703, 380, 128}, 0.007316}}};
  KernelForm shared{.rows = Rows::any,
                    .parts = 16,
                    .with = "two_kernels=true",
                    .resident = 4,
                    .times = {{{351, 191, 4095}, 2.5}}};
  table.points.push_back({{{"bk", "16"}, {"warps", "2x2"}}, {64, 32, 16}, {plain, shared}});
  table.points.push_back({{{"bk", "8"}, {"warps", "1x1"}}, {16, 32, 8}, {plain}});
  return table;
}

/// The text with `from` in the place of `to`.
std::string changed(const std::string &from, const std::string &to, std::string text = to_text(small_table())) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expect_table_refused(const std::string &text, const std::string &message) {
  test::expect_user_error([&] { parse_kernel_table(text, "mine.json"); }, ExitCode::usage,
                          "mine.json: " + message);
}

TEST(KernelTable, IsReadAsItWasWritten) {
  const std::string text = to_text(small_table());
  KernelTable read = parse_kernel_table(text, "mine.json");
  EXPECT_EQ(to_text(read), text);
  EXPECT_EQ(read.rung, "fast/gemm");
  EXPECT_EQ(read.parts_knob, "split_k");
  EXPECT_EQ(read.even_knob, "even");
  EXPECT_EQ(read.gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(read.sms, 132);
  EXPECT_EQ(read.elements, 4);
  EXPECT_EQ(read.l2_bytes, 50 << 20);
  EXPECT_EQ(read.bytes_per_ms, 3.35e9);
  EXPECT_EQ(read.measured_at, "2026-11-27T02:21:20Z");
  ASSERT_EQ(read.points.size(), 2U);
  EXPECT_EQ(read.points[0].knobs, small_table().points[0].knobs);
  EXPECT_EQ(read.points[0].tile, (Extents{64, 32, 16}));
  ASSERT_EQ(read.points[0].forms.size(), 2U);
  const KernelForm &shared = read.points[0].forms[1];
  EXPECT_EQ(shared.rows, Rows::any);
  EXPECT_EQ(shared.parts, 16);
  EXPECT_EQ(shared.with, "two_kernels=true");
  EXPECT_EQ(shared.resident, 4);
  ASSERT_EQ(shared.times.size(), 1U);
  EXPECT_EQ(shared.times[0].extents, (Extents{351, 191, 4095}));
  EXPECT_EQ(shared.times[0].ms, 2.5);
}

/// A commit that measures one point again changes one line.
TEST(KernelTable, HasOneLineForEachPoint) {
  KernelTable other = small_table();
  other.points[1].forms[0].times[0].ms = 1;
  std::istringstream before(to_text(small_table())), after(to_text(other));
  int lines = 0, different = 0;
  for (std::string one, two; std::getline(before, one) && std::getline(after, two); ++lines)
    different += one == two ? 0 : 1;
  EXPECT_EQ(different, 1);
  EXPECT_EQ(lines, 8);
}

/// Tables that were made before have no warps.
TEST(KernelTable, HasTheWarpsOfABlock) {
  KernelTable table = small_table();
  EXPECT_EQ(to_text(table).find("\"warps\":"), std::string::npos);
  EXPECT_EQ(parse_kernel_table(to_text(table), "mine.json").points[0].warps, 0);
  table.points[0].warps = 12;
  const std::string text = to_text(table);
  EXPECT_EQ(parse_kernel_table(text, "mine.json").points[0].warps, 12);
  EXPECT_EQ(parse_kernel_table(text, "mine.json").points[1].warps, 0);
  for (const char *wrong : {R"("warps":0)", R"("warps":33)", R"("warps":"2")"})
    expect_table_refused(changed(R"("warps":12)", wrong, text),
                         "point 1: 'warps' is missing or malformed, expected a number from 1 to 32");
}

/// The factor of the kernel for all sizes is in the text only where it was measured.
TEST(KernelTable, HasTheFactorOfTheKernelForAllSizes) {
  KernelTable table = small_table();
  table.points[0].forms[0].any_size = 1.25;
  const std::string text = to_text(table);
  const KernelTable read = parse_kernel_table(text, "mine.json");
  EXPECT_EQ(read.points[0].forms[0].any_size, 1.25);
  EXPECT_EQ(read.points[0].forms[1].any_size, 1);
  EXPECT_EQ(to_text(small_table()).find("any_size"), std::string::npos);
  table.points[0].forms[0].any_size = 1.0004; // the text has three digits
  EXPECT_EQ(to_text(table).find("any_size"), std::string::npos);
  for (const char *wrong : {R"("any_size":0)", R"("any_size":"2")", R"("any_size":1e9)"})
    expect_table_refused(changed(R"("any_size":1.25)", wrong, text),
                         "point 1: 'any_size' is missing or malformed, expected a number from 0.01 to 100");
}

TEST(KernelTable, WithoutPartsAndWithoutKnobsIsATable) {
  KernelTable table = small_table();
  table.parts_knob = table.even_knob = "";
  table.points.resize(1);
  table.points[0].knobs.clear();
  KernelTable read = parse_kernel_table(to_text(table), "mine.json");
  EXPECT_EQ(read.parts_knob, "");
  EXPECT_TRUE(read.points[0].knobs.empty());
}

TEST(KernelTable, RefusesATextThatIsNoTable) {
  expect_table_refused("", "not JSON: ");
  expect_table_refused("bk=16", "not JSON: ");
  expect_table_refused(
      "[]", "not a kernel table; expected an object with 'nestsmith_kernels', as tune --table writes it");
  expect_table_refused(R"({"nestsmith_records": 1, "records": []})",
                       "not a kernel table; expected an object with");
}

/// A copy that ended early is not JSON, wherever it ended.
TEST(KernelTable, RefusesATextThatIsCutOff) {
  const std::string text = to_text(small_table());
  const std::size_t whole = text.find_last_of('}');
  for (std::size_t length = 0; length <= whole; length += 1 + whole / 50)
    expect_table_refused(text.substr(0, length), "not JSON: ");
  expect_table_refused(text.substr(0, whole), "not JSON: ");
}

TEST(KernelTable, RefusesAnotherVersion) {
  expect_table_refused(changed(R"("nestsmith_kernels": 3)", R"("nestsmith_kernels": 2)"),
                       "the version of the kernel table is 2, expected 3; make it again with tune --table");
}

TEST(KernelTable, RefusesAnAttributeOfTheMachineByItsName) {
  for (const char *name : {"rung", "parts_knob", "even_knob", "dtype", "gpu", "driver", "nvrtc", "launch",
                           "nestsmith", "measured_at"})
    expect_table_refused(changed("\"" + std::string(name) + "\":", "\"other\":"),
                         "'" + std::string(name) + "' is missing or malformed, expected a string");
  for (const char *name : {"sms", "elements", "l2_bytes", "bytes_per_ms"})
    expect_table_refused(changed("\"" + std::string(name) + "\":", "\"other\":"),
                         "'" + std::string(name) + "' is missing or malformed, expected a number from 1 to ");
  expect_table_refused(changed(R"("sms":132)", R"("sms":0)"),
                       "'sms' is missing or malformed, expected a number from 1 to 4096");
  expect_table_refused(changed(R"("sms":132)", R"("sms":"132")"), "'sms' is missing or malformed");
  expect_table_refused(changed(R"("sms":132)", R"("sms":1e30)"), "'sms' is missing or malformed");
  expect_table_refused(changed("\"machine\"", "\"other\""),
                       "'machine' is missing or malformed, expected an object");
  expect_table_refused(R"({"nestsmith_kernels": 3, "machine": [], "points": []})",
                       "'machine' is missing or malformed, expected an object");
}

TEST(KernelTable, RefusesAnAttributeOfAPointByItsNameAndNumber) {
  auto refused_in = [](int point, const std::string &from, const std::string &to, const std::string &message) {
    expect_table_refused(changed(from, to), "point " + std::to_string(point) + ": " + message);
  };
  refused_in(1, R"("knobs":)", R"("other":)", "'knobs' is missing or malformed, expected a string");
  refused_in(1, "bk=16", "bk",
             "'knobs' is missing or malformed, expected values of knobs such as bk=16,warps=2x4");
  refused_in(1, R"("tile":"64x32x16")", R"("tile":"64x32")",
             "'tile' is missing or malformed, expected three extents such as 64x128x16");
  refused_in(1, R"("tile":"64x32x16")", R"("tile":"64x0x16")", "'tile' is missing or malformed");
  refused_in(2, R"("tile":"16x32x8")", R"("tile":[16,32,8])", "'tile' is missing or malformed");
  refused_in(1, R"("forms":)", R"("other":)",
             "'forms' is missing or malformed, expected a list that is not empty");
  refused_in(1, R"("rows":"vectors")", R"("rows":"vector")",
             "'rows' is missing or malformed, expected 'any', 'vectors' or 'lines'");
  refused_in(1, R"("parts":16)", R"("parts":0)",
             "'parts' is missing or malformed, expected a number from 1 to 1024");
  refused_in(1, R"("parts":16)", R"("parts":1.5)", "'parts' is missing or malformed");
  refused_in(1, R"("resident":4)", R"("resident":65)",
             "'resident' is missing or malformed, expected a number from 1 to 64");
  refused_in(1, R"("with":"")", R"("with":0)", "'with' is missing or malformed, expected a string");
  refused_in(1, "two_kernels=true", "two_kernels", "'with' is missing or malformed, expected values of knobs");
  refused_in(1, R"("times":)", R"("other":)",
             "'times' is missing or malformed, expected a list that is not empty");
}

TEST(KernelTable, RefusesATimeThatIsNoTime) {
  auto refused_time = [](const std::string &time) {
    expect_table_refused(
        changed(R"(["351x191x4095",2.5])", time),
        "point 1: 'times' is missing or malformed, expected pairs of three extents and a time above 0 "
        "in ms");
  };
  for (const char *time : {R"(["351x191x4095",0])", R"(["351x191x4095",-1])", R"(["351x191x4095","2.5"])",
                           R"(["351x191x4095"])", R"(["351x191x4095",2.5,3])", R"(["351x191",2.5])",
                           R"(["351x0x4095",2.5])", R"(["351x191x9999999999",2.5])", "2.5", "null"})
    refused_time(time);
}

TEST(KernelTable, RefusesEmptyLists) {
  KernelTable none = small_table();
  none.points.clear();
  expect_table_refused(to_text(none), "'points' is missing or malformed, expected a list that is not empty");
  KernelTable no_forms = small_table();
  no_forms.points[1].forms.clear();
  expect_table_refused(to_text(no_forms),
                       "point 2: 'forms' is missing or malformed, expected a list that is not empty");
  KernelTable no_times = small_table();
  no_times.points[1].forms[0].times.clear();
  expect_table_refused(to_text(no_times),
                       "point 2: 'times' is missing or malformed, expected a list that is not empty");
  expect_table_refused(changed(R"({"forms")", R"(5, {"forms")"), "point 1: is not an object");
}

} // namespace
} // namespace nestsmith::records
