#pragma once
/// Pipelined loops in a kernel: the prologue, and the steady state with joined and spread loops
/// (dsl/ir/pipeline.h), from the list of the nests of a step.

#include "dsl/expr/function_ref.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"
#include "lowering/kernel.h"

#include <map>

namespace nestsmith {

/// The pass `extract`, as far as a pipeline uses it to emit its nests.
struct NestEmitter {
  const Program &program;
  FunctionRef<kernel::Stmt(const Stmt &)> emit;
  std::map<Var, Expr> &loops; ///< the values of the loops of the program
  Bounds &bounds;
  bool &issues; ///< inside of a nest that only issues asynchronous copies
  bool once;    ///< no loop of the kernel is around the pipelined one
};

/// The statements of a pipelined loop. `made` is its steady state, without a body.
kernel::Stmt emit_pipeline(const For &loop, kernel::Loop made, NestEmitter nests);

} // namespace nestsmith
