#pragma once
/// Line-by-line comparison of two texts.

#include "tools/output/terminal.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

enum class DiffSign : char { same = ' ', removed = '-', added = '+' };
struct DiffLine {
  DiffSign sign;
  std::string text;
};

/// The shortest edit script. Lines that differ only in indentation are equal and keep the new indentation, so
/// that a loop around a nest is one added line.
std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after);
bool any_change(const std::vector<DiffLine> &lines);

/// Removed lines in red with `-`, added lines in green with `+`, and the changed words of a pair in bold. Up to
/// `context` unchanged lines surround a change; `⋮` stands for omitted lines.
std::string render_diff(const std::vector<DiffLine> &lines, const Style &style, std::size_t context = 3);

std::vector<std::string> split_lines(std::string_view text);

} // namespace nestsmith::cli
