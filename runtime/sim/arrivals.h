#pragma once
/// Arrivals of blocks at counters, and the order between blocks that they make.
///
/// An arrival releases the accesses that its block has made, and the accesses that the block has acquired. The
/// last block of a counter acquires what the arrivals at the counter have released. So the order passes on
/// through several counters. Kernels with arrivals run on one host thread, so that the last block of a counter
/// does not depend on the number of host cores.

#include "dsl/expr/expr.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nestsmith::sim {

/// The order that an arrival makes. All arrivals make it whole, except in tests of these checks.
struct ArrivalOrder {
  bool fence = true;   ///< the arrival releases and acquires accesses
  bool barrier = true; ///< the accesses that it releases include those after the last barrier before it
};
/// The arrivals that omit a part of the order, by the variables that they define.
using WeakArrivals = std::map<Var, ArrivalOrder>;

/// For each block: the stamp (shadow.h) below which its accesses are ordered. Blocks without an entry: none.
using BlockTimes = std::unordered_map<std::uint64_t, std::uint32_t>;

/// The arrivals at one counter.
struct CounterArrivals {
  BlockTimes released;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> made; ///< block and stamp of each arrival
};

/// The arrivals at all counters of one parameter.
using ArrivalLog = std::map<std::int64_t, CounterArrivals>;

/// For elements that several blocks read: the last read entry of each block (shadow.h).
using BlockReads = std::unordered_map<std::int64_t, std::map<std::uint64_t, std::uint32_t>>;

} // namespace nestsmith::sim
