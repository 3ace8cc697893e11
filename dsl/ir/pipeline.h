#pragma once
/// Software pipelining: the order in which the nests of a pipelined loop execute, the dependences that this
/// order must preserve, and the number of copies of each temporary.
///
///     for k < n pipelined [A_shared: 0, AB: 1]:          A_shared of k = 0
///       A_shared: …                                      for k < n:
///       AB: … A_shared …                        =>         if (k + 1 < n) A_shared of k + 1
///                                                          AB of k
///
/// In step t of the pipeline, a nest of stage s executes iteration t - s. Within a step, the nests execute in
/// ascending `order`. The program itself keeps its sequential form (left). The lowering pass `extract`
/// generates the pipelined form (right).

///
/// A pipelined loop inside of a nest of the last stage can be *joined* with the loop around it: then the steps
/// of both are one sequence. The last steps of one iteration of the outer loop execute the prologue of the
/// inner loop for the next iteration:
///
///     for k < n pipelined […]:                          …; F of 0, 0
///       A_shared: …                                     for k < n:
///       for j < m pipelined [F: 0, P: 1] joined:          A_shared of a later iteration
///         F: … A_shared …                         =>      for j < m - 1: F of k, j + 1; P of k, j
///         P: … F …                                        if (k + 1 < n) F of k + 1, 0
///                                                         P of k, m - 1

#include "dsl/ir/program.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A direct child of a pipelined loop, with its stage and its order within a step.
struct StagedNest {
  Stmt stmt;
  std::int64_t stage, order;
};

/// The children of a pipelined loop in the order in which they execute within a step.
std::vector<StagedNest> staged_nests(const For &loop);
/// The last stage. Its nests execute iteration t - last_stage in step t, and all others run ahead.
std::int64_t last_stage(const std::vector<StagedNest> &nests);

/// A nest of a pipeline, or of the loop that is joined with it.
struct StepNest {
  StagedNest
      nest; ///< stage and order of the pipeline; a nest of the joined loop has the stage of that loop's nest
  std::optional<std::int64_t> inner_stage =
      std::nullopt; ///< of a nest of the joined loop: the stage in that loop
  const For *spread =
      nullptr; ///< the outermost loop, if its iterations are spread over the steps of the joined loop
};

/// A step of a pipeline as one list of nests.
struct PipelineStep {
  std::vector<StepNest> nests; ///< in the order in which they execute
  const For *joined = nullptr; ///< the joined loop; null if there is none
  /// The steps of the joined loop execute the nests from this one on: first its nests that run ahead, then the
  /// nests of the pipeline with a later order, then its nests of the last stage.
  std::size_t begin_of_joined = 0;
  std::int64_t last_stage = 0, last_inner = 0; ///< of the pipeline; of the joined loop
};
PipelineStep pipeline_step(const For &loop);

/// A violated requirement of a pipeline.
struct PipelineBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/schedule/primitives/pipeline.h
  std::string message;     ///< for the diagnostic: names the blocks, the buffer, the iterations, and the remedy
  std::vector<std::string> culprits; ///< names of the blocks and loops to underline
  /// True if the stages and the orders are well-formed, and a dependence or the register copies cause the
  /// breach.
  bool in_steps = false;
};

/// Checks a pipelined loop and returns the first breach:
///   - Every block below the loop has a stage, and no other block has a stage. The blocks of one nest have the
///     same stage and the same order.
///   - The source of each dependence within an iteration executes before its destination.
///   - For memory that all iterations share (a parameter, an accumulator), the same holds for each dependence
///     between different iterations.
///   - A temporary in registers has one copy, or the loop is unrolled, because registers cannot be indexed.
std::optional<PipelineBreach> find_pipeline_breach(const Program &program, const For &loop);
/// Checks all pipelined loops of a program.
std::optional<PipelineBreach> find_pipeline_breach(const Program &program);

/// Checks a joined loop, and returns the first breach, with a tag of dsl/schedule/primitives/join_pipelines.h:
///   - It is a direct child of a pipelined loop, in which its nest has the last stage.
///   - The nests with a later order, which execute before its last steps, conflict with none of its blocks.
///   - It has more iterations than stages - 1, and whole rounds of the copies of its registers.
///   - A nest before its last stage writes registers that only this loop uses. What it reads is written in this
///     loop, or by an earlier stage of the outer loop, or by no block.
std::optional<PipelineBreach> find_join_breach(const Program &program, const For &inner);

/// Checks a spread loop, and returns the first breach, with a tag of dsl/schedule/primitives/spread.h:
///   - It is the outermost loop of a nest of a pipelined loop, and this nest has a later order than that of a
///     joined loop.
///   - The nests with an order in between, before which its parts execute, do not conflict with it.
std::optional<PipelineBreach> find_spread_breach(const Program &program, const For &loop);

/// The copies of a temporary. Iteration i of the pipelined loop `loop` uses copy i % count.
struct Slots {
  std::int64_t count = 1;
  Var loop; ///< null if there is one copy
};

/// The copies of a temporary. `loops` are all loops that enclose every access to it, outermost first. In shared
/// memory, there is one copy for each iteration whose data is live at the same time, so that no step overwrites
/// a copy that it also reads, or that calls in flight read. In registers, there are as few copies as the orders
/// allow. There are no more copies than iterations: of the pipelined loop, or, if a role fills the copies, of
/// all loops of the kernel, because the role goes on with the next iteration of a loop around it.
Slots slots_of(const Buffer &buffer, const std::vector<const For *> &loops, bool of_role = false);

/// The iterations of these loops in a thread: the product of the extents of those that are bound to no axis.
/// None if it is known only at launch, or does not fit in 64 bits.
std::optional<std::int64_t> iterations_of(const std::vector<const For *> &loops);

} // namespace nestsmith
