#pragma once
/// Helpers for tests that change the environment and restore it, and for matching messages.

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace nestsmith::test {

/// Whether `text` contains `part`.
inline ::testing::AssertionResult says(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected \"" << part << "\" in:\n" << text;
}

/// Sets an environment variable, or removes it, during its lifetime.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const std::optional<std::string> &value) : name_(name) {
    if (const char *old = std::getenv(name))
      old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_); }
  ScopedVariable(const ScopedVariable &) = delete;
  ScopedVariable &operator=(const ScopedVariable &) = delete;

private:
  void set(const std::optional<std::string> &value) {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }
  const char *name_;
  std::optional<std::string> old_;
};

} // namespace nestsmith::test
