#include "tools/tune/time_left.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::cli {

std::string time_left_text(std::int64_t done, std::int64_t all, double elapsed, std::optional<double> limit) {
  constexpr double longest_in_seconds = 90;
  double left = elapsed / static_cast<double>(std::max<std::int64_t>(1, done)) *
                static_cast<double>(std::max<std::int64_t>(0, all - done));
  if (limit)
    left = std::min(left, std::max(0.0, *limit - elapsed));
  if (left <= longest_in_seconds)
    return fmt::format("about {} s left", std::lround(left));
  return fmt::format("about {} min left", std::lround(left / 60));
}

} // namespace nestsmith::cli
