/// Tests that no table, help text, heatmap, list or message on stdout is wider than the terminal, or than 80
/// columns without a terminal.

#include "tests/tools/run_binary.h"
#include "tools/output/terminal.h"

#include <algorithm>

namespace nestsmith {
namespace {

using test::contains;
using test::nestsmith;
using test::Ran;

/// Whether no line is wider than `most`.
testing::AssertionResult fits(const std::string &text, std::size_t most) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (cli::display_width(line) > most)
      return testing::AssertionFailure() << cli::display_width(line) << " columns: " << line;
  return testing::AssertionSuccess();
}

class Width : public testing::TestWithParam<const char *> {};

void expect_folded(const std::string &arguments) {
  Ran unset = nestsmith(arguments, "COLUMNS="), given = nestsmith(arguments, "COLUMNS=80");
  EXPECT_NE(unset.out, "") << unset.err;
  EXPECT_TRUE(fits(unset.out, 80));
  EXPECT_TRUE(fits(given.out, 80));
  EXPECT_TRUE(fits(nestsmith(arguments, "COLUMNS=100").out, 100));
}

TEST(Width, OfTheHelpIsAtMostThatOfTheTerminal) {
  expect_folded("--help");
  for (const std::string &command : test::commands())
    expect_folded(command + " --help");
}

TEST_P(Width, IsAtMostThatOfTheTerminal) { expect_folded(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Output, Width,
    testing::Values("list", "run ladder --shape 33x17x9 --device sim",
                    "run principles --shape 33x17x9 --device sim",
                    "run transposed tvm_steps --shape 8x8x6 --device sim",
                    "run ladder/naive ladder/shared --shape 300000x300000x1 gemm/batched --device sim",
                    "run gemm/nn --symbolic --shape 33x17x9 --device sim",
                    "check transposed/float4 --shape 8x8x6 --device sim",
                    "check gemm/batched --symbolic --shape 2x8x8x6 --device sim",
                    "check principles/unfused --each-step", "check worklog/2 --each-step --shape 9x8x8",
                    "explain deep_dive/coalesced --shape 64x64x64 --gpu H200",
                    "explain principles/unfused --shape 4096 --metrics",
                    "explain transposed/float4 --shape 64x64x64 --heatmap",
                    "explain principles/transposed --shape 64x64x64 --heatmap B_shared",
                    "explain deep_dive/naive --shape 64x64x64 --heatmap A",
                    "explain ladder/vectors --shape 64x64x64 --heatmap A_shared",
                    "compare principles/transposed principles/branch_free",
                    "compare principles/tile32 principles/two_by_two --shape 64x64x64", "figures --counts",
                    "lint", "doctor", "exercise", "exercise row", "exercise wait", "exercise barrier 2",
                    "exercise wavefront 's.storage_align(B_shared, 0, 32, 1)'", "exercise row --hint"),
    [](const auto &info) { return "Output" + std::to_string(info.index); });

TEST(Width, OfAWideTerminalIsUsed) {
  EXPECT_TRUE(
      contains(nestsmith("run ladder/naive --shape 8x8x8 --device sim", "COLUMNS=140").out, "│ regs │"));
  std::string narrow = nestsmith("run ladder/naive --shape 8x8x8 --device sim", "COLUMNS=80").out;
  EXPECT_FALSE(contains(narrow, "regs"));
  for (const char *title : {"rung", "confl.", "limit", "error", "verdict"})
    EXPECT_TRUE(contains(narrow, title));
}

/// The heatmap is folded into halves of the banks, and not cut.
TEST(Width, AHeatmapIsFolded) {
  std::string picture =
      nestsmith("explain principles/padded --shape 64x64x64 --heatmap B_shared", "COLUMNS=80").out;
  EXPECT_TRUE(contains(picture, "bank  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15"));
  EXPECT_TRUE(contains(picture, "bank 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"));
  EXPECT_TRUE(contains(picture, "  1 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"));
}

TEST(Width, OfATraceFileWithALongNameIsKept) {
  test::TemporaryFolder folder;
  std::string file = (folder / "a_trace_with_a_name_that_is_rather_long.json").string();
  test::write_file(file, nestsmith("show deep_dive/naive --shape 9x5x7 --trace json").out);
  Ran run = nestsmith("run " + file + " --device sim", "COLUMNS=80");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(fits(run.out, 80));
  EXPECT_TRUE(contains(run.out, "that_is_rather_long.json"));
}

TEST(Width, OfTextsIsTheirOwn) {
  Ran wide = nestsmith("emit ladder/warps", "COLUMNS=160"),
      narrow = nestsmith("emit ladder/warps", "COLUMNS=40");
  EXPECT_EQ(wide.out, narrow.out) << "a program is not folded";
}

} // namespace
} // namespace nestsmith
