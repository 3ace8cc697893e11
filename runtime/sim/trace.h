#pragma once
/// Records the accesses of a block, or of the blocks of a cluster, that is executed again because a race was
/// detected, and finds the pairs of racing accesses.

#include "runtime/sim/shadow.h"
#include "runtime/sim/warp.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace nestsmith::sim {

/// A recorded access of one thread.
struct Trace {
  const Access *access;
  std::uint64_t block;
  std::uint32_t thread, agent, stamp; ///< `agent`: the number of its warp in the cluster
  std::int64_t element;
  std::vector<std::int64_t> iteration;
};

/// An access, and the values of the loops around it.
struct Accessed {
  const Access *access;
  const std::vector<std::int64_t> &iteration;
};

/// The first loop around both accesses in whose iterations they differ, and the difference. The distance is 0
/// if the iterations of all common loops are the same.
struct Dependence {
  std::size_t depth; ///< 0: the outermost loop
  std::int64_t distance;
};
Dependence dependence(const DecodedKernel &decoded, const Accessed &a, const Accessed &b);

/// Two racing accesses. If both are in the same block, `first` is earlier in program order.
struct RacePair {
  Trace first, second;
};

class Tracer {
public:
  explicit Tracer(const DecodedKernel &decoded) : decoded_(decoded) {}

  /// Discards the recorded accesses to shared memory. `clock` is that of the block or its cluster, and counts
  /// on.
  void start_block(const Clock &clock);
  /// Records an access of one lane to one element of shared or global memory. `iteration`: that of the
  /// statement; null: the current one. `owner`: the block of the shared memory; none: that of the lane.
  void note(const Warp &w, const Access &access, std::uint32_t lane, std::int64_t element,
            const std::vector<std::int64_t> *iteration = nullptr, std::optional<std::uint64_t> owner = {});
  /// One pair of accesses for each ordered pair of statements. Among the recorded racing accesses of the two
  /// statements, this pair has the largest distance between its threads, because this distance shows which kind
  /// of barrier is missing; and among those, the smallest distance between its iterations.
  const std::vector<RacePair> &pairs() const { return pairs_; }

private:
  /// State at the last access of a thread from one source position: the stamp, and the number of earlier
  /// accesses that race with it.
  struct LastAccess {
    std::uint32_t stamp;
    std::size_t others;
  };
  /// The accesses to one element or shadow unit. For each thread and each source position, the first accesses
  /// and the last one are kept.
  struct Element {
    std::vector<Trace> reads, writes, updates; ///< `updates`: atomic operations
    std::size_t noted_reads = 0, noted_writes = 0, noted_updates = 0;
    std::unordered_map<std::uint64_t, LastAccess>
        last; ///< by source and thread; used to skip repeated accesses
    /// The number of recorded accesses that can race with the access. Loads do not race with loads, and atomic
    /// operations not with atomic operations.
    std::size_t others(const Access &access) const {
      bool reads = !access.is_store, updates = access.atomic;
      return noted_writes + (reads ? 0 : noted_reads) + (updates ? 0 : noted_updates);
    }
    std::vector<Trace> &same(const Access &access) {
      return access.atomic ? updates : access.is_store ? writes : reads;
    }
  };
  void compare(const std::vector<Trace> &earlier, const Trace &now, const std::uint32_t *seen);

  const DecodedKernel &decoded_;
  const Clock *clock_ = nullptr;
  std::map<std::uint32_t, std::unordered_map<std::int64_t, Element>> global_; ///< by parameter, then by element
  std::map<std::uint64_t, std::unordered_map<std::int64_t, Element>> shared_; ///< by block, then by shadow unit
  std::map<std::pair<int, int>, std::size_t> seen_; ///< for each ordered pair of sources: its index in `pairs_`
  std::vector<RacePair> pairs_;
};

} // namespace nestsmith::sim
