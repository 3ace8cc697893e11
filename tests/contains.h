#pragma once
/// Tests whether a text contains another text.

#include <gtest/gtest.h>
#include <string>

namespace nestsmith::test {

inline testing::AssertionResult contains(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess() << "'" << part << "' is in:\n" << text;
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

} // namespace nestsmith::test
