#pragma once
/// Text that a child process leaves for its parent.

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace nestsmith::fuzz {

struct Note {
  std::array<char, 1 << 18> text;

  void write(const std::string &from) {
    std::size_t length = std::min(from.size(), text.size() - 1);
    std::memcpy(text.data(), from.data(), length);
    text[length] = 0;
  }
  std::string read() const { return text.data(); }
};

/// Returns the note that this process and its child processes share.
Note &note();

} // namespace nestsmith::fuzz
