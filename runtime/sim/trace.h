#pragma once
/// Replays of the blocks in which a race was seen, with both sides of it written down.

#include "runtime/sim/machine.h"

#include <map>
#include <unordered_map>

namespace nestsmith::sim {

/// One access of one thread, remembered.
struct Trace {
  const Access *access;
  std::uint64_t block;
  std::uint32_t thread, stamp;
  std::int64_t element;
  std::vector<std::int64_t> iteration;
};

/// Two accesses that race. Those of one block stand in the order of the program: as one thread would make them.
struct RacePair {
  Trace first, second;
};

class Tracer {
public:
  /// Forgets shared memory, which a new block starts without.
  void start_block();
  /// One lane accesses one element of shared or global memory.
  void note(const Warp &w, const Access &access, std::uint32_t lane, std::int64_t element);
  /// One pair for each pair of statements and order of the two: of threads as far apart as there are, since
  /// that says which barrier is missing.
  const std::vector<RacePair> &pairs() const { return pairs_; }

private:
  /// What a thread's last access through a source met: when, and after how many others.
  struct Met {
    std::uint32_t stamp;
    std::size_t others;
  };
  /// All that is remembered of one element or shadow unit; a thread's last access through each source.
  struct Element {
    std::vector<Trace> reads, writes;
    std::size_t noted = 0, stores = 0;           ///< accesses that were written down, and stores among them
    std::unordered_map<std::uint64_t, Met> last; ///< of (source, thread), to skip repetitions
    /// How many accesses there were that race with one of this kind.
    std::size_t others(bool is_store) const { return is_store ? noted : stores; }
  };
  void compare(const Warp &w, const std::vector<Trace> &earlier, const Trace &now);

  std::map<std::uint32_t, std::unordered_map<std::int64_t, Element>> global_; ///< by parameter
  std::unordered_map<std::int64_t, Element> shared_;                          ///< by unit
  std::map<std::pair<int, int>, std::size_t> seen_; ///< by sources, in order: the position among the pairs
  std::vector<RacePair> pairs_;
};

} // namespace nestsmith::sim
