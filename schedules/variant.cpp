#include "schedules/variant.h"

#include <fmt/format.h>

namespace nestsmith {

std::optional<Variant>
scalar_unless_multiples(DType dtype, const std::vector<std::pair<const char *, std::int64_t>> &extents,
                        std::int64_t lanes) {
  std::string why;
  if (byte_size(dtype) == 2)
    why = fmt::format("{} has 2 bytes", name(dtype));
  for (auto [axis, extent] : extents)
    if (extent % lanes != 0)
      why += fmt::format("{}{} % {} = {}", why.empty() ? "" : ", ", axis, lanes, extent % lanes);
  return why.empty() ? std::nullopt : std::optional(Variant{"scalar", why});
}

} // namespace nestsmith
