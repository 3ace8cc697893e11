#pragma once
/// The table of `run`: a row for each rung, printed as the rung finishes.

#include "tools/climb.h"
#include "tools/terminal.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// "PASSED", "REFUSED" or "FAILED".
std::string verdict(const Climbed &row);

/// What is known before the first row.
struct RunTableFacts {
  std::vector<std::string> names;     ///< of the rows, with their forms
  std::vector<std::string> problems;  ///< "f32 512x512x512"
  std::vector<std::string> published; ///< "91 (512), 95 (1024) GFLOP/s", or empty
  bool simulated = true;
};

/// Columns of widths that are chosen before the first row. What does not fit the width is shortened; then
/// columns are left out, those first that `explain`, `compile` and --json tell as well.
class RunTable {
public:
  RunTable(RunTableFacts facts, std::size_t width, const Style &style);

  std::string header() const { return table_.header(style_); }
  /// The row at this place of the names.
  std::string row(std::size_t n, const Climbed &climbed) const;
  /// The row of cuBLAS, beside one that was compared with it.
  std::string cublas_row(const std::string &name, const Climbed &compared) const;
  bool shows_published() const { return shows(Figure::published); }

  /// What a column shows.
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
