#pragma once
/// Regions: which elements of a buffer a block touches as some of the loops around it vary. Computed
/// from the bindings, never stored.

#include "dsl/program.h"
#include "dsl/simplify.h"

#include <optional>
#include <vector>

namespace nestsmith {

/// The multiples step*0 … step*(count - 1).
struct Run {
  std::int64_t step, count;
  bool operator==(const Run &) const = default;
};

/// One dimension of a box: [min, min + extent). `min` may use the loops that are held fixed. Where the
/// touched elements have gaps of a regular form, `runs` tells which they are: min plus a sum of one multiple
/// of each run, the largest step first; a step is larger than the sum of all smaller multiples. No runs: all.
struct Span {
  Expr min;
  Expr extent;
  std::vector<Run> runs = {};
};
using Region = std::vector<Span>;

/// The ranges of all loop variables of a nest.
Bounds loop_bounds(const Stmt &root);

/// `e`, written in a block's variables, in terms of the loops around it.
Expr in_loops(const Expr &e, const Block &block, const Bounds &bounds);

/// Whether an axis of the block is a reduction that runs on from one iteration of `loop` to the next: what lies
/// before its first value does not count.
bool sums_over(const Block &block, const IterVar &axis, const Var &loop);

/// The box of `indices` (in loops) as the variables that `varies` names run through their ranges.
/// A dimension that has no such box is taken whole, from `shape`.
Region box(const std::vector<Expr> &indices, const std::vector<Expr> &shape,
           FunctionRef<bool(const Var &)> varies, const Bounds &bounds);

/// The smallest box around both; a dimension whose difference is unknown is taken whole.
Region hull(const Region &a, const Region &b, const std::vector<Expr> &shape, const Bounds &bounds);

/// All reads of `buffer` by blocks below `stmt`, as one box; none where there is no read.
std::optional<Region> region_read(const Stmt &stmt, const Buffer &buffer, FunctionRef<bool(const Var &)> varies,
                                  const Bounds &bounds);
/// The same for writes.
std::optional<Region> region_written(const Stmt &stmt, const Buffer &buffer,
                                     FunctionRef<bool(const Var &)> varies, const Bounds &bounds);

/// A digit of a loop variable inside a binding: scale * (var // div % extent). `div` and `extent` are constants
/// or of sizes.
struct LoopDigit {
  Var var;
  Expr div, extent;
  std::int64_t scale;
};
/// The binding as a sum of digits, or none where it is not quasi-affine.
std::optional<std::vector<LoopDigit>> loop_digits(const Expr &binding, const Bounds &bounds);

/// True where the bindings give every point of their product space exactly once as the loops run: each
/// is an exact mixed-radix number, and together they use each digit of each loop once. Loops of extent 1
/// do not count.
bool bijective(const std::vector<Expr> &bindings, const std::vector<const For *> &loops, const Bounds &bounds);

/// True where equal values of `exprs` mean equal values of `wanted`, as all loops but the `fixed` ones run:
/// each sum is taken apart into digits that cannot run into each other, and those give back what they are
/// digits of. Loops of extent 1 do not count.
bool determine(const std::vector<Expr> &exprs, const std::vector<Var> &wanted,
               FunctionRef<bool(const Var &)> fixed, const Bounds &bounds);

} // namespace nestsmith
