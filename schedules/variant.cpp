#include "schedules/variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

std::optional<Variant> scalar_unless_multiples(const Shape &shape,
                                               const std::vector<std::pair<const char *, std::size_t>> &extents,
                                               std::int64_t lanes) {
  std::vector<std::string> why;
  if (shape.stated && shape.stated->multiple_of % lanes != 0)
    why.push_back(fmt::format("sizes are multiples of {}, not of {}", shape.stated->multiple_of, lanes));
  if (!shape.stated)
    for (auto [axis, n] : extents)
      if (shape.at(n) % lanes != 0)
        why.push_back(fmt::format("{} % {} = {}", axis, lanes, shape.at(n) % lanes));
  if (why.empty())
    return std::nullopt;
  return Variant{"scalar", fmt::format("{}", fmt::join(why, ", "))};
}

} // namespace nestsmith
