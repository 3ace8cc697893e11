#pragma once
/// A cache model: the sectors of a kernel that L1, L2 and DRAM serve.
///
/// The resident blocks execute concurrently, one request of each warp in turn. Caches have lines of 128 bytes
/// that are filled sector by sector, use LRU replacement, and start empty. Each block has its own share of its
/// SM's L1; loads look it up and stores write through. The share is private because the blocks of an SM drift
/// apart on hardware and seldom use each other's data. The L2 consists of partitions, each of which caches the
/// requests of its SMs; data of another partition are looked up there before DRAM. Stored sectors are written
/// back on eviction, and those left at the end count as written to DRAM.

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
  std::int64_t l1_bytes = 0; ///< per SM, without shared memory; 0: no L1
  std::int64_t l2_bytes = 0; ///< all partitions together
  int l2_partitions = 1;
};

struct Traffic {
  std::uint64_t l1_sectors = 0;                  ///< requested by loads
  std::uint64_t l1_hits = 0;                     ///< hits among them
  std::uint64_t l2_reads = 0;                    ///< sectors that L1 requests from L2
  std::uint64_t l2_read_hits = 0;                ///< hits among them
  std::uint64_t l2_writes = 0;                   ///< sectors
  std::uint64_t dram_reads = 0, dram_writes = 0; ///< sectors

  std::uint64_t dram_bytes() const { return (dram_reads + dram_writes) * 32; }
  std::uint64_t l2_bytes() const { return (l2_reads + l2_writes) * 32; }
  double l1_hit_rate() const; ///< 0 to 1; 0 without requests
  double l2_hit_rate() const;
  Traffic &operator+=(const Traffic &other);
};

struct TrafficOptions {
  /// Approximate limit on the followed requests; a request that touches 32 lines of 128 bytes counts as two. If
  /// the kernel makes more, the long loops of each block execute only part of their iterations, with a
  /// proportionally smaller L2. If that is not enough, the last blocks are assumed to behave like those before
  /// them.
  std::uint64_t max_requests = 16'000'000;
};

struct TrafficResult {
  Traffic traffic;
  std::vector<Traffic> accesses; ///< for each of the counters' accesses
  /// Approximate fractions of each block's requests, and of the blocks, that were followed.
  double followed = 1, followed_blocks = 1;
};

/// Models a kernel without sizes; `counters` are its counts. If addresses or conditions depend on loaded
/// values, loads give 0.
TrafficResult traffic(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const Counters &counters,
                      const MemorySystem &system, const TrafficOptions &options = {});

} // namespace nestsmith::model
