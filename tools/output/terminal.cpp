#include "tools/output/terminal.h"

#include "dsl/expr/error.h"
#include "dsl/expr/printable.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace nestsmith::cli {

namespace {

bool wants_colour() {
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && std::strcmp(term, "dumb") == 0);
}

} // namespace

/// Whether a style writes colour codes, so that `out` lets them pass.
static bool colours_wanted = false;

Style::Style(Colour colour) : on_(colour == Colour::automatic ? wants_colour() : colour == Colour::always) {
  colours_wanted = colours_wanted || on_;
}

std::string Style::mark(std::string_view code, std::string_view text) const {
  return on_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '\x1b')
      n = std::min(text.find('m', n), text.size());
    else if ((static_cast<unsigned char>(text[n]) & 0xC0) != 0x80) // not a UTF-8 continuation byte
      ++width;
  }
  return width;
}

namespace {

/// COLUMNS, or 0 if it is not a number.
std::size_t given_width() {
  const char *given = std::getenv("COLUMNS");
  int columns = given ? std::atoi(given) : 0;
  return columns > 0 ? std::max<std::size_t>(static_cast<std::size_t>(columns), 20) : 0;
}

std::size_t width_of(int file) {
  if (std::size_t given = given_width(); given > 0)
    return given;
  winsize size{};
  bool known = isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<std::size_t>(size.ws_col, 20) : 80;
}

/// Columns of the progress line on the terminal.
std::size_t progress_shown = 0;

void remove_progress() {
  if (progress_shown > 0)
    std::fprintf(stderr, "\r%s\r", std::string(progress_shown, ' ').c_str());
  std::fflush(stderr);
  progress_shown = 0;
}

bool is_plain_terminal(int file) {
  const char *term = std::getenv("TERM");
  return isatty(file) && !(term && std::strcmp(term, "dumb") == 0);
}

} // namespace

std::size_t output_width() { return width_of(STDOUT_FILENO); }
std::size_t error_width() { return width_of(STDERR_FILENO); }

std::size_t text_width() {
  return given_width() > 0 ? given_width() : std::min<std::size_t>(output_width(), 118);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  if (display_width(text) <= width)
    return {std::string(text)};
  std::vector<std::string> lines = {""};
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
    while (display_width(lines.back()) > width) {
      std::size_t slash = lines.back().rfind('/', width - 1);
      if (slash == std::string::npos || slash == 0 || slash + 1 == lines.back().size())
        break;
      std::string rest = lines.back().substr(slash + 1);
      lines.back().resize(slash + 1);
      lines.push_back(rest);
    }
  }
  for (std::string &line : lines)
    while (line.ends_with(' '))
      line.pop_back();
  return lines;
}

std::string folded(std::string_view text, const std::string &indent, const std::string &first) {
  std::size_t used = std::max(display_width(indent), display_width(first)), width = text_width();
  std::string result;
  for (const std::string &line : wrapped(text, width > used + 10 ? width - used : 10))
    result += (result.empty() ? first : indent) + line + "\n";
  return result;
}

std::string folded_lines(std::string_view text) {
  std::string result;
  bool ended = text.ends_with('\n');
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    std::string indent(begin, ' '), further(begin == 0 ? 0 : begin + 2, ' ');
    result += display_width(line) <= text_width() ? std::string(line) + "\n"
                                                  : folded(line.substr(begin), further, indent);
  }
  if (!ended && !result.empty())
    result.pop_back();
  return result;
}

std::string folded_code(std::string_view text, std::size_t width) {
  std::string result;
  llvm::SmallVector<llvm::StringRef, 64> lines;
  llvm::StringRef(text.data(), text.size()).split(lines, '\n');
  for (std::size_t n = 0; n < lines.size(); ++n) {
    llvm::StringRef line = lines[n], code = line.ltrim(' ');
    std::size_t indent = line.size() - code.size();
    bool marked = n + 1 < lines.size() && !lines[n + 1].trim(' ').empty() &&
                  lines[n + 1].find_first_not_of(" ^") == llvm::StringRef::npos;
    bool last = n + 1 + (marked ? 1 : 0) == lines.size();
    auto add = [&](const std::string &part) { result += part + "\n"; };
    if (display_width(std::string_view(line)) <= width || width < indent + 24) {
      add(line.str());
      if (marked)
        add(lines[++n].str());
    } else {
      bool first = true;
      for (const std::string &part : wrapped(std::string_view(code), width - indent - 4)) {
        std::string at(indent + (first ? 0 : 4), ' ');
        add(at + part);
        if (marked)
          add(at + std::string(display_width(part), '^'));
        first = false;
      }
      n += marked ? 1 : 0;
    }
    if (last)
      result.pop_back(); // the end of the last line
  }
  return result;
}

std::string shortened(const std::string &text, std::size_t most) {
  if (display_width(text) <= most)
    return text;
  std::string result;
  for (char c : text) {
    if (display_width(result + c) > most - std::min<std::size_t>(most, 2))
      break;
    result += c;
  }
  return result + " …";
}

Progress::Progress() : terminal_(is_plain_terminal(STDERR_FILENO)), last_(std::chrono::steady_clock::now()) {}

void Progress::show(const std::string &text) {
  last_ = std::chrono::steady_clock::now();
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", printable_lines(text).c_str());
    return;
  }
  std::string line = shortened(printable(text), width_of(STDERR_FILENO) - 1);
  std::size_t width = display_width(line);
  std::string rest(progress_shown - std::min(progress_shown, width), ' ');
  std::fprintf(stderr, "\r%s%s", line.c_str(), rest.c_str());
  std::fflush(stderr);
  progress_shown = width;
}

void Progress::step(const std::string &text) {
  auto now = std::chrono::steady_clock::now();
  if (terminal_ || now - last_ >= std::chrono::seconds(5))
    show(text);
}

void Progress::clear() { remove_progress(); }

void out(std::string_view given) {
  const std::string text = printable_lines(given, colours_wanted);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw UserError(ExitCode::usage, fmt::format("cannot write the result: {}", std::strerror(errno)));
}

void to_stderr(std::string_view given) {
  remove_progress();
  const std::string line = printable_lines(given);
  std::string text;
  if (isatty(STDERR_FILENO))
    for (const std::string &part : wrapped(line, width_of(STDERR_FILENO)))
      text += part + "\n";
  else
    text = line + "\n";
  std::fputs(text.c_str(), stderr);
}

} // namespace nestsmith::cli
