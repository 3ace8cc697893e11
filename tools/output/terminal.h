#pragma once
/// Terminal output: colours, tables and progress.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

enum class Colour { automatic, always, never };

/// Adds colour codes to text if colours are on. Automatic colours are off if stdout is not a terminal, NO_COLOR
/// is set and not empty, or TERM is dumb.
class Style {
public:
  explicit Style(Colour colour = Colour::automatic);
  bool colours() const { return on_; }
  std::string bold(std::string_view text) const { return mark("1", text); }
  std::string dim(std::string_view text) const { return mark("2", text); }
  std::string red(std::string_view text) const { return mark("31", text); }
  std::string green(std::string_view text) const { return mark("32", text); }
  std::string yellow(std::string_view text) const { return mark("33", text); }
  std::string blue(std::string_view text) const { return mark("34", text); }
  std::string cyan(std::string_view text) const { return mark("36", text); }

private:
  std::string mark(std::string_view code, std::string_view text) const;
  bool on_;
};

/// Columns of the text on a terminal, without colour codes.
std::size_t display_width(std::string_view text);

/// The width of the output in columns: COLUMNS if it is set, otherwise the width of the terminal if stdout is a
/// terminal, otherwise 80.
std::size_t output_width();
/// That of stderr.
std::size_t error_width();
/// The width for running text: limited to 118 columns on a wide terminal for readability.
std::size_t text_width();

/// Breaks `text` into lines of up to `width` columns at spaces, and inside a wider word after a slash. Empty
/// text gives one empty line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// Wraps `text` to `text_width()`. The first line starts with `first`, the others with `indent`.
std::string folded(std::string_view text, const std::string &indent, const std::string &first);
/// Wraps every line of `text` that is too wide. Continuation lines of an indented line are indented by two more
/// columns.
std::string folded_lines(std::string_view text);
/// Wraps every line of code that is wider than `width` at spaces. Continuation lines are indented by four more
/// columns than the line. A line of '^' that marks the line above is divided, too.
std::string folded_code(std::string_view text, std::size_t width = output_width());
/// `text`, or a prefix of it with an ellipsis if it has more than `most` columns.
std::string shortened(const std::string &text, std::size_t most);

/// Progress messages on stderr. On a terminal, each message overwrites the previous one on the same line, and
/// the line is removed at the end. Otherwise, each message is a separate line.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void show(const std::string &text);
  /// One of many short steps. Without a terminal, prints a line every few seconds only.
  void step(const std::string &text);
  void clear();

private:
  bool terminal_;
  std::chrono::steady_clock::time_point last_;
};

/// Writes to stdout and flushes it. Characters that control a terminal become escapes (dsl/expr/printable.h),
/// except the codes of a `Style` with colours. Throws UserError (usage) on failure.
void out(std::string_view text);

/// Prints a line on stderr after removing the progress line, with escapes as `out`. Wraps it if stderr is a
/// terminal.
void to_stderr(std::string_view line);

} // namespace nestsmith::cli
