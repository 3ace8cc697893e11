#include "tools/output/text_diff.h"

#include "dsl/expr/identifier.h"
#include "tools/output/highlight.h"

#include <algorithm>
#include <cstdint>

namespace nestsmith::cli {

namespace {

std::string_view trimmed(std::string_view line) {
  std::size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

/// The common prefix and suffix of two lines, in whole words.
struct Common {
  std::size_t prefix = 0, suffix = 0;
};
Common common_ends(std::string_view a, std::string_view b) {
  Common common;
  std::size_t shorter = std::min(a.size(), b.size());
  while (common.prefix < shorter && a[common.prefix] == b[common.prefix])
    ++common.prefix;
  while (common.suffix < shorter - common.prefix &&
         a[a.size() - 1 - common.suffix] == b[b.size() - 1 - common.suffix])
    ++common.suffix;
  // In either line, do not let the common part end inside a word.
  auto cut = [](std::string_view line, std::size_t at) {
    return at > 0 && at < line.size() && in_identifier(line[at - 1]) && in_identifier(line[at]);
  };
  while (cut(a, common.prefix) || cut(b, common.prefix))
    --common.prefix;
  while (cut(a, a.size() - common.suffix) || cut(b, b.size() - common.suffix))
    --common.suffix;
  return common;
}

/// A line with the part between `prefix` and `suffix` in bold.
std::string emphasized(std::string_view line, Common common, bool added, const Style &style) {
  auto colour = [&](std::string_view part) { return added ? style.green(part) : style.red(part); };
  std::string_view middle = line.substr(common.prefix, line.size() - common.prefix - common.suffix);
  return colour(line.substr(0, common.prefix)) + style.bold(colour(middle)) +
         colour(line.substr(line.size() - common.suffix));
}

/// A run of removed lines and the following run of added lines. If their lengths are equal, line n replaces
/// line n.
std::string render_change(const std::vector<std::string_view> &removed,
                          const std::vector<std::string_view> &added, const Style &style) {
  std::string minus, plus;
  for (std::size_t n = 0; n < std::max(removed.size(), added.size()); ++n) {
    bool paired = removed.size() == added.size();
    Common common = paired ? common_ends(removed[n], added[n]) : Common{};
    auto mark = [&](std::string_view line, bool is_added) {
      if (paired)
        return emphasized(line, common, is_added, style);
      return is_added ? style.green(line) : style.red(line);
    };
    if (n < removed.size())
      minus += style.red("- ") + mark(removed[n], false) + "\n";
    if (n < added.size())
      plus += style.green("+ ") + mark(added[n], true) + "\n";
  }
  return minus + plus;
}

} // namespace

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after) {
  std::vector<std::string> a = split_lines(before), b = split_lines(after);
  // common[i][j]: the longest common subsequence of a[i…] and b[j…].
  std::vector<std::vector<std::uint32_t>> common(a.size() + 1, std::vector<std::uint32_t>(b.size() + 1, 0));
  auto equal = [&](std::size_t i, std::size_t j) { return trimmed(a[i]) == trimmed(b[j]); };
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] = equal(i, j) ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);

  std::vector<DiffLine> lines;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && equal(i, j)) {
      lines.push_back({DiffSign::same, b[j]});
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      lines.push_back({DiffSign::removed, a[i++]});
    } else {
      lines.push_back({DiffSign::added, b[j++]});
    }
  }
  return lines;
}

bool any_change(const std::vector<DiffLine> &lines) {
  return std::ranges::any_of(lines, [](const DiffLine &line) { return line.sign != DiffSign::same; });
}

std::string render_diff(const std::vector<DiffLine> &lines, const Style &style, std::size_t context) {
  std::vector<bool> shown(lines.size(), false);
  for (std::size_t n = 0; n < lines.size(); ++n)
    if (lines[n].sign != DiffSign::same)
      for (std::size_t m = n - std::min(n, context); m <= std::min(lines.size() - 1, n + context); ++m)
        shown[m] = true;

  std::string text;
  for (std::size_t n = 0; n < lines.size();) {
    if (!shown[n]) {
      text += "  " + style.dim("⋮") + "\n";
      while (n < lines.size() && !shown[n])
        ++n;
    } else if (lines[n].sign == DiffSign::same) {
      text += "  " + highlight(lines[n++].text, style) + "\n";
    } else {
      std::vector<std::string_view> removed, added;
      for (; n < lines.size() && lines[n].sign == DiffSign::removed; ++n)
        removed.push_back(lines[n].text);
      for (; n < lines.size() && lines[n].sign == DiffSign::added; ++n)
        added.push_back(lines[n].text);
      text += render_change(removed, added, style);
    }
  }
  return text;
}

} // namespace nestsmith::cli
