#include "tools/output/highlight.h"

#include "dsl/expr/identifier.h"

#include <algorithm>
#include <array>

namespace nestsmith::cli {

namespace {

constexpr std::array<std::string_view, 24> keywords = {
    "for", "in",    "block", "where", "init",  "sum",    "unrolled", "if",   "else",  "not",     "and",  "or",
    "out", "inout", "auto",  "let",   "const", "select", "kernel",   "true", "false", "barrier", "sync", "of"};
constexpr std::array<std::string_view, 3> scopes = {"shared", "local", "global"};

/// Numbers are words, too.
bool in_word(char c) { return in_identifier(c) || c == '.'; }

std::string coloured_word(std::string_view word, const Style &style) {
  if (std::ranges::find(keywords, word) != keywords.end())
    return style.blue(word);
  if (word.starts_with("blockIdx.") || word.starts_with("threadIdx.") || word.starts_with("__sync") ||
      std::ranges::find(scopes, word) != scopes.end())
    return style.cyan(word);
  return std::string(word);
}

std::string coloured_line(std::string_view line, const Style &style) {
  std::string result;
  while (!line.empty()) {
    if (line.starts_with("# ") || line.starts_with("^"))
      return result + (line[0] == '#' ? style.dim(line) : style.red(line));
    if (line.starts_with("//") && (result.empty() || result.back() == ' ') && line.size() > 2 &&
        line[2] == ' ') // a comment; `a // b` with both sides spaced is not printed
      return result + style.dim(line);
    std::size_t length = 1;
    if (in_word(line[0]))
      while (length < line.size() && in_word(line[length]))
        ++length;
    result += length > 1 || in_word(line[0]) ? coloured_word(line.substr(0, length), style)
                                             : std::string(line.substr(0, length));
    line.remove_prefix(length);
  }
  return result;
}

constexpr std::array<std::string_view, 17> cuda_keywords = {
    "for",  "if",     "else",  "const",  "return", "float",    "int",  "unsigned", "bool",
    "void", "extern", "while", "struct", "static", "volatile", "long", "double"};

std::string coloured_cuda_line(std::string_view line, const Style &style) {
  if (line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with("#"))
    return style.cyan(line);
  std::string result;
  while (!line.empty()) {
    if (line.starts_with("//"))
      return result + style.dim(line);
    std::size_t length = 1;
    while (in_word(line[0]) && length < line.size() && in_word(line[length]))
      ++length;
    std::string_view word = line.substr(0, length);
    bool hardware = word.starts_with("__") || word.starts_with("blockIdx.") || word.starts_with("threadIdx.");
    result += std::ranges::find(cuda_keywords, word) != cuda_keywords.end() ? style.blue(word)
              : hardware                                                    ? style.cyan(word)
                                                                            : std::string(word);
    line.remove_prefix(length);
  }
  return result;
}

std::string each_line(std::string_view text, const Style &style,
                      std::string (*coloured)(std::string_view, const Style &)) {
  if (!style.colours())
    return std::string(text);
  std::string result;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    result += coloured(text.substr(0, end), style);
    if (end == std::string_view::npos)
      break;
    result += "\n";
    text.remove_prefix(end + 1);
  }
  return result;
}

} // namespace

std::string highlight(std::string_view text, const Style &style) {
  return each_line(text, style, coloured_line);
}

std::string highlight_cuda(std::string_view text, const Style &style) {
  return each_line(text, style, coloured_cuda_line);
}

} // namespace nestsmith::cli
