#include "tools/output/table.h"

#include <algorithm>

namespace nestsmith::cli {

namespace {

std::string padded(const std::string &cell, std::size_t width, Align align) {
  std::string space(width - std::min(width, display_width(cell)), ' ');
  return align == Align::left ? cell + space : space + cell;
}

/// The width of the widest unbreakable part of a text.
std::size_t widest_word(const std::string &text) {
  std::size_t widest = 0;
  for (const std::string &part : wrapped(text, 1))
    widest = std::max(widest, display_width(part));
  return widest;
}

/// The lines of a row, with its wrapped cells side by side.
std::string lines_of(const std::vector<Table::Column> &columns, const std::vector<std::string> &cells,
                     const Style &style, bool title) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t n = 0; n < cells.size(); ++n) {
    bool folds = title || columns[n].align == Align::left;
    lines.push_back(folds ? wrapped(cells[n], std::max<std::size_t>(columns[n].width, 1))
                          : std::vector<std::string>{cells[n]});
    height = std::max(height, lines.back().size());
  }
  std::string result;
  for (std::size_t line = 0; line < height; ++line) {
    for (std::size_t n = 0; n < cells.size(); ++n) {
      std::string cell = line < lines[n].size() ? lines[n][line] : "";
      bool last = n + 1 == cells.size(), pad = !last || columns[n].align == Align::right;
      cell = pad ? padded(cell, columns[n].width, columns[n].align) : cell;
      result += " " + (title ? style.bold(cell) : cell) + (last ? "" : style.dim(" │"));
    }
    while (result.ends_with(' '))
      result.pop_back();
    result += "\n";
  }
  return result;
}

} // namespace

std::vector<Table::Column> Table::fitted(std::size_t width) const {
  std::vector<Column> columns = columns_;
  std::vector<std::size_t> least;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    Column &column = columns[n];
    column.width = display_width(column.title);
    least.push_back(widest_word(column.title));
    for (const Row &row : rows_)
      if (n < row.cells.size()) {
        std::size_t natural = display_width(row.cells[n]);
        column.width = std::max(column.width, natural);
        least[n] = std::max(least[n], column.align == Align::left ? widest_word(row.cells[n]) : natural);
      }
  }
  // Shrink the column with the most slack first.
  for (std::size_t total = Table(columns).width(); total > width; --total) {
    std::size_t best = 0;
    for (std::size_t n = 1; n < columns.size(); ++n)
      if (columns[n].width - least[n] > columns[best].width - least[best])
        best = n;
    if (columns[best].width == least[best])
      break;
    --columns[best].width;
  }
  return columns;
}

std::size_t Table::width() const {
  std::size_t width = columns_.size() - 1;
  for (const Column &column : columns_)
    width += column.width + 2;
  return width;
}

std::string Table::header(const Style &style) const {
  std::vector<std::string> titles;
  std::string rule;
  for (const Column &column : columns_) {
    titles.push_back(column.title);
    rule += rule.empty() ? "" : "┼";
    for (std::size_t i = 0; i < column.width + 2; ++i)
      rule += "─";
  }
  return lines_of(columns_, titles, style, true) + style.dim(rule) + "\n";
}

std::string Table::row(const std::vector<std::string> &cells, const Style &style) const {
  return lines_of(columns_, cells, style, false);
}

std::string Table::text(const Style &style, std::size_t width) const {
  Table fixed(fitted(width));
  std::string result = fixed.header(style);
  for (const Row &row : rows_)
    result += row.cells.empty() ? row.line + "\n" : fixed.row(row.cells, style);
  return result;
}

} // namespace nestsmith::cli
