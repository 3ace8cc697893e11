#pragma once
/// Shadow memory: a record of the last accesses to each element, which shows whether a new access is ordered
/// after them.
///
/// A *stamp* identifies an interval between barriers: each warp gets a new stamp when it starts and after each
/// barrier. The stamps of a block come from one counter. All stamps that were assigned since the last block
/// barrier are `floor` or greater. Take two accesses in the same block. The earlier access is ordered before
/// the later access exactly if
///   - the same thread makes both, or
///   - the stamp of the earlier one is below `floor`: a block barrier is between them, or
///   - the same warp makes them with different stamps: a warp barrier is between them, or
///   - its warp has signalled an event after it, which the other warp has awaited (channels.h). The warp gets a
///   new
///     stamp with each signal, and each warp knows the stamps that it has seen of the others.
///
/// In a kernel with roles, an element has a read entry for each warp.
///
/// A shadow entry packs a stamp, flags and a lane into 31 bits. The entry 0 means that no access has occurred.
/// A read entry contains the last stamp of the first warp that read the element since the last block barrier,
/// and one lane. The flag `many_lanes` states that other lanes of this warp also read the element, and
/// `many_warps` states that other warps also read it. This information is sufficient to check a later store.

#include "dsl/expr/error.h"

#include <cstdint>
#include <vector>

namespace nestsmith::sim {

inline constexpr std::uint32_t many_lanes = 1u << 5, many_warps = 1u << 6, stamp_shift = 7;
inline constexpr std::uint32_t max_stamp = (1u << 24) - 1;
/// The write entry of an element whose asynchronous copy has not arrived. It is greater than the entry of each
/// write, and so the fast paths of accesses, which accept only older entries, leave it to the slow ones.
inline constexpr std::uint32_t in_flight = ~std::uint32_t{0} >> 1;

/// The stamps of one block.
class Clock {
public:
  void start(std::uint32_t warps) {
    next_ = 1;
    block_barrier(warps);
  }
  /// Assigns stamp floor + w to warp w.
  void block_barrier(std::uint32_t warps) {
    floor_ = next_;
    warp_of_.clear();
    for (std::uint32_t warp = 0; warp < warps; ++warp)
      advance(warp);
  }
  /// Assigns a new stamp to one warp. Throws UserError (usage) if the stamps are exhausted.
  std::uint32_t advance(std::uint32_t warp) {
    if (next_ > max_stamp)
      throw UserError(ExitCode::usage,
                      "a block synchronises more than 16777215 times; simulate a smaller shape");
    warp_of_.push_back(warp);
    return next_++;
  }
  std::uint32_t floor() const { return floor_; }
  /// The warp of a stamp, which must not be below `floor`.
  std::uint32_t warp_of(std::uint32_t stamp) const { return warp_of_[stamp - floor_]; }

private:
  std::uint32_t next_ = 1, floor_ = 1;
  std::vector<std::uint32_t> warp_of_;
};

/// A thread and its current stamp.
struct Now {
  const Clock &clock;
  std::uint32_t warp, stamp, lane;
  const std::uint32_t *seen = nullptr; ///< `Warp::seen`

  std::uint32_t entry() const { return stamp << stamp_shift | lane; }
  bool fresh(std::uint32_t old) const { return old >> stamp_shift >= clock.floor(); }

  /// Whether the access in the entry `old` was made by another thread and is not ordered before the current
  /// access.
  bool conflicts(std::uint32_t old) const {
    if (!fresh(old))
      return false;
    if (old & many_warps)
      return true;
    if (old >> stamp_shift == stamp)
      return (old & many_lanes) != 0 || (old & (many_lanes - 1)) != lane;
    const std::uint32_t other = clock.warp_of(old >> stamp_shift);
    return other != warp && !(seen && old >> stamp_shift < seen[other]);
  }

  /// The new read entry after the current thread reads. `old` is the entry before.
  std::uint32_t after_read(std::uint32_t old) const {
    if (!fresh(old))
      return entry();
    if (old & many_warps)
      return old;
    if (old >> stamp_shift == stamp)
      return (old & (many_lanes - 1)) == lane ? old : old | many_lanes;
    return clock.warp_of(old >> stamp_shift) == warp ? entry() : old | many_warps;
  }
};

/// A shadow entry of global memory has the block number plus one in its upper 32 bits, and an entry as
/// described above in its lower 31 bits. The entry 0 means that no access has occurred. Accesses of different
/// blocks are ordered only by arrivals at counters (arrivals.h); otherwise, an entry of another block conflicts
/// for every stamp. The flag `many_blocks` states that other blocks also read the element.
inline constexpr std::uint64_t many_blocks = std::uint64_t{1} << 31;

inline std::uint64_t global_entry(std::uint64_t block, std::uint32_t entry) {
  return (block + 1) << 32 | entry;
}
inline std::uint64_t block_of(std::uint64_t entry) { return (entry >> 32) - 1; }
inline std::uint32_t local_entry(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry & (many_blocks - 1));
}

} // namespace nestsmith::sim
