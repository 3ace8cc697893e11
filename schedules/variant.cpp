#include "schedules/variant.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace nestsmith {

std::optional<Variant> scalar_unless_multiples(const Shape &shape,
                                               const std::vector<std::pair<const char *, std::size_t>> &extents,
                                               std::int64_t lanes) {
  std::vector<std::string> why;
  auto add = [&](const std::string &reason) { // several operands may have rows of one length
    if (std::ranges::find(why, reason) == why.end())
      why.push_back(reason);
  };
  if (shape.stated && shape.multiples.empty() && shape.stated->multiple_of % lanes != 0)
    add(fmt::format("sizes are multiples of {}, not of {}", shape.stated->multiple_of, lanes));
  if (shape.stated && !shape.multiples.empty())
    for (auto [axis, n] : extents)
      if (!shape.is_multiple(n, lanes))
        add(fmt::format("{} is a multiple of {}, not of {}", axis, shape.known(n), lanes));
  if (!shape.stated)
    for (auto [axis, n] : extents)
      if (shape.at(n) % lanes != 0)
        add(fmt::format("{} % {} = {}", axis, lanes, shape.at(n) % lanes));
  if (why.empty())
    return std::nullopt;
  return Variant{"scalar", fmt::format("{}", fmt::join(why, ", "))};
}

RowOf rows_of_a(const Shape &shape, std::int64_t fewest) {
  return shape.transposed.a ? RowOf{"A", "M", 0, fewest} : RowOf{"A", "K", 2, fewest};
}

RowOf rows_of_b(const Shape &shape, std::int64_t fewest) {
  return shape.transposed.b ? RowOf{"B", "K", 2, fewest} : RowOf{"B", "N", 1, fewest};
}

std::optional<Variant> narrow_unless_multiples(const Shape &shape, const std::vector<RowOf> &rows,
                                               std::int64_t lanes) {
  std::vector<std::pair<const char *, std::size_t>> extents;
  std::vector<std::string> why;
  bool scalar = true;
  for (const RowOf &row : rows) {
    extents.emplace_back(row.axis, row.extent);
    std::int64_t extent = shape.known(row.extent);
    const bool by_starts = row.may_end_inside && shape.stated && shape.row_multiple > 1;
    if (by_starts)
      extent = std::lcm(extent, shape.row_multiple);
    std::int64_t width = std::gcd(extent, lanes);
    if (width < row.fewest)
      width = 1;
    scalar = scalar && width == 1;
    if (width < lanes)
      why.push_back(
          fmt::format("{} by {} element{}: {}", row.operands, width, width == 1 ? "" : "s",
                      by_starts      ? fmt::format("rows start at multiples of {}, not of {}", extent, lanes)
                      : shape.stated ? fmt::format("sizes are multiples of {}, not of {}", extent, lanes)
                                     : fmt::format("{} % {} = {}", row.axis, lanes, extent % lanes)));
  }
  if (why.empty())
    return std::nullopt;
  if (scalar)
    return scalar_unless_multiples(shape, extents, lanes);
  return Variant{"narrow", fmt::format("{}", fmt::join(why, ", "))};
}

} // namespace nestsmith
