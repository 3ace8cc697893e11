#pragma once
/// Arrivals of blocks at counters, and the order between blocks that they make.
///
/// An arrival with a fence releases the accesses that its block has made, and the accesses that the block has
/// acquired. The last block of a counter acquires what the arrivals at the counter have released. So the order
/// passes on through several counters. Kernels with arrivals run on one host thread, so that the last block of
/// a counter does not depend on the number of host cores.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nestsmith::sim {

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
