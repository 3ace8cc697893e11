#pragma once
/// Software pipelining: the order in which the nests of a pipelined loop execute, the dependences that an order
/// must keep, and the number of live copies of each temporary.
///
///     for k < n pipelined [A_shared: 0, AB: 1]:          A_shared of k = 0
///       A_shared: …                                      for k < n:
///       AB: … A_shared …                        =>         if (k + 1 < n) A_shared of k + 1
///                                                          AB of k
///
/// A nest of stage s executes iteration t - s in step t; within a step the nests execute by their orders. A
/// program keeps its sequential meaning: only extraction generates the right-hand side.

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

/// The children of a pipelined loop in the order in which they execute within a step.
std::vector<StagedNest> staged_nests(const For &loop);

/// A violated requirement of a pipeline.
struct PipelineBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/primitives/pipeline.h
  std::string message;     ///< for the diagnostic: the blocks, the buffer, the iterations, and the remedy
  std::vector<std::string> culprits;
  /// Every nest has a stage and an order, and a dependence that they violate is at fault.
  bool in_steps = false;
};

/// Checks a pipelined loop and returns the first breach:
///   - Every block below the loop has a stage, no other block has one, and blocks of one nest share theirs.
///   - A dependence within an iteration points forward in the steps.
///   - A dependence between iterations does too, for memory that all iterations share (a parameter, an
///     accumulator).
///   - No copy in registers is selected by the iteration, unless the loop is unrolled.
std::optional<PipelineBreach> find_pipeline_breach(const Program &program, const For &loop);
/// Checks all pipelined loops of a program.
std::optional<PipelineBreach> find_pipeline_breach(const Program &program);

/// Copies of a temporary. Iteration i of the pipelined loop uses copy i % count.
struct Slots {
  std::int64_t count = 1;
  Var loop; ///< null if there is one copy
};

/// The copies of a temporary whose accesses are all below `loops`, outermost first, and share no further loop.
/// In shared memory there is a copy for each iteration in flight, so that no copy is overwritten in the step in
/// which it is read. Registers have the fewest copies that the orders allow.
Slots slots_of(const Buffer &buffer, const std::vector<const For *> &loops);

} // namespace nestsmith
