#include "tools/bench/bench_table.h"

#include "tools/output/table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

struct Column {
  const char *title;
  bool spare; ///< omitted from a narrow table
  std::string (*cell)(const BenchShape &shape, const BenchRow &row, std::size_t setting);
};

std::string optional_text(const std::optional<double> &value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "n/a";
}

const BenchTime &time_of(const BenchRow &row, std::size_t setting) { return row.times[setting]; }

const Column columns[] = {
    {"ms", false,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       return significant(time_of(row, n).ms.median);
     }},
    {"min", true,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       return significant(time_of(row, n).ms.min);
     }},
    {"quartiles", true,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       const cuda::Spread &ms = time_of(row, n).ms;
       return significant(ms.lower_quartile) + " " + significant(ms.upper_quartile);
     }},
    {"max", true,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       return significant(time_of(row, n).ms.max);
     }},
    {"spread", false,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       const cuda::Spread &ms = time_of(row, n).ms;
       return fmt::format("{:.1f} %", 100 * (ms.upper_quartile - ms.lower_quartile) / ms.median);
     }},
    {"TFLOP/s", false,
     [](const BenchShape &, const BenchRow &row, std::size_t n) { return significant(row.tflops(n)); }},
    {"ratio", false,
     [](const BenchShape &shape, const BenchRow &row, std::size_t n) {
       std::optional<double> ratio = shape.ratio(row, n);
       return ratio ? fmt::format("{:.3f}", *ratio) : "-";
     }},
    {"host µs", false,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       return fmt::format("{:.2f}", time_of(row, n).host_us);
     }},
    {"MHz", false,
     [](const BenchShape &, const BenchRow &row, std::size_t n) {
       return optional_text(time_of(row, n).sm_mhz, 0);
     }},
    {"W", false,
     [](const BenchShape &, const BenchRow &row, std::size_t) { return optional_text(row.watts, 0); }},
};

/// "cuBLASLt 13.1.0, heuristic 3 of 8".
std::string row_name(const BenchRow &row, std::size_t setting) {
  bool form = !row.times.empty() && !row.times[setting].variant.empty();
  return row.name + (form ? (row.peer ? ", " : " (") + row.times[setting].variant + (row.peer ? "" : ")") : "");
}

Table table_of(const BenchShape &shape, std::size_t setting, bool wide, const Style &style) {
  std::vector<Table::Column> titles = {{"competitor"}};
  for (const Column &column : columns)
    if (wide || !column.spare)
      titles.push_back({column.title, Align::right});
  Table table(titles);
  std::optional<std::size_t> last;
  for (const BenchRow &row : shape.rows) {
    if (shape.computations.size() > 1 && row.computation && row.computation != last)
      table.add_line(" " + style.dim(shape.computations[*row.computation]));
    last = row.computation;
    std::vector<std::string> cells = {row.peer ? row_name(row, setting) : style.bold(row_name(row, setting))};
    for (const Column &column : columns)
      if (wide || !column.spare)
        cells.push_back(row.times.empty() ? "-" : column.cell(shape, row, setting));
    table.add(std::move(cells));
    if (row.failure.code != ExitCode::good) {
      std::string text = folded(row.failure.message, "     ", "   ") + row.failure.details;
      text.pop_back(); // the table ends the line
      table.add_line(text);
    }
  }
  return table;
}

} // namespace

std::string significant(double value, int digits) {
  if (value == 0)
    return "0";
  int before = 1 + static_cast<int>(std::floor(std::log10(std::abs(value)))); // 0 for 0.3, -2 for 0.003
  return fmt::format("{:.{}f}", value, std::max(0, digits - before));
}

std::string bench_table(const BenchShape &shape, const BenchSetting &setting, std::size_t number,
                        const Style &style, std::size_t width) {
  Table table = table_of(shape, number, true, style);
  if (!table.fits(width))
    table = table_of(shape, number, false, style);
  std::string title = fmt::format("{} {}", shape.dtype, to_text(shape.shape));
  return folded(style.bold(title) + ", " + to_text(setting), "  ", "") + table.text(style, width);
}

std::string bench_summary(const std::vector<BenchShape> &shapes, const BenchSetting &setting,
                          std::size_t number, const Style &style, std::size_t width) {
  using Key = std::pair<std::string, std::optional<std::size_t>>; // the name and the computation
  std::vector<Key> keys;
  for (const BenchShape &shape : shapes)
    for (const BenchRow &row : shape.rows)
      if (std::ranges::find(keys, Key{row.name, row.computation}) == keys.end())
        keys.emplace_back(row.name, row.computation);
  auto make = [&](bool ratios) {
    std::vector<Table::Column> titles = {{"TFLOP/s"}};
    for (const BenchShape &shape : shapes)
      titles.push_back({short_text(shape.shape), Align::right});
    Table table(titles);
    for (const Key &key : keys) {
      std::vector<std::string> cells = {key.first};
      for (const BenchShape &shape : shapes) {
        auto row = std::ranges::find_if(shape.rows, [&](const BenchRow &other) {
          return Key{other.name, other.computation} == key && !other.times.empty();
        });
        std::string cell = row == shape.rows.end() ? "-" : significant(row->tflops(number), 3);
        if (std::optional<double> ratio = row == shape.rows.end() ? std::nullopt : shape.ratio(*row, number);
            ratio && ratios)
          cell += fmt::format(" ({:.2f})", *ratio);
        cells.push_back(cell);
      }
      table.add(std::move(cells));
    }
    return table;
  };
  bool ratios = make(true).fits(width);
  std::string title = fmt::format("TFLOP/s{}: {} {}", ratios ? " (ratio to the best peer)" : "",
                                  shapes.front().dtype, to_text(setting));
  return folded(style.bold(title), "  ", "") + make(ratios).text(style, width);
}

} // namespace nestsmith::cli
