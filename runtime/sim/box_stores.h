#pragma once
/// Bulk stores in flight. The first lane of a warp issues the copy of a box. The elements reach global memory
/// at once in the simulator, but the tile counts as read until the warp waits for the group: a write to it
/// before is an error, and the wait is a read of the lane, which a barrier must order before writes of other
/// threads.

#include "runtime/sim/decoded_kernel.h"

#include <cstdint>
#include <vector>

namespace nestsmith::sim {

/// One element of a bulk store.
struct StoreInFlight {
  const Access *access; ///< of the tile
  std::int64_t element;
  std::uint32_t lane, group;
  std::uint32_t written; ///< the shadow entry of its write when the copy was issued
};

/// The bulk stores of one warp.
struct BoxStores {
  std::vector<StoreInFlight> list;
  std::uint32_t commits = 0; ///< number of groups that the warp has ended
};

} // namespace nestsmith::sim
