#pragma once
/// A model of the caches: which of a kernel's sectors come from L1, from L2 and from DRAM.
///
/// The blocks that are resident together run side by side, a request of each warp in turn. Caches hold lines of
/// 128 bytes, filled sector by sector, least recently used out, and start empty. Each block has its share of
/// its SM's L1, which loads look up and stores go through: on hardware the blocks of an SM drift apart, so that
/// they seldom find what another has loaded. The L2 is in partitions, each of which caches what its SMs ask
/// for; what has its home in another partition is looked up there too, before DRAM. What is stored is kept
/// until it must make room, and what is kept at the end counts as written to DRAM.

#include "dsl/array.h"
#include "lowering/kernel.h"
#include "runtime/model/counters.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith::model {

struct MemorySystem {
  int sms = 1;
  int blocks_per_sm = 1;
  std::int64_t l1_bytes = 0; ///< of an SM, less what shared memory takes of it; 0: no L1
  std::int64_t l2_bytes = 0; ///< of all partitions together
  int l2_partitions = 1;
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
  /// Requests to follow at most, about; one that touches 32 lines of 128 bytes counts as two. Where the kernel
  /// makes more, the long loops of each block run through a part of their iterations only, with an L2 that is
  /// smaller in proportion, and where that is not enough the last blocks are taken to do what those before them
  /// do.
  std::uint64_t max_requests = 16'000'000;
};

struct TrafficResult {
  Traffic traffic;
  std::vector<Traffic> accesses;            ///< the same, for each of the counters' accesses
  double followed = 1, followed_blocks = 1; ///< shares, about: of each block's requests, and of the blocks
};

/// Of a kernel without sizes; `counters` are its counts. Where addresses or conditions depend on what is
/// loaded, loads give 0.
TrafficResult traffic(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const Counters &counters,
                      const MemorySystem &system, const TrafficOptions &options = {});

} // namespace nestsmith::model
