#pragma once
/// The time that a search still takes.

#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith::cli {

/// "about 40 s left", "about 3 min left": the points that are left at the pace until now, and at most what is
/// left of the limit. `elapsed` and `limit` are in seconds.
std::string time_left_text(std::int64_t done, std::int64_t all, double elapsed, std::optional<double> limit);

} // namespace nestsmith::cli
