#pragma once
/// Two texts against each other, line by line.

#include "tools/terminal.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

enum class DiffSign : char { same = ' ', removed = '-', added = '+' };
struct DiffLine {
  DiffSign sign;
  std::string text;
};

/// The shortest edit. Lines that differ in indentation only are the same, with the new indentation: a
/// loop put around a nest shows as one line.
std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after);
bool any_change(const std::vector<DiffLine> &lines);

/// Removed lines in red with a `-`, added ones in green with a `+`, what differs within a pair in bold;
/// around them up to `context` unchanged lines, and `⋮` where more were left out.
std::string render_diff(const std::vector<DiffLine> &lines, const Style &style, std::size_t context = 3);

std::vector<std::string> split_lines(std::string_view text);

} // namespace nestsmith::cli
