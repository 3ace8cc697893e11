#pragma once
/// Regions: the elements of a buffer that a block accesses while some of the enclosing loops vary. Computed
/// from the bindings, never stored.

#include "dsl/program.h"
#include "dsl/simplify.h"

#include <optional>
#include <vector>

namespace nestsmith {

/// The multiples 0, step, …, step*(count - 1).
struct Run {
  std::int64_t step, count;
  bool operator==(const Run &) const = default;
};

/// One dimension of a box: [min, min + extent). `min` may use the loops that are held fixed. If the accessed
/// elements have regular gaps, `runs` describes them: each element is `min` plus one multiple from each run.
/// The largest step comes first, and each step is larger than the sum of all smaller multiples. No runs: every
/// element.
struct Span {
  Expr min;
  Expr extent;
  std::vector<Run> runs = {};
};
using Region = std::vector<Span>;

/// The ranges of all loop variables below `root`.
Bounds loop_bounds(const Stmt &root);

/// Rewrites `e` from the block's variables to the enclosing loops, by substituting the bindings.
Expr in_loops(const Expr &e, const Block &block, const Bounds &bounds);

/// Whether different iterations of `loop` contribute to the same sum: the axis is a reduction, and its distance
/// from its first value depends on the loop.
bool sums_over(const Block &block, const IterVar &axis, const Var &loop);

/// The box of `indices`, expressions of loops, while the variables for which `varies` is true run through their
/// ranges. A dimension without such a box becomes the full extent from `shape`.
Region box(const std::vector<Expr> &indices, const std::vector<Expr> &shape,
           FunctionRef<bool(const Var &)> varies, const Bounds &bounds);

/// The smallest box that contains both. A dimension in which their distance is unknown becomes the full extent.
Region hull(const Region &a, const Region &b, const std::vector<Expr> &shape, const Bounds &bounds);

/// One box that contains all reads of `buffer` by blocks below `stmt`; none if there is no read.
std::optional<Region> region_read(const Stmt &stmt, const Buffer &buffer, FunctionRef<bool(const Var &)> varies,
                                  const Bounds &bounds);
/// Likewise for writes.
std::optional<Region> region_written(const Stmt &stmt, const Buffer &buffer,
                                     FunctionRef<bool(const Var &)> varies, const Bounds &bounds);

/// A digit of a loop variable in a binding: scale * (var // div % extent). `div` and `extent` are constants or
/// expressions of sizes.
struct LoopDigit {
  Var var;
  Expr div, extent;
  std::int64_t scale;
};
/// The binding as a sum of digits; none if it is not quasi-affine.
std::optional<std::vector<LoopDigit>> loop_digits(const Expr &binding, const Bounds &bounds);

/// Whether the loops produce every point of the bindings' product space exactly once: each binding is an exact
/// mixed-radix number, and together the bindings use each digit of each loop once. Loops of extent 1 are
/// ignored.
bool bijective(const std::vector<Expr> &bindings, const std::vector<const For *> &loops, const Bounds &bounds);

/// Whether the values of `exprs` determine the values of `wanted`, while all loops but the `fixed` ones vary.
/// Each expression is decomposed into digits that do not overlap, and the digits of a variable must determine
/// it. Conservative: false if this cannot be shown. Loops of extent 1 are ignored.
bool determine(const std::vector<Expr> &exprs, const std::vector<Var> &wanted,
               FunctionRef<bool(const Var &)> fixed, const Bounds &bounds);

} // namespace nestsmith
