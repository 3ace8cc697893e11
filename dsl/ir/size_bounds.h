#pragma once
/// Bounds of index arithmetic as expressions of sizes, under the conditions of a mask.

#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"

#include <map>
#include <vector>

namespace nestsmith {

/// A conjunction of conditions. Where they hold, no slack is negative.
struct MaskCase {
  std::vector<Expr> slacks = {};
  std::vector<Expr> others = {}; ///< expressions in other conditions, such as one on data
};

/// The cases in which all conditions hold: a disjunction. If there are too many, one case of other conditions.
std::vector<MaskCase> cases_of(const std::vector<Expr> &conditions);

/// Whether a <= b for all values of the sizes in them, as far as the rules prove it.
bool at_most(const Expr &a, const Expr &b);

/// The bounds of expressions of the axes of one block.
class SizeBounds {
public:
  explicit SizeBounds(const Block &block);
  /// Uses the conditions that bound one axis by sizes.
  void narrow(const MaskCase &facts);

  /// The greatest value of an expression if `upper`, else its least value: a constant or an expression of
  /// sizes. Null if the rules find none.
  Expr bound(const Expr &e, bool upper) const;
  const Bounds &axes() const { return axes_; }

private:
  Expr bound_of_operator(const Binary &op, bool upper) const;
  Expr joined(const Expr &a, bool upper_a, const Expr &b, bool upper_b, BinaryOp op) const;
  Expr scaled(const Expr &e, const Expr &factor, bool upper) const;
  Expr remainder(const Expr &e, const Expr &divisor, bool upper) const;
  Expr with_cleared_bits(const Expr &e, const Expr &bits, bool upper) const;
  Expr with_changed_bits(const Expr &e, const Expr &bits, bool upper) const;

  Bounds axes_;
  std::map<Var, Expr> highest_, lowest_; ///< of each axis
};

} // namespace nestsmith
