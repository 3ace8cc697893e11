#pragma once
/// Compares text exactly with the golden file tests/golden/NAME. NESTSMITH_REWRITE_GOLDENS=1 rewrites the
/// files. If a file is missing, the test fails and prints the text.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace nestsmith {

inline std::string first_difference(std::string_view expected, std::string_view got) {
  std::istringstream a{std::string(expected)}, b{std::string(got)};
  for (int line = 1;; ++line) {
    std::string left, right;
    bool more_left = !!std::getline(a, left), more_right = !!std::getline(b, right);
    if (!more_left && !more_right)
      return "they differ in the end of the last line";
    if (left != right || more_left != more_right)
      return "line " + std::to_string(line) + "\n  expected: " + (more_left ? left : "(end)") +
             "\n  got:      " + (more_right ? right : "(end)");
  }
}

inline testing::AssertionResult matches_golden(const std::string &name, const std::string &got) {
  std::filesystem::path path = std::filesystem::path(NESTSMITH_SOURCE_DIR) / "tests/golden" / name;
  const char *rewrite = std::getenv("NESTSMITH_REWRITE_GOLDENS");
  if (rewrite && std::string_view(rewrite) == "1") {
    std::ofstream file(path, std::ios::binary);
    file << got;
    file.close();
    if (!file)
      return testing::AssertionFailure() << "cannot write " << path;
    return testing::AssertionSuccess();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return testing::AssertionFailure()
           << "no golden file " << path
           << "; if this text is right, run again with NESTSMITH_REWRITE_GOLDENS=1:\n"
           << got;
  std::string expected{std::istreambuf_iterator<char>(file), {}};
  if (expected == got)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << path << " differs at " << first_difference(expected, got)
         << "\nif the new text is right, run again with NESTSMITH_REWRITE_GOLDENS=1";
}

} // namespace nestsmith
