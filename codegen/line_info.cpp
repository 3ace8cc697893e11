#include "codegen/line_info.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

/// A comment, so that the text compiles without `with_own_lines`, too.
constexpr std::string_view own_lines = "// #line of this file";

std::string quoted(std::string_view path) {
  std::string result = "\"";
  for (char c : path)
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return result + "\"";
}

/// Calls `f` with each line of the text, without its line break.
template <class F> void each_line(std::string_view text, const F &f) {
  for (std::size_t at = 0; at < text.size();) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    f(line);
  }
}

/// The first part of the origin whose line is known.
Where locate_first(const Origin &origin, const SourceLines &locate) {
  if (origin)
    for (const OriginPart &part : *origin)
      if (Where where = locate(part); where.line() > 0)
        return where;
  return {};
}

} // namespace

std::string with_source_lines(const TracedText &text, const SourceLines &locate) {
  std::string result;
  Where current; // of the lines that follow; line 0: those of the file itself
  std::size_t number = 0;
  each_line(text.text, [&](std::string_view line) {
    if (Where where = locate_first(text.lines.at(number++), locate); where.line() > 0)
      current = where;
    bool around = !line.empty() && line.front() != ' ' && line.front() != '}' && line.front() != '#';
    if (around && current.line() > 0) {
      result += fmt::format("{}\n", own_lines);
      current = {};
    }
    if (current.line() > 0)
      result += fmt::format("#line {} {}\n", current.line(), quoted(current.file_name()));
    result += fmt::format("{}\n", line);
  });
  if (current.line() > 0)
    result += fmt::format("{}\n", own_lines);
  return result;
}

std::string with_own_lines(const std::string &text, std::string_view name) {
  std::string result;
  std::size_t number = 0;
  each_line(text, [&](std::string_view line) {
    ++number;
    result += line == own_lines ? fmt::format("#line {} {}", number + 1, quoted(name)) : std::string(line);
    result += '\n';
  });
  return result;
}

} // namespace nestsmith
