#pragma once
/// Tables on a terminal.

#include "tools/output/terminal.h"

#include <cstddef>
#include <string>
#include <vector>

namespace nestsmith::cli {

enum class Align { left, right };

/// Rows under a header.
class Table {
public:
  struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t width = 0; ///< used by `header` and `row`; `text` computes it from the cells
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), ""}); }
  /// Adds a full-width line between rows.
  void add_line(std::string line) { rows_.push_back({{}, std::move(line)}); }
  /// All rows. If they are wider than `width`, titles and left-aligned cells are wrapped.
  std::string text(const Style &style, std::size_t width = output_width()) const;
  /// Whether `text` fits in `width` columns.
  bool fits(std::size_t width) const { return Table(fitted(width)).width() <= width; }

  /// For rows that are printed one by one: columns of fixed width.
  std::string header(const Style &style) const;
  std::string row(const std::vector<std::string> &cells, const Style &style) const;
  std::size_t width() const; ///< width of `header` in columns

private:
  struct Row {
    std::vector<std::string> cells;
    std::string line; ///< if there are no cells
  };
  std::vector<Column> fitted(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

} // namespace nestsmith::cli
