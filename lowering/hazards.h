#pragma once
/// Accesses to shared memory between barriers, and the hazards between two code regions.

#include "lowering/kernel.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace nestsmith::kernel {

/// The copy of a buffer that an access uses, if the buffer has several copies for a pipelined loop. The number
/// of the copy is (loop + at) % count, or `at` if `loop` is null.
struct Slot {
  Var loop;
  std::int64_t at, count;
  bool operator==(const Slot &) const = default;
};

/// The iterations 0, …, `last` of a loop, for which a guard is true. If `last` is negative, the guard is false
/// in every iteration.
struct FirstIterations {
  Var loop;
  std::int64_t last;
  bool operator==(const FirstIterations &) const = default;
};

/// An access to a shared buffer. `slot` is the accessed copy, or none if the copy is unknown. `by` is the
/// destination of the statement that makes the access; null for a wait.
struct SharedAccess {
  Buffer buffer;
  std::optional<Slot> slot;
  Buffer by;
  /// The access occurs only in these iterations; none: in every iteration.
  std::optional<FirstIterations> until = std::nullopt;
  /// A write by an asynchronous copy, at the wait for it. The copy may write from the moment when it is issued,
  /// so a hazard with an earlier read is one of that store, and not of the wait.
  bool landing = false;
  /// A sum reads the element that the same thread wrote. So the access meets only those to other buffers.
  bool own = false;
  bool operator==(const SharedAccess &) const = default;
};

/// The accesses of a code region.
struct Accesses {
  std::vector<SharedAccess> reads, writes;

  static void add(std::vector<SharedAccess> &list, const SharedAccess &access);
  void join(const Accesses &other);
  /// The accesses if they are under the guard `until`. If an access has a guard already, it keeps this inner
  /// guard only.
  Accesses guarded(const FirstIterations &until) const;
  /// The same accesses, shifted by `distance` iterations of `loop`.
  Accesses later(const Var &loop, std::int64_t distance) const;
  /// The accesses for code outside of the loop: the accesses in iteration `at` of the loop, or in any iteration
  /// if `at` is none.
  Accesses outside(const Var &loop, std::optional<std::int64_t> at) const;
};

/// The dependence distance from the first region to the second region: a loop and a number of its iterations.
struct Distance {
  Var loop; ///< null: the same iteration of all enclosing loops
  std::int64_t iterations = 0;
};

/// The shared buffers whose hazards are searched.
struct SearchedBuffers {
  std::set<Buffer> buffers;                        ///< between accesses to one of these
  std::set<std::pair<Buffer, Buffer>> overlapping; ///< between accesses to two buffers that share memory
};

/// The hazards between two regions, in symbols of the kernel. Two writes to the same copy of a buffer are not a
/// hazard. Either the two writing blocks are an init and its update, which execute in order in the same threads
/// for the same elements, or each element is written only once. Writes to two buffers that share memory are a
/// hazard.
std::vector<Hazard> hazards_between(const SearchedBuffers &searched, const Accesses &before,
                                    const Accesses &after, const Distance &distance = {});

/// Adds the hazards of `more` to `known`. If `known` already has a hazard with the same kind, buffers and
/// reader, this hazard is not replaced. So callers add the hazard with the smallest distance first.
void add_hazards(std::vector<Hazard> &known, const std::vector<Hazard> &more);

/// The arrays in global memory that the statements read and write, without duplicates. Counters of arrivals are
/// written.
struct UsedParameters {
  std::vector<Buffer> read, written;
};
UsedParameters used_parameters(const Stmt &root);
/// Whether the statements read or write one of the arrays.
bool uses_any(const Stmt &root, const std::vector<Buffer> &arrays);

/// The buffers and the loops of the program from which those of a kernel were made, by their origins. A symbol
/// without an origin stands for itself.
class OfProgram {
public:
  explicit OfProgram(const Kernel &kernel);
  Buffer operator()(const Buffer &buffer) const;
  Var operator()(const Var &loop) const;
  Hazard operator()(const Hazard &hazard) const; ///< of a hazard in symbols of the kernel

private:
  std::map<Buffer, Buffer> buffers_;
  std::map<Var, Var> loops_;
};

} // namespace nestsmith::kernel
