#pragma once
/// A model of the caches: which of a kernel's sectors come from L1, from L2 and from DRAM.
///
/// The blocks that are resident together run side by side, a request of each warp in turn. Each SM has an L1
/// of lines of 128 bytes, filled sector by sector, least recently used out; loads look it up, stores go
/// through it. All share an L2 of the same kind, which keeps what is stored until it must make room. Both
/// start empty, and what the L2 holds of stores at the end counts as written to DRAM.

#include "dsl/array.h"
#include "lowering/kernel.h"

#include <cstdint>
#include <span>

namespace nestsmith::sim {

struct MemorySystem {
  int sms = 1;
  int blocks_per_sm = 1;
  std::int64_t l1_bytes = 0; ///< of an SM, less what shared memory takes of it; 0: no L1
  std::int64_t l2_bytes = 0;
};

struct Traffic {
  std::uint64_t l1_sectors = 0;                  ///< that loads ask for
  std::uint64_t l1_hits = 0;                     ///< of these
  std::uint64_t l2_reads = 0;                    ///< sectors that L1 asks L2 for
  std::uint64_t l2_read_hits = 0;                ///< of these
  std::uint64_t l2_writes = 0;                   ///< sectors
  std::uint64_t dram_reads = 0, dram_writes = 0; ///< sectors

  std::uint64_t dram_bytes() const { return (dram_reads + dram_writes) * 32; }
  std::uint64_t l2_bytes() const { return (l2_reads + l2_writes) * 32; }
  double l1_hit_rate() const; ///< 0 to 1; 0 where nothing was asked for
  double l2_hit_rate() const;
  Traffic &operator+=(const Traffic &other);
};

struct TrafficOptions {
  /// Requests to follow at most, about. Where the kernel makes more, each block runs through a first part of
  /// its requests only, caches are smaller in proportion where they keep what later blocks read, and the sums
  /// are scaled.
  std::uint64_t max_requests = 20'000'000;
};

struct TrafficResult {
  Traffic traffic;
  double followed = 1; ///< the share of the requests that was followed
};

/// Of a kernel without sizes.
TrafficResult traffic(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const MemorySystem &system,
                      const TrafficOptions &options = {});

} // namespace nestsmith::sim
