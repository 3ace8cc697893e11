/// Judges the traces of tests/pinned, which once broke a promise. Each must be refused or give the exact
/// result.

#include "tests/files.h"
#include "tests/fuzz/judge.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

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
  Case test_case = case_of(parse_trace(test::read_file(path), path), path);
  Verdict verdict = judge(test_case, {.random = true, .infinite = true});
  EXPECT_FALSE(breaks_promise(verdict.kind)) << name(verdict.kind) << "\n" << verdict.message;
}

INSTANTIATE_TEST_SUITE_P(Traces, Pinned, testing::ValuesIn(pinned()),
                         [](const auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Pinned);

} // namespace
} // namespace nestsmith::fuzz
