#pragma once
/// What the passes work on: one nest, as a program until extraction, a kernel from then on.

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

/// The top-level nests, in order, each as a program of its own. It takes the parameters, the global
/// temporaries and the scalars that it uses; the only nest of a program is that program.
std::vector<Program> split_nests(const Program &program);

/// The passes. Each has its file; lowering/lower.cpp has their order.

/// Throws ScheduleError for the first open obligation.
void check_obligations(Unit &unit);

/// Every init becomes a block of its own, before the outermost loop that is summed over.
void lower_init(Unit &unit);

/// As dsl/fill_tails.h says.
inline void fill_tails(Unit &unit) { unit.program = with_filled_tails(unit.program); }

/// Bound loops become indices, blocks become stores, temporaries shrink to the part that is alive.
/// Equal axes are merged. Pipelined loops get their prologue, and their earlier stages run ahead.
void extract(Unit &unit);

namespace kernel {

/// Partitioned loops become a part whose tiles are full, without guards, and a part for the edge.
void partition(Unit &unit);

/// A barrier wherever shared memory that one thread wrote is read by another, or what one still reads is
/// overwritten; no more. Copies of a tile for different iterations of a pipelined loop are told apart.
void insert_barriers(Unit &unit);

/// Each declaration moves out to where its value is first known; equal ones are merged, unused ones go.
void place_declarations(Unit &unit);

/// Guards move out of loops and join with their neighbours, never across a barrier.
void hoist_guards(Unit &unit);

/// One offset for each access; shared buffers get their place in the arena.
void flatten(Unit &unit);

/// Loops over lanes become vector accesses, and nests of an intrinsic become calls. What the obligations
/// promised is proved again here, on the offsets that are used.
void vectorize(Unit &unit);

/// Index arithmetic becomes i32 where the largest value provably fits, i64 elsewhere.
void narrow_indices(Unit &unit);

/// A store of a `branch` becomes an if with a store on each side.
void split_branches(Unit &unit);

} // namespace kernel

} // namespace nestsmith
