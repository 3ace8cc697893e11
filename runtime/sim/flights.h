#pragma once
/// Asynchronous copies in flight. The data of a copy reaches shared memory when the issuing thread waits for
/// its group. Until then, the destination holds poison, its shadow entry is `in_flight`, and each access to it
/// is an error, as is a store to the source. The copying thread reads the source until its wait: a barrier
/// after the issue but before the wait does not order this read before the stores of other threads.

#include "runtime/sim/decoded_kernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace nestsmith::sim {

/// One element of an asynchronous copy for each lane of a warp.
struct Flight {
  const Access *access = nullptr; ///< of the destination
  const Access *source = nullptr; ///< null if the kernel does not store to the source
  std::uint32_t warp = 0, lanes = 0;
  std::uint32_t entry = 0; ///< shadow entry of lane 0 at the time of issue
  /// The shadow units of all lanes are in this range.
  std::size_t first_unit = std::numeric_limits<std::size_t>::max(), end_unit = 0;
  std::array<std::uint32_t, warp_size> group;
  std::array<std::int64_t, warp_size> element, from; ///< offsets in the destination and in the source
  std::array<std::uint64_t, warp_size> bits;
  std::vector<std::int64_t> iteration; ///< of the loops around the statement

  std::uint32_t thread(std::uint32_t lane) const { return warp * warp_size + lane; }
};

/// The copies of one warp, in the order of issue.
struct Flights {
  std::vector<Flight> list;
  std::array<std::uint32_t, warp_size> commits{}; ///< number of groups that each lane has ended
};

/// One lane of a copy; `flight` is null if there is none.
struct FlightLane {
  const Flight *flight = nullptr;
  std::uint32_t lane = 0;
};
/// The first copy, in the order of the warps, to a shadow unit, and from an element of a parameter.
FlightLane copy_to(const std::vector<Flights> &of_warps, std::size_t unit);
FlightLane copy_from(const std::vector<Flights> &of_warps, std::uint32_t parameter, std::int64_t element);
/// An error that an asynchronous copy in flight makes of an access, or of the end of the kernel.
struct InFlight {
  enum class How : std::uint8_t { read, overwritten, source, at_exit };
  How how;
  FlightLane copy;
  // The access; null at the end of the kernel.
  const Access *access = nullptr;
  std::uint32_t thread = 0;
  std::int64_t element = 0;
  std::vector<std::int64_t> iteration = {};
};

} // namespace nestsmith::sim
