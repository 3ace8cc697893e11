#include "schedules/variant.h"

#include <fmt/format.h>

namespace nestsmith {

std::optional<Variant>
scalar_unless_multiples(const std::vector<std::pair<const char *, std::int64_t>> &extents, std::int64_t lanes) {
  std::string why;
  for (auto [name, extent] : extents)
    if (extent % lanes != 0)
      why += fmt::format("{}{} % {} = {}", why.empty() ? "" : ", ", name, lanes, extent % lanes);
  return why.empty() ? std::nullopt : std::optional(Variant{"scalar", why});
}

} // namespace nestsmith
