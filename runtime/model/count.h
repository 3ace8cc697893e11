#pragma once
/// Counts hardware events of a kernel without computing its values: executes addresses and control flow only.
/// The result equals the simulator's counts (`Result::counters`), and counting is fast enough for large shapes.

#include "dsl/array.h"
#include "runtime/model/counters.h"

#include <cstdint>
#include <optional>
#include <span>

namespace nestsmith::model {

struct CountOptions {
  /// Upper limit on the executed blocks, with a minimum of eight. 0: every block. Corners, edges and
  /// interior blocks each represent the blocks in an equivalent position. Random blocks test this equivalence.
  /// If it does not hold, because the kernel assigns tiles in an order of its own, blocks from the whole grid
  /// give an estimate. When blocks are sampled, `lines` is approximate.
  std::uint64_t max_blocks = 0;
  unsigned host_threads = 0; ///< 0: all cores; the counts do not depend on it
};

/// Counts a kernel without sizes. `scalars` are in the order of the kernel's. If addresses or conditions depend
/// on loaded values, memory is zero.
Counters count(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const CountOptions &options = {});

/// The first request of warp `warp` of block `block` for access number `access` of `count(...).accesses`; none
/// if it makes none.
std::optional<WarpRequest> first_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                         std::size_t access, std::uint64_t block = 0, std::uint32_t warp = 0);

} // namespace nestsmith::model
