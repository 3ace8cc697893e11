#pragma once
/// Text without colours, and its width.

#include "tools/output/terminal.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace nestsmith::test {

inline const cli::Style plain(cli::Colour::never);

/// Returns the width of the widest line, in columns.
inline std::size_t widest(const std::string &text) {
  std::size_t most = 0, begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    most = std::max(most, cli::display_width(text.substr(begin, end - begin)));
  return most;
}

} // namespace nestsmith::test
