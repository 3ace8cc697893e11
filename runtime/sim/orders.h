#pragma once
/// Other orders of the blocks, for kernels in which blocks arrive at counters.

#include "runtime/sim/decoded_kernel.h"
#include "runtime/sim/global_buffer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::sim {

/// An order in which the blocks of a grid start.
struct BlockOrder {
  std::string text; ///< "the blocks start in descending order"
  std::vector<std::uint64_t> blocks;
};

/// The ascending order, the descending order and, if `each_last` is true, orders in which each of the blocks
/// that share a counter is the last one. If the grid has few blocks, each block of the grid is the last one.
std::vector<BlockOrder> block_orders(const DecodedKernel &decoded, bool each_last);

/// The memory after the kernel ran in one order.
struct OrderedRun {
  std::vector<std::vector<std::byte>> memory; ///< of each parameter that the kernel stores
};
/// Runs the kernel from this memory of its parameters, on one host thread. The parameters that `memory` leaves
/// out are those of `globals`, which are not changed.
OrderedRun run_in_order(const DecodedKernel &decoded, const std::vector<GlobalBuffer> &globals,
                        std::vector<std::vector<std::byte>> memory, const BlockOrder &order);

} // namespace nestsmith::sim
