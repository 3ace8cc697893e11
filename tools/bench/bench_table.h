#pragma once
/// The results of `bench` as text.

#include "tools/bench/bench.h"
#include "tools/output/terminal.h"

#include <cstddef>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The heading and the rows at one shape in one setting. In a table of less than about 100 columns, the median
/// and the distance of the quartiles stand for the distribution of the times; a wider one has more columns.
std::string bench_table(const BenchShape &shape, const BenchSetting &setting, std::size_t setting_number,
                        const Style &style, std::size_t width = output_width());

/// One row for each competitor and one column for each shape: TFLOP/s, with the ratio to the best peer if there
/// is room.
std::string bench_summary(const std::vector<BenchShape> &shapes, const BenchSetting &setting,
                          std::size_t setting_number, const Style &style, std::size_t width = output_width());

/// A number with this many significant digits, without an exponent: with four, "0.3695", "46.49", "52730".
std::string significant(double value, int digits = 4);

} // namespace nestsmith::cli
