#include "tools/terminal.h"

#include "dsl/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace nestsmith::cli {

namespace {

bool wants_colour() {
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && std::strcmp(term, "dumb") == 0);
}

std::string padded(const std::string &cell, std::size_t width, Align align) {
  std::string space(width - std::min(width, display_width(cell)), ' ');
  return align == Align::left ? cell + space : space + cell;
}

} // namespace

Style::Style(Colour colour) : on_(colour == Colour::automatic ? wants_colour() : colour == Colour::always) {}

std::string Style::mark(std::string_view code, std::string_view text) const {
  return on_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '\x1b')
      n = std::min(text.find('m', n), text.size());
    else if ((static_cast<unsigned char>(text[n]) & 0xC0) != 0x80) // no continuation byte of UTF-8
      ++width;
  }
  return width;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines = {""};
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
  }
  return lines;
}

std::string Table::text(const Style &style) const {
  std::vector<std::size_t> widths;
  for (const Column &column : columns_)
    widths.push_back(display_width(column.title));
  for (const auto &row : rows_)
    for (std::size_t n = 0; n < row.size(); ++n)
      widths[n] = std::max(widths[n], display_width(row[n]));

  std::string rule, header;
  for (std::size_t n = 0; n < columns_.size(); ++n) {
    for (std::size_t i = 0; i < widths[n] + 2; ++i)
      rule += "─";
    rule += n + 1 < columns_.size() ? "┼" : "";
    bool last = n + 1 == columns_.size();
    bool pad = !last || columns_[n].align == Align::right;
    header +=
        " " + style.bold(pad ? padded(columns_[n].title, widths[n], columns_[n].align) : columns_[n].title);
    header += last ? "" : style.dim(" │");
  }
  std::string result = header + "\n" + style.dim(rule) + "\n";
  for (const auto &row : rows_) {
    std::string line;
    for (std::size_t n = 0; n < row.size(); ++n) {
      bool last = n + 1 == row.size();
      bool pad = !last || columns_[n].align == Align::right;
      line += " " + (pad ? padded(row[n], widths[n], columns_[n].align) : row[n]);
      line += last ? "" : style.dim(" │");
    }
    result += line + "\n";
  }
  return result;
}

Progress::Progress() : on_(isatty(STDERR_FILENO)) {}

void Progress::show(const std::string &text) {
  if (!on_)
    return;
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (shown_)
    std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw UserError(ExitCode::usage, fmt::format("cannot write the result: {}", std::strerror(errno)));
}

} // namespace nestsmith::cli
