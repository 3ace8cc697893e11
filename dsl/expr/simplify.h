#pragma once
/// Index arithmetic: canonical forms, ranges and proofs over floor division and floor modulo.

#include "dsl/expr/expr.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace nestsmith {

/// The integers from `low` to `high`, both inclusive.
struct Range {
  std::int64_t low, high;
};

/// Known ranges of variables. A size has the range that its symbol states; any other variable without an entry
/// may have any value.
class Bounds {
public:
  void set(const Var &var, Range range);
  /// Sets the range [0, extent). The extent is constant, an expression of sizes, or one whose range is known.
  void set_extent(const Var &var, const Expr &extent);
  std::optional<Range> find(const Var &var) const;
  /// The extent of the variable if the extent is an expression of sizes, otherwise null.
  const Expr *find_extent(const Var &var) const {
    auto it = extents_.find(var);
    return it == extents_.end() ? nullptr : &it->second;
  }
  /// Whether a variable has an extent that is an expression of sizes.
  bool has_extents() const { return !extents_.empty(); }

private:
  std::vector<std::pair<Var, Range>> ranges_; ///< a vector, because there are few entries and they change often
  std::map<Var, Expr> extents_;
};

/// base // div % mod; mod 0 means no modulo.
struct Digit {
  Expr base;
  std::int64_t div = 1, mod = 0;

  bool is_base() const { return div == 1 && mod == 0; }
  /// The variable, if the digit is one: no quotient and no remainder of it. Otherwise null.
  const Var *as_var() const { return is_base() ? base.as<Var>() : nullptr; }
};
struct Term {
  std::int64_t coefficient;
  Digit digit;
};
/// The canonical form of an integer expression: a sum of terms in a fixed order, and a constant.
struct Linear {
  std::vector<Term> terms;
  std::int64_t constant = 0;
};

Linear linearize(const Expr &e, const Bounds &bounds);
/// A variable plus a constant.
struct ShiftedVar {
  Var var;
  std::int64_t shift;
};
/// None if the canonical form of the expression has other terms, or another coefficient than 1.
std::optional<ShiftedVar> as_shifted_var(const Expr &e);
Expr to_expr(const Linear &linear, DType dtype = DType::i64);

/// Whether the expression depends on sizes only, so its value is constant during a launch and unknown before
/// it.
bool is_of_sizes(const Expr &e);

/// Returns an equal expression in canonical form, as far as the rules apply. Two quasi-affine expressions with
/// the same value have the same canonical form. Floating-point operations are not changed.
///
/// Index arithmetic does not overflow. Arithmetic on integer data (`ExprNode::data`) wraps around, so x + 1 < x
/// is not simplified for data, but x + 1 - x is 1.
Expr simplify(const Expr &e, const Bounds &bounds = {});

/// The smallest range that the rules can prove to contain every value of the expression. None if the rules
/// prove no bound.
std::optional<Range> range_of(const Expr &e, const Bounds &bounds);
std::optional<Range> range_of(const Linear &linear, const Bounds &bounds);
std::optional<Range> range_of(const Digit &digit, const Bounds &bounds);
/// The range of the result of an operator on bits (`is_bitwise`) of two numbers of this type, of which none is
/// known where the range is absent. None if a left shift may drop bits, or if nothing is known of the result.
std::optional<Range> range_of_bits(BinaryOp op, DType type, std::optional<Range> x, std::optional<Range> y);
/// A range by interval arithmetic alone, which is fast and often sufficient. `of_var` gives the ranges of the
/// variables. Returns none if the expression is not a sum, product, quotient or remainder of index arithmetic.
std::optional<Range> rough_range(const Expr &e, FunctionRef<std::optional<Range>(const Var &)> of_var);
std::optional<Range> rough_range(const Expr &e, const Bounds &bounds);
/// Whether the rules prove that the condition is always true. If the result is false, the condition can be true
/// or false.
bool proves(const Expr &condition, const Bounds &bounds);

/// An upper bound of `e` as an expression of sizes. To compute it, each variable whose extent depends on sizes
/// is replaced by its last value. The result is a constant if `e` does not depend on sizes, and none if the
/// rules prove no bound.
std::optional<Expr> highest(const Expr &e, const Bounds &bounds);

} // namespace nestsmith
