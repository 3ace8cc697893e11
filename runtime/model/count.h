#pragma once
/// Counts without computing: runs the addresses and the control flow of a kernel, and none of its values. It
/// gives what the simulator counts (`Result::counters`), and is fast enough for large shapes.

#include "dsl/array.h"
#include "runtime/model/counters.h"

#include <cstdint>
#include <optional>
#include <span>

namespace nestsmith::model {

struct CountOptions {
  /// Runs so many blocks at most, but eight at least: corners, edges and blocks of the interior, each standing
  /// for those that its position makes its like. 0: every block. That they do is tried
  /// on blocks drawn at random; where it is not so, because the kernel gives out tiles in an order of its own,
  /// blocks from all over the grid give an estimate. `lines` is near what all blocks together do.
  std::uint64_t max_blocks = 0;
  unsigned host_threads = 0; ///< 0: all cores; the counts do not depend on it
};

/// Of a kernel without sizes. `scalars` stand in the order of the kernel's. Where addresses or conditions
/// depend on what is loaded, memory holds zeros.
Counters count(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const CountOptions &options = {});

/// The first request that warp `warp` of block `block` makes through access `access` of `count(...).accesses`;
/// absent where it makes none.
std::optional<WarpRequest> first_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                         std::size_t access, std::uint64_t block = 0, std::uint32_t warp = 0);

} // namespace nestsmith::model
