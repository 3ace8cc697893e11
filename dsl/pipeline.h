#pragma once
/// Pipelined loops: which nest runs when, what an order may not break, and how many copies of a temporary
/// are alive at a time.
///
///     for k < n pipelined [A_shared: 0, AB: 1]:          A_shared of k = 0
///       A_shared: …                                      for k < n:
///       AB: … A_shared …                        =>         if (k + 1 < n) A_shared of k + 1
///                                                          AB of k
///
/// The nest of stage s runs in step t for the iteration t - s; within a step the nests run by their orders.
/// A program keeps its sequential meaning: only extraction makes the right-hand side of it.

#include "dsl/program.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A direct child of a pipelined loop.
struct StagedNest {
  Stmt stmt;
  std::int64_t stage, order;
};

/// The children of a pipelined loop in the order in which they run in a step.
std::vector<StagedNest> staged_nests(const For &loop);

/// What keeps a pipeline from meaning what the loop means.
struct PipelineBreach {
  std::string message; ///< for a refusal: the blocks, the buffer, the pair of iterations, what to do
  std::vector<std::string> culprits;
  bool in_steps = false; ///< every nest has its stage and order; what they give is at fault
};

/// The first breach of a pipelined loop:
///   - every block below has a stage, and no other has; blocks of one nest share theirs;
///   - a dependence in one iteration runs forwards in the steps;
///   - so does one between iterations, for what all iterations share (a parameter, an accumulator);
///   - registers are not indexed by the iteration.
std::optional<PipelineBreach> find_pipeline_breach(const Program &program, const For &loop);
/// The same for all pipelined loops of a program.
std::optional<PipelineBreach> find_pipeline_breach(const Program &program);

/// Copies of a temporary, chosen by the iteration of a pipelined loop: copy `iteration % count`.
struct Slots {
  std::int64_t count = 1;
  Var loop; ///< null where there is one copy
};

/// For a temporary whose accesses all stand below `loops`, outermost first, and share no loop inside of them.
/// Shared memory has a copy for each iteration in flight, so that none is overwritten in the step in which it
/// is read; registers have as few as their orders allow.
Slots slots_of(const Buffer &buffer, const std::vector<const For *> &loops);

} // namespace nestsmith
