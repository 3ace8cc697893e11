#pragma once
/// The memory of the parameters while blocks execute.

#include "runtime/sim/arrivals.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nestsmith::sim {

/// Accesses to the elements of a parameter that do not conflict with each other: its loads, or its atomic
/// operations.
struct SharedAccesses {
  std::vector<std::atomic<std::uint64_t>> entries; ///< shadow entries (shadow.h); empty: no access to check
  /// In a kernel with arrivals: the accesses to the elements whose entry has the flag `many_blocks`.
  BlockReads of_blocks;
};

/// The memory of a parameter. If the kernel stores to the buffer and checks are enabled, `writes`, `reads` and
/// `updates` have shadow entries (shadow.h); otherwise they are empty.
struct GlobalBuffer {
  std::byte *data = nullptr;
  std::int64_t elements = 0;
  bool starts_written = true;        ///< the elements are initialised before the launch
  std::vector<std::uint8_t> written; ///< for each element: whether a kernel stored it
  std::vector<std::atomic<std::uint64_t>> writes;
  SharedAccesses reads, updates;
  bool counts_arrivals = false; ///< the buffer is counters of arrivals
  ArrivalLog arrivals;
};

} // namespace nestsmith::sim
