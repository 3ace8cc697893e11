#pragma once
/// Colours, tables and progress.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

enum class Colour { automatic, always, never };

/// Marks text where colours are on, else gives it back. Off unless stdout is a terminal; NO_COLOR (set
/// and not empty) and TERM=dumb turn it off too.
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

/// Columns that the text takes on a terminal; colours take none.
std::size_t display_width(std::string_view text);

/// Columns of what a command prints: COLUMNS where it is set, the terminal's where stdout is one, else 80.
std::size_t output_width();
/// The same for running text: of a wide terminal not all, since long lines are hard to read.
std::size_t text_width();

/// `text` in lines of at most `width` columns, broken at spaces, and after a slash where a word alone is wider;
/// one empty line for no text.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// `text` in lines of at most `text_width()` columns, the first after `first` and the others after `indent`.
std::string folded(std::string_view text, const std::string &indent, const std::string &first);
/// `text` with every line that is too wide folded, the further lines of an indented one by two more.
std::string folded_lines(std::string_view text);
/// `text`, or as much of it as there is room for and an ellipsis.
std::string shortened(const std::string &text, std::size_t most);

enum class Align { left, right };

/// Rows under a header.
class Table {
public:
  struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t width = 0; ///< of `header` and `row`; `text` makes it as wide as what it holds
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), ""}); }
  /// A line of its own between the rows.
  void add_line(std::string line) { rows_.push_back({{}, std::move(line)}); }
  /// All rows. Where they are wider than `width`, titles and left-aligned cells are folded.
  std::string text(const Style &style, std::size_t width = output_width()) const;
  /// Whether `text` is not wider.
  bool fits(std::size_t width) const { return Table(fitted(width)).width() <= width; }

  /// For rows that are printed as they come: columns of fixed width.
  std::string header(const Style &style) const;
  std::string row(const std::vector<std::string> &cells, const Style &style) const;
  std::size_t width() const; ///< of `header`

private:
  struct Row {
    std::vector<std::string> cells;
    std::string line; ///< where there are no cells
  };
  std::vector<Column> fitted(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// What is being done, on stderr. On a terminal one line that is overwritten and at last removed, else a line
/// each time.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void show(const std::string &text);
  /// One of many short steps: without a terminal a line every few seconds.
  void step(const std::string &text);
  void clear();

private:
  bool terminal_;
  std::chrono::steady_clock::time_point last_;
};

/// Writes to stdout, at once.
void out(std::string_view text);

/// A line on stderr in the place of a line of progress, folded at spaces where stderr is a terminal.
void say(std::string_view line);

} // namespace nestsmith::cli
