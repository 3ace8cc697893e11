#pragma once
/// Accesses to shared memory between barriers, and the hazards between two code regions.

#include "lowering/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::kernel {

/// The copy of a buffer that an access uses: number (loop + at) % count, or the constant `at` if `loop` is
/// null.
struct Slot {
  Var loop;
  std::int64_t at, count;
  bool operator==(const Slot &) const = default;
};

/// Iterations 0 to `at` of a loop, in which a guard executes a statement. A negative `at` means no iteration.
struct Until {
  Var loop;
  std::int64_t at;
  bool operator==(const Until &) const = default;
};

/// An access to a shared buffer, or to one copy of it if the copy is known. `by` is the buffer to which the
/// accessing statement stores.
struct Access {
  Buffer buffer;
  std::optional<Slot> slot;
  std::string by;
  std::optional<Until> until = std::nullopt; ///< only in these iterations
  bool operator==(const Access &) const = default;
};

/// The accesses of a code region.
struct Accesses {
  std::vector<Access> reads, writes;

  static void add(std::vector<Access> &list, const Access &access);
  void join(const Accesses &other);
  /// The accesses under a guard. An access keeps the limit of its innermost guard only.
  Accesses guarded(const Until &until) const;
  /// The accesses as made `distance` iterations of the loop later.
  Accesses later(const Var &loop, std::int64_t distance) const;
  /// The accesses as seen from outside of the loop: in its iteration `at`, or in any iteration if `at` is none.
  Accesses outside(const Var &loop, std::optional<std::int64_t> at) const;
};

/// The loop and the number of iterations by which the second access is later.
struct Later {
  Var loop; ///< null: the same iteration of all enclosing loops
  std::int64_t distance = 0;
};

/// The read-after-write and write-after-read hazards between two regions. Two writes to one copy are not a
/// hazard: either the blocks that write it execute in order over the same elements in the same threads (an init
/// and its update), or each element is written once.
std::vector<Hazard> hazards_between(const Accesses &before, const Accesses &after, const Later &later = {});

/// Adds hazards that are not in the list yet. If a hazard between the same statements is in the list, it stays
/// unchanged, so callers add those between the closest iterations first.
void add_hazards(std::vector<Hazard> &known, const std::vector<Hazard> &more);

/// Text for a comment: "A_shared, B_shared: written above, read below by AB". Omits a reader whose name begins
/// with the buffer's, such as the registers that an element is copied to.
std::string describe(const std::vector<Hazard> &hazards);

} // namespace nestsmith::kernel
