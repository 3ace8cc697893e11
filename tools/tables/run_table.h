#pragma once
/// The table of `run`: one row for each rung, printed when the rung finishes.

#include "tools/output/table.h"
#include "tools/output/terminal.h"
#include "tools/results/climb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// "PASSED", "REFUSED", "FAILED", or "UNKNOWN" if no run compared every element of an output.
std::string verdict(const Climbed &row);

/// Facts that are known before the first row.
struct RunTableFacts {
  std::vector<std::string> names;     ///< names of the rows, with their variants
  std::vector<std::string> problems;  ///< "f32 512x512x512"
  std::vector<std::string> published; ///< "91 (512), 95 (1024) GFLOP/s", or empty
  bool simulated = true;
};

/// The widths of the columns are computed before the first row is printed. If the table is too wide, titles and
/// cells are shortened. If it is still too wide, columns are omitted, first those whose content `explain`,
/// `compile` or --json also reports.
class RunTable {
public:
  RunTable(RunTableFacts facts, std::size_t width, const Style &style);

  std::string header() const { return table_.header(style_); }
  /// Row `n`, in the order of `RunTableFacts::names`.
  std::string row(std::size_t n, const Climbed &climbed) const;
  /// The row of cuBLAS, below the row that it was compared with.
  std::string cublas_row(const std::string &name, const Climbed &compared) const;

  /// The titles of the columns, and the cells of these rows.
  std::vector<std::string> titles() const;
  std::vector<std::string> cells(std::size_t n, const Climbed &climbed) const;
  std::vector<std::string> cublas_cells(const std::string &name, const Climbed &compared) const;
  bool shows_published() const { return shows(Figure::published); }

  /// Content of a column.
  enum class Figure : std::uint8_t {
    rung,
    problem,
    time,
    gflops,
    cublas,
    sectors,
    conflicts,
    intensity,
    occupancy,
    limiter,
    error,
    registers,
    shared,
    published,
    verdict
  };

private:
  bool shows(Figure figure) const;
  std::string cell(Figure figure, std::size_t n, const Climbed &row) const;
  std::string error_cell(const Climbed &row) const;
  void choose(std::size_t width);
  Table table_of(const std::vector<Figure> &figures) const;

  RunTableFacts facts_;
  Style style_;
  bool narrow_ = false;
  std::vector<Figure> shown_;
  Table table_;
};

} // namespace nestsmith::cli
