#pragma once
/// Pipelined loops in a kernel: the prologue, and the steady state with joined and spread loops
/// (dsl/ir/pipeline.h), from the list of the nests of a step.

#include "dsl/expr/function_ref.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"
#include "lowering/kernel.h"

#include <map>

namespace nestsmith {

/// The side of a channel (lowering/kernel.h) on which the nests of a pipelined loop are: those of one role.
struct ChannelSide {
  std::size_t channel;
  bool fills; ///< the role fills the tiles; otherwise it reads them
  std::int64_t slots, in_flight;
  std::vector<kernel::Hazard> filled,
      freed;               ///< certificates: the reads of the tiles, and the refills after them
  bool reused;             ///< a slot has more than one fill; otherwise nothing awaits that it is free
  bool copies, stores;     ///< of the role that fills: its threads have asynchronous copies, or others
  std::int64_t bulk_bytes; ///< and bulk copies bring these in each iteration
};

/// The pass `extract`, as far as a pipeline uses it to emit its nests.
struct NestEmitter {
  const Program &program;
  FunctionRef<kernel::Stmt(const Stmt &)> emit;
  std::map<Var, Expr> &loops; ///< the values of the loops of the program
  Bounds &bounds;
  bool &issues;                           ///< inside of a nest that only issues asynchronous copies
  bool once;                              ///< no loop of the kernel is around the pipelined one
  FunctionRef<Expr(const Expr &)> number; ///< the number of the fill of the tiles in an iteration
  std::vector<ChannelSide> sides = {};    ///< of the pipelined loop, if it has roles: one, or one for each role
};

/// The statements of a pipelined loop. `made` is its steady state, without a body.
kernel::Stmt emit_pipeline(const For &loop, kernel::Loop made, NestEmitter nests);

} // namespace nestsmith
