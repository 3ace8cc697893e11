#pragma once
/// The unit of work of the passes: one nest, a program until extraction and a kernel afterwards.

#include "dsl/fill_tails.h"
#include "dsl/schedule.h"
#include "lowering/kernel.h"

#include <vector>

namespace nestsmith {

struct Unit {
  const Schedule &schedule;
  Program program; ///< one top-level nest of the schedule's program
  kernel::Kernel kernel;
  bool extracted = false;
};

/// Splits a program into one program per top-level nest, in order. Each takes the parameters, global
/// temporaries and scalars that it uses. A program of one nest is returned unchanged.
std::vector<Program> split_nests(const Program &program);

/// The passes. Each is in its own file; lowering/lower.cpp lists them in execution order.

/// Throws ScheduleError for the first open obligation.
void check_obligations(Unit &unit);

/// Moves every init to a block of its own before the outermost reduction loop.
void lower_init(Unit &unit);

/// Fills caches with zeros past the end of their source, and removes the guards that their readers then do not
/// need (dsl/fill_tails.h).
inline void fill_tails(Unit &unit) { unit.program = with_filled_tails(unit.program); }

/// Turns bound loops into indices and blocks into stores, shrinks temporaries to their live part, and merges
/// loops on the same axis. Generates the prologue and the steady state of pipelined loops.
void extract(Unit &unit);

namespace kernel {

/// Splits partitioned loops into a part with full tiles, without guards, and a part for the partial tile.
void partition(Unit &unit);

/// Inserts a barrier exactly where a thread reads shared memory that another thread wrote, or overwrites memory
/// that another thread may still read. Distinguishes the copies of a tile for different iterations of a
/// pipelined loop.
void insert_barriers(Unit &unit);

/// Moves each declaration outward to the first point at which its value is known. Merges equal declarations and
/// removes unused ones.
void place_declarations(Unit &unit);

/// Moves guards out of loops and merges adjacent equal guards, but never across a barrier.
void hoist_guards(Unit &unit);

/// Replaces the indices of each access by one offset, and assigns shared buffers their offsets in the arena.
void flatten(Unit &unit);

/// Turns vectorized loops into vector accesses and tensorized nests into calls. Proves contiguity and alignment
/// again on the final offsets.
void vectorize(Unit &unit);

/// Narrows index arithmetic to i32 where the largest value provably fits; it is i64 elsewhere.
void narrow_indices(Unit &unit);

/// Turns a store of a `branch` into an if with one store on each side.
void split_branches(Unit &unit);
/// Operands that a large value shares are declared before its statement (share_values.h).
void share_values(Unit &unit);

} // namespace kernel

} // namespace nestsmith
