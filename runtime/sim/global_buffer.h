#pragma once
/// The memory of the parameters while blocks execute.

#include "runtime/sim/arrivals.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nestsmith::sim {

/// The memory of a parameter. If the kernel stores to the buffer and checks are enabled, `writes` and `reads`
/// have shadow entries (shadow.h); otherwise they are empty.
struct GlobalBuffer {
  std::byte *data = nullptr;
  std::int64_t elements = 0;
  bool starts_written = true;        ///< the elements are initialised before the launch
  std::vector<std::uint8_t> written; ///< for each element: whether a kernel stored it
  std::vector<std::atomic<std::uint64_t>> writes, reads;
  bool counts_arrivals = false; ///< the buffer is counters of arrivals
  ArrivalLog arrivals;
  /// In a kernel with arrivals: the reads of the elements whose entry in `reads` has the flag `many_blocks`.
  BlockReads block_reads;
};

} // namespace nestsmith::sim
