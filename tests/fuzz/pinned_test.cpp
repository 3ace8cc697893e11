/// Judges the traces of tests/pinned, which once broke a promise. Each must be refused or give the exact
/// result.

#include "tests/files.h"
#include "tests/fuzz/judge.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace nestsmith::fuzz {
namespace {

std::vector<std::string> pinned() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(NESTSMITH_SOURCE_DIR "/tests/pinned"))
    if (entry.path().extension() == ".json")
      names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class Pinned : public testing::TestWithParam<std::string> {};

TEST_P(Pinned, IsRefusedOrExact) {
  std::string path = NESTSMITH_SOURCE_DIR "/tests/pinned/" + GetParam() + ".json";
  const TraceFile trace = parse_trace(test::read_file(path), path);
  Case test_case = case_of(trace, path);
  // The assembler refuses calls of matrix units in flight that are not ordered as it wants.
  const bool in_flight =
      std::ranges::find(trace.directives, "in_flight", &Directive::op) != trace.directives.end();
  Verdict verdict = judge(test_case, {.random = true, .infinite = true, .compile = in_flight});
  EXPECT_FALSE(breaks_promise(verdict.kind)) << name(verdict.kind) << "\n" << verdict.message;
}

INSTANTIATE_TEST_SUITE_P(Traces, Pinned, testing::ValuesIn(pinned()),
                         [](const auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Pinned);

} // namespace
} // namespace nestsmith::fuzz
