#pragma once
/// What code touches of shared memory between barriers, and which hazards lie between two stretches of it.

#include "lowering/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::kernel {

/// Which copy of a buffer: number (loop + at) % count, or the constant `at` where `loop` is null.
struct Slot {
  Var loop;
  std::int64_t at, count;
  bool operator==(const Slot &) const = default;
};

/// Iterations 0 to `at` of a loop: those in which a guard lets a statement run. None where `at` is negative.
struct Until {
  Var loop;
  std::int64_t at;
  bool operator==(const Until &) const = default;
};

/// A shared buffer, or the copy of it that is known, touched by a statement that stores to `by`.
struct Access {
  Buffer buffer;
  std::optional<Slot> slot;
  std::string by;
  std::optional<Until> until = std::nullopt; ///< in these iterations only
  bool operator==(const Access &) const = default;
};

/// What a stretch of code touches.
struct Accesses {
  std::vector<Access> reads, writes;

  static void add(std::vector<Access> &list, const Access &access);
  void join(const Accesses &other);
  /// The same under a guard. An access has one limit: that of the innermost guard.
  Accesses guarded(const Until &until) const;
  /// The same, made so many iterations of the loop later.
  Accesses later(const Var &loop, std::int64_t distance) const;
  /// Seen from outside of the loop: in its iteration `at`, or in any where that is none.
  Accesses outside(const Var &loop, std::optional<std::int64_t> at) const;
};

/// A loop whose later iteration makes the second access.
struct Later {
  Var loop; ///< null: the same iteration of all loops around both
  std::int64_t distance = 0;
};

/// What is written before and read after, or read before and written after. Two writes of one copy are no
/// hazard: the blocks that write it run one after the other over the same elements in the same threads (an init
/// and its update), or each element once.
std::vector<Hazard> hazards_between(const Accesses &before, const Accesses &after, const Later &later = {});

/// Adds those that are not known yet. One that is known between the same statements stays as it is: the
/// iterations that are closest together are met first.
void add_hazards(std::vector<Hazard> &known, const std::vector<Hazard> &more);

/// For a comment: "A_shared, B_shared: written above, read below by AB". A reader that is named after the
/// buffer, as the registers that an element goes to are, is left out.
std::string describe(const std::vector<Hazard> &hazards);

} // namespace nestsmith::kernel
