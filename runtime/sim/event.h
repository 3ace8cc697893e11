#pragma once
/// Errors as the machines record them, before they become diagnostics.

#include "runtime/sim/diagnostic.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::sim {

/// Block number in an error if several blocks read the element.
inline constexpr std::uint64_t unknown_block = ~std::uint64_t{0};

/// An error, as observed by the first thread that encounters it.
struct Event {
  ErrorKind kind;
  std::uint32_t site;
  std::int64_t element = 0;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::vector<std::int64_t> iteration;
  std::uint64_t other_block = 0; ///< for a race: number of the block of the earlier access
  std::string detail;            ///< for an error of a barrier, a call or a copy: the complete message
  std::optional<kernel::Hazard> hazard = std::nullopt; ///< for an access in flight
};

/// An access to an arrival counter that is no arrival. It races with the arrivals of other blocks at the
/// counter unless all of them happened before.
struct CounterAccess {
  Event event;
  std::uint32_t counters; ///< index of the parameter
  std::size_t ordered;    ///< arrivals of other blocks that happened before
};

} // namespace nestsmith::sim
