#pragma once
/// The unit of work of the passes: one nest. It is a program before the pass `extract` and a kernel after it.

#include "dsl/ir/fill_tails.h"
#include "dsl/schedule/schedule.h"
#include "lowering/kernel.h"

#include <map>
#include <variant>
#include <vector>

namespace nestsmith {

struct Unit {
  const Schedule &schedule;
  /// One top-level nest of the schedule's program; the kernel that `extract` made of it.
  std::variant<Program, kernel::Kernel> nest;
  bool shares_launch = false;          ///< the nest becomes a part of the kernel of the nest before it
  std::map<Var, Var> copied_from = {}; ///< for each loop that `lower_init` made: the loop that it copied

  bool extracted() const { return std::holds_alternative<kernel::Kernel>(nest); }
  Program &program() { return std::get<Program>(nest); }
  const Program &program() const { return std::get<Program>(nest); }
  kernel::Kernel &kernel() { return std::get<kernel::Kernel>(nest); }
  const kernel::Kernel &kernel() const { return std::get<kernel::Kernel>(nest); }
};

/// Splits a program into one program per top-level nest, in order. Each new program has the parameters, global
/// temporaries and scalars that its nest uses. The program of a single nest has all parameters and scalars.
std::vector<Program> split_nests(const Program &program);

/// The passes. Each is in its own file; lowering/lower.cpp lists them in execution order.

/// Throws ScheduleError for the first open obligation.
void check_obligations(Unit &unit);

/// Moves every init to a new block before the outermost reduction loop.
void lower_init(Unit &unit);

/// Fills caches with zeros past the end of their source, and removes the guards that their readers then do not
/// need (dsl/ir/fill_tails.h).
inline void fill_tails(Unit &unit) { unit.program() = with_filled_tails(unit.program()); }

/// Replaces bound loops by thread and block indices, and blocks by stores. Shrinks each temporary to the part
/// that is live at the same time, and lets shared temporaries that are not live at the same time lie in the
/// same memory (dsl/hardware/shared_plan.h). Loops that are bound to the same axis become one index. Generates
/// the prologue and the steady state of pipelined loops. A nest with loops that end earlier (`ShortenedLoop` of
/// dsl/ir/skip_tiles.h) has a kernel for each number of iterations; they share a launch.
void extract(std::vector<Unit> &units);

namespace kernel {

/// Splits each partitioned loop into parts: full tiles, which need no guards, and the partial tile. If masks
/// hold only in the middle of the loop, there is a part for each edge. Then leaves out what no part of a
/// pipelined loop needs (lowering/parts_of_pipelines.h).
void partition(Unit &unit);

/// Inserts a barrier between two accesses to shared memory if a thread reads an element that another thread
/// wrote, or overwrites an element that another thread may still read, also if the element is one of another
/// buffer in the same memory. The pass distinguishes the copies of a
/// tile that different iterations of a pipelined loop use. For a buffer that no two warps share, the barriers
/// are of the warp.
void insert_barriers(Unit &unit);

/// Moves each declaration outward to the first point at which its value is known. Merges equal declarations and
/// removes unused declarations.
void place_declarations(Unit &unit);

/// Moves guards out of loops and merges adjacent equal guards, but never across a barrier.
void hoist_guards(Unit &unit);

/// Replaces the indices of each access by one offset, and assigns shared buffers their offsets in the arena.
/// Replaces nests that a warp executes by calls, and arrays of tuples by an array for each part.
void flatten(Unit &unit);

/// Replaces vectorized loops by vector accesses, and tensorized loops of a thread by calls of functions. Proves
/// contiguity and alignment again for the final offsets. Then places the declarations again.
void vectorize(Unit &unit);

/// Joins the kernels of nests that share a launch (dsl/schedule/primitives/share_launch.h). The number of the
/// thread block selects the nest. Throws UserError (illegal_schedule) if they need more shared memory than a
/// thread block may have.
void share_launches(std::vector<Unit> &units);

/// A kernel that may start early awaits the kernel before it in its stream: first, or, if that one is of the
/// same plan, before the accesses that could meet those of it.
void await_kernel(std::vector<Unit> &units);

/// If the thread blocks of a cluster free slots of each other, no block ends before all of them: a barrier of
/// the cluster is the last statement.
void end_clusters(Unit &unit);

/// In a kernel with roles and matrix units, takes the offset of the source of each asynchronous copy apart: the
/// part that grows with the innermost serial loop, and the rest, which is the same in each iteration. The text
/// adds them to the pointer one after the other, so that the CUDA compiler keeps one pointer and offsets that
/// the loop does not change.
void step_sources(Unit &unit);

/// Narrows index arithmetic from i64 to i32 if every value provably fits.
void narrow_indices(Unit &unit);

/// Turns a store whose value is a `branch` (dsl/expr/expr.h) into an if with one store on each side.
void split_branches(Unit &unit);
/// Declares a variable for each operand that occurs several times in a large value (share_values.h).
void share_values(Unit &unit);

} // namespace kernel

} // namespace nestsmith
