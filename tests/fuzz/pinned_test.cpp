/// Traces that once broke a promise (tests/pinned): now each is refused, or gives the exact result.

#include "tests/fuzz/judge.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

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
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  Case it = case_of(parse_trace(text.str(), path), path);
  Verdict verdict = judge(it, {.random = true, .infinite = true});
  EXPECT_FALSE(breaks_promise(verdict.kind)) << name(verdict.kind) << "\n" << verdict.message;
}

INSTANTIATE_TEST_SUITE_P(Traces, Pinned, testing::ValuesIn(pinned()),
                         [](const auto &info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Pinned);

} // namespace
} // namespace nestsmith::fuzz
