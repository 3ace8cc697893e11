#pragma once
/// Index arithmetic: canonical forms, ranges and proofs over floor division and floor modulo.

#include "dsl/expr.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace nestsmith {

/// All integers from `low` to `high`, both included.
struct Range {
  std::int64_t low, high;
};

/// What is known of variables. A variable that is not in it may have any value, but for a size, which has
/// what its symbol states.
class Bounds {
public:
  void set(const Var &var, Range range);
  /// [0, extent), where the extent is constant or an expression of sizes.
  void set_extent(const Var &var, const Expr &extent);
  std::optional<Range> find(const Var &var) const;
  /// The extent of a variable that has one which is an expression of sizes, or null.
  const Expr *find_extent(const Var &var) const {
    auto it = extents_.find(var);
    return it == extents_.end() ? nullptr : &it->second;
  }

private:
  std::vector<std::pair<Var, Range>> ranges_; ///< few, and made anew often
  std::map<Var, Expr> extents_;
};

/// coefficient * base // div % mod; mod 0 stands for no modulo.
struct Digit {
  Expr base;
  std::int64_t div = 1, mod = 0;
};
struct Term {
  std::int64_t coefficient;
  Digit digit;
};
/// The canonical form of an integer expression: terms in a fixed order, plus a constant.
struct Linear {
  std::vector<Term> terms;
  std::int64_t constant = 0;
};

Linear linearize(const Expr &e, const Bounds &bounds);
Expr to_expr(const Linear &linear, DType dtype = DType::i64);

/// An equal expression in canonical form, as far as the rules reach: two equal quasi-affine expressions
/// come out the same. Floating point is left as it is.
Expr simplify(const Expr &e, const Bounds &bounds = {});

/// The smallest interval that the rules can show to hold every value.
std::optional<Range> range_of(const Expr &e, const Bounds &bounds);
std::optional<Range> range_of(const Linear &linear, const Bounds &bounds);
std::optional<Range> range_of(const Digit &digit, const Bounds &bounds);
bool proves(const Expr &condition, const Bounds &bounds);

/// The largest value that `e` may have, in the sizes: variables of an extent are at their end. A constant where
/// no extent is of sizes. None where it is not known.
std::optional<Expr> highest(const Expr &e, const Bounds &bounds);

} // namespace nestsmith
