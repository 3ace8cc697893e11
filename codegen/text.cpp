#include "codegen/text.h"

#include "dsl/expr/printable.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>

namespace nestsmith {

namespace {

/// The precedence of the operator at a space, where 0 is the best place to break the line. The operator is
/// before the space; only ? and : are after it. None if the line must not break there.
std::optional<int> looseness(std::string_view before, std::string_view after) {
  if (after.starts_with("? ") || after.starts_with(": "))
    return 1;
  auto ends = [&](std::string_view suffix) { return before.ends_with(suffix); };
  if (ends(" ==") || ends(" !=") || ends(" <=") || ends(" <"))
    return 4;
  if (ends(" ^") || ends(" >>"))
    return 4;
  if (ends("="))
    return 0;
  if (ends(",") || ends(";"))
    return 0;
  if (ends("||"))
    return 2;
  if (ends("&&"))
    return 3;
  if (ends(" +") || ends(" -"))
    return 5;
  if (ends(" *") || ends(" /") || ends(" %"))
    return 6;
  return std::nullopt;
}

/// The best position to break a line of more than `room` columns: the position with the fewest enclosing
/// parentheses, then with the lowest precedence, then the rightmost one. It is never inside a string. 0 if
/// there is no such position.
std::size_t break_position(std::string_view text, std::size_t room) {
  int depth = 0;
  bool quoted = false;
  std::optional<std::tuple<int, int, std::size_t>> best; // the smallest tuple wins
  for (std::size_t at = 0; at < text.size() && at <= room; ++at) {
    char c = text[at];
    if (c == '"')
      quoted = !quoted;
    else if (quoted)
      continue;
    else if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '}')
      --depth;
    else if (c == ' ' && at > 0) {
      auto loose = looseness(text.substr(0, at), text.substr(at + 1));
      if (!loose)
        continue;
      std::tuple<int, int, std::size_t> candidate{depth, *loose, room - at};
      if (!best || candidate < *best)
        best = candidate;
    }
  }
  return best ? room - std::get<2>(*best) : 0;
}

/// Without a trailing backslash, which would continue a comment on the next line.
std::string without_continuation(std::string text) {
  text.erase(text.find_last_not_of(" \\") + 1);
  return text;
}

} // namespace

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  const std::string trigraph = std::string(2, '?') + '/'; // means a backslash
  for (std::size_t at; (at = text.find(trigraph)) != std::string::npos;)
    text.insert(at + 2, " ");
  return without_continuation(printable(text));
}

void TextWriter::line(const std::string &text, const std::string &comment) {
  if (!comment.empty() && depth_ + text.size() + comment.size() + 5 > width) {
    this->comment(comment);
    return line(text);
  }
  std::string rest = text;
  std::size_t columns = depth_;
  while (columns + rest.size() > width) {
    std::size_t at = break_position(rest, width - columns);
    if (at == 0)
      break;
    out_ += std::string(columns, ' ') + rest.substr(0, at) + '\n';
    rest.erase(0, at + 1);
    columns = depth_ + 4;
  }
  out_ += std::string(columns, ' ') + rest + (comment.empty() ? "" : "  // " + one_line(comment)) + '\n';
}

void TextWriter::comment(const std::string &text) {
  std::string rest = one_line(text);
  std::size_t room = width - depth_ - 3;
  while (rest.size() > room) {
    std::size_t at = rest.rfind(' ', room);
    if (at == std::string::npos || at == 0)
      break;
    out_ += std::string(depth_, ' ') + "// " + without_continuation(rest.substr(0, at)) + '\n';
    rest.erase(0, at + 1);
  }
  out_ += std::string(depth_, ' ') + (rest.empty() ? "//" : "// " + rest) + '\n';
}

void TextWriter::doc(const std::string &first, const std::string &text) {
  std::string words = one_line(text), line = first, indent(first.size(), ' ');
  bool begins = true;
  for (std::size_t from = 0; from < words.size();) {
    std::size_t end = std::min(words.find(' ', from), words.size());
    std::string word = words.substr(from, end - from);
    if (!begins && 5 + line.size() + word.size() > width) {
      verbatim("/// " + without_continuation(line) + "\n");
      line = indent;
      begins = true;
    }
    line += (begins ? "" : " ") + word;
    begins = false;
    from = end + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  verbatim(line.empty() ? "///\n" : "/// " + line + "\n");
}

void TextWriter::call(const std::string &head, const std::vector<std::string> &arguments,
                      const std::string &tail) {
  std::string current = std::string(depth_, ' ') + head + "(";
  std::size_t column = std::min(current.size(), depth_ + 40);
  bool first = true;
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    std::string piece = arguments[n] + (n + 1 < arguments.size() ? "," : ")" + tail);
    if (!first && current.size() + 1 + piece.size() > width) {
      out_ += current + '\n';
      current = std::string(column, ' ') + piece;
    } else {
      current += (first ? "" : " ") + piece;
    }
    first = false;
  }
  out_ += current + (arguments.empty() ? ")" + tail : "") + '\n';
}

} // namespace nestsmith
