#pragma once
/// A cache model: counts the sectors that L1, L2 and DRAM serve for a kernel.
///
/// The model executes the resident blocks concurrently: it takes one request from each warp in turn. Caches
/// have lines of 128 bytes, fill each line sector by sector, use LRU replacement, and start empty. Each block
/// has a private share of the L1 of its SM. Loads are looked up in this share. Stores write through. The share
/// is private because, on hardware, the blocks of an SM execute at different positions and seldom use each
/// other's data. The L2 consists of partitions. Each partition caches the requests of the SMs that belong to
/// it. If the data belong to another partition, the model looks them up there before it reads DRAM. L2 writes
/// stored sectors back to DRAM when it evicts them. Stored sectors that remain in L2 at the end also count as
/// written to DRAM.
///
/// An atomic operation bypasses L1. The L2 executes it in the partition to which the data belong: it reads the
/// sector from DRAM if it is not there, and writes the new one as for a store. So to L2, it is one sector, as a
/// store. Source: NVIDIA, "Kernel Profiling Guide", memory chart: L2 performs the operation, and its data
/// crosses the link from L1 once. The model knows no limit on operations on one element, which the L2 executes
/// one after the other.

#include "dsl/ir/array.h"
#include "lowering/kernel.h"
#include "runtime/model/counters.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith::model {

struct MemorySystem {
  int sms = 1;
  int blocks_per_sm = 1;
  std::int64_t l1_bytes = 0; ///< L1 capacity per SM, without shared memory; 0: no L1
  std::int64_t l2_bytes = 0; ///< L2 capacity, all partitions together
  int l2_partitions = 1;
};

/// The numbers of sectors at each level.
struct Traffic {
  std::uint64_t l1_sectors = 0;                  ///< sectors that loads request from L1
  std::uint64_t l1_hits = 0;                     ///< hits among `l1_sectors`
  std::uint64_t l2_reads = 0;                    ///< sectors that L1 requests from L2
  std::uint64_t l2_read_hits = 0;                ///< hits among `l2_reads`
  std::uint64_t l2_writes = 0;                   ///< sectors that stores and atomic operations send to L2
  std::uint64_t dram_reads = 0, dram_writes = 0; ///< sectors read from DRAM and written to DRAM

  std::uint64_t dram_bytes() const { return (dram_reads + dram_writes) * 32; }
  std::uint64_t l2_bytes() const { return (l2_reads + l2_writes) * 32; }
  double l1_hit_rate() const; ///< 0 to 1; 0 without requests
  double l2_hit_rate() const;
  Traffic &operator+=(const Traffic &other);
};

struct TrafficOptions {
  /// Approximate limit on the number of requests that the model follows. A request that accesses 32 lines of
  /// 128 bytes counts as two. If the kernel makes more requests, the model executes only a part of the
  /// iterations of each long loop, with a proportionally smaller L2. If this is not sufficient, it does not
  /// execute the last blocks, and assumes that they behave like the blocks before them.
  std::uint64_t max_requests = 16'000'000;
};

struct TrafficResult {
  Traffic traffic;
  std::vector<Traffic> accesses; ///< traffic of each element of `Counters::accesses`
  /// Approximate fractions of the work that the model followed: of the requests of each block, and of the
  /// blocks.
  double followed = 1, followed_blocks = 1;
};

/// Models the caches for a kernel without sizes. `counters` are the counts of this kernel. If addresses or
/// conditions depend on loaded values, the model assumes that every load returns 0.
TrafficResult traffic(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const Counters &counters,
                      const MemorySystem &system, const TrafficOptions &options = {});

} // namespace nestsmith::model
