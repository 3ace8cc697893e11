#pragma once
/// Colours, tables and progress.

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

enum class Align { left, right };

/// `text` in lines of at most `width` columns, broken at spaces; one empty line for no text.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Rows under a header, in columns as wide as what they hold.
class Table {
public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(const Style &style) const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One line on stderr that is overwritten and at last removed; silent where stderr is no terminal.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void show(const std::string &text);
  void clear();

private:
  bool on_, shown_ = false;
};

/// Writes to stdout, at once.
void out(std::string_view text);

} // namespace nestsmith::cli
