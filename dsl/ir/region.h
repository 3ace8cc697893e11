#pragma once
/// Regions: the elements of a buffer that a block accesses while some of the enclosing loops vary. A region is
/// computed from the bindings when it is needed, and never stored.
///
/// Example. A block with the axes i = io*4 + ii and k = ko*8 + ki reads A[i, k]:
///
///     for io < 16: for ko < 32: for ii < 4: for ki < 8: block C(i = io*4 + ii, sum k = ko*8 + ki)
///
/// While ii and ki vary and io and ko are fixed, it reads the box [io*4, io*4 + 4) x [ko*8, ko*8 + 8): a tile
/// of 4 x 8 elements, for which `compute_at` makes a copy below ko. A read of A[2*i, k] would have the box
/// [io*8, io*8 + 7) x …, of which only every second row is read: the run {2, 4}.
///
/// The *digits* of i = io*4 + ii are io with scale 4 and ii with scale 1. Together the loops give each value of
/// i once, because the scales and the extents form a number without gaps: ii counts from 0 to 3, and 4 is the
/// scale of io. If ii had 5 iterations, i = 4 would come twice, as io = 0, ii = 4 and as io = 1, ii = 0, so the
/// binding would not be bijective.

#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"
#include "dsl/ir/whole_tiles.h"

#include <optional>
#include <vector>

namespace nestsmith {

/// The multiples 0, step, …, step*(count - 1).
struct Run {
  std::int64_t step, count;
  bool operator==(const Run &) const = default;
};

/// One dimension of a box: [min, min + extent). `min` may use the variables of the fixed loops. If only some
/// elements of this range are accessed, at regular distances, `runs` describes these elements: each is `min`
/// plus one multiple from each run. The run with the largest step comes first, and each step is larger than the
/// largest offset that the runs with smaller steps can produce. Without runs, every element of the range may be
/// accessed.
struct Span {
  Expr min;
  Expr extent;
  std::vector<Run> runs = {};
};
using Region = std::vector<Span>;

/// The ranges of the variables of all loops below `root`.
Bounds loop_bounds(const Stmt &root);

/// Rewrites `e` from the block's variables to the enclosing loops, by substituting the bindings.
Expr in_loops(const Expr &e, const Block &block, const Bounds &bounds);
/// The same for each index of an access.
std::vector<Expr> in_loops(const std::vector<Expr> &indices, const Block &block, const Bounds &bounds);

/// Whether an index of the element that the block writes depends on the axis.
bool indexes_result(const Block &block, const IterVar &iter);

/// Whether different iterations of `loop` contribute to the same sum: `axis` is a reduction axis, and the
/// position within the axis (its binding minus its first value) depends on `loop`.
bool sums_over(const Block &block, const IterVar &axis, const Var &loop);

/// A condition under which an access executes: value < extent. The value is an expression of loop variables. If
/// its variables are subtracted, the condition is a lower bound of them.
struct LoopGuard {
  Expr value;
  std::int64_t extent;
};
/// The conditions of a load with this mask, or of a store if the mask is null. Guards of axes that index the
/// buffer of the block are not among them, because the buffer may be padded.
std::vector<LoopGuard> loop_guards(const Block &block, const Expr &mask, const Bounds &bounds);
/// The conditions that end one dimension of an access, if the buffer is not padded there: the guards of the
/// axes in `index`, an index of the access in terms of the axes, and the extent of the dimension. If another
/// axis is guarded, its guard is not among them, because lowering may remove it (dsl/ir/fill_tails.h).
std::vector<LoopGuard> end_guards(const Block &block, const Expr &index, const Expr &extent, bool is_load,
                                  const Bounds &bounds);

/// The box that contains all values of `indices` (expressions of loop variables), while the variables for which
/// `varies` is true take all values of their ranges for which `guards` hold. If no bounds are known for a
/// dimension, the box has the full extent from `shape` in this dimension.
Region box(const std::vector<Expr> &indices, const std::vector<Expr> &shape,
           FunctionRef<bool(const Var &)> varies, const Bounds &bounds,
           const std::vector<LoopGuard> &guards = {});

/// The smallest box that contains `a` and `b`. If the distance between them is unknown in a dimension, the box
/// has the full extent in this dimension.
Region hull(const Region &a, const Region &b, const std::vector<Expr> &shape, const Bounds &bounds);

/// One box that contains all reads of `buffer` by blocks below `stmt`. Returns none if there is no read. Every
/// dimension that `tiles` does not contain ends where the accesses end; without `tiles`, the box has the whole
/// tiles of the loops.
std::optional<Region> region_read(const Stmt &stmt, const Buffer &buffer, FunctionRef<bool(const Var &)> varies,
                                  const Bounds &bounds, const WholeTiles *tiles = nullptr);
/// The same for writes.
std::optional<Region> region_written(const Stmt &stmt, const Buffer &buffer,
                                     FunctionRef<bool(const Var &)> varies, const Bounds &bounds,
                                     const WholeTiles *tiles = nullptr);

/// A value of loops that is at least 0 and less than the extent wherever a block executes: the binding of a
/// guarded axis.
struct GuardedValue {
  Expr value, extent;
};

/// Whether the values of `exprs` determine the values of `wanted` in the iterations in which the guards hold,
/// while all loops vary except the loops for which `fixed` is true. The function decomposes each expression
/// into digits that do not overlap, so that the values of the expressions determine these digits. The known
/// digits of each wanted variable, or of a sum that uses it, must then determine its value. The result is
/// conservative: false if the function cannot show this. Loops of extent 1 are ignored.
bool determine(const std::vector<Expr> &exprs, const std::vector<Var> &wanted,
               FunctionRef<bool(const Var &)> fixed, const Bounds &bounds,
               const std::vector<GuardedValue> &guards = {});

} // namespace nestsmith
