#pragma once
/// Tests whether a text contains another text, and how often.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

namespace nestsmith::test {

inline testing::AssertionResult contains(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess() << "'" << part << "' is in:\n" << text;
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

inline std::ptrdiff_t count_of(const std::string &text, const std::string &part) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

} // namespace nestsmith::test
