#pragma once
/// Where a temporary lives and how much of it is alive at a time: computed from its accesses.

#include "dsl/region.h"

#include <vector>

namespace nestsmith {

/// Arrays in shared memory start at multiples of 16 bytes, the widest access there is.
inline constexpr std::int64_t shared_alignment = 16;

struct Placement {
  Buffer buffer;
  std::vector<const For *> loops; ///< around every access, outermost first
  Region region;                  ///< the box that is touched in one iteration of them
  std::int64_t elements = 1;      ///< that the box takes in memory, with what its layout pads

  std::vector<std::int64_t> box() const; ///< the extents of `region`
};

/// For a local buffer the box is one thread's; for a shared one it holds what all threads of a block touch.
Placement place(const Program &program, const Buffer &buffer);

/// The top-level nests, in order: each becomes a kernel.
std::vector<Stmt> nests_of(const Stmt &root);

/// Threads of a block: the product of the extents that are bound to thread axes, in the nest with the most.
std::int64_t threads_of(const Program &program);

} // namespace nestsmith
