#pragma once
/// Index arithmetic: canonical forms, ranges and proofs over floor division and floor modulo.

#include "dsl/expr.h"

#include <map>
#include <optional>

namespace nestsmith {

/// All integers from `low` to `high`, both included.
struct Range {
  std::int64_t low, high;
};

/// What is known of variables. A variable that is not in it may have any value.
class Bounds {
public:
  void set(const Var &var, Range range) { ranges_[var] = range; }
  /// [0, extent) where the extent is constant.
  void set_extent(const Var &var, const Expr &extent) {
    if (auto value = as_int(extent))
      ranges_[var] = {0, *value - 1};
  }
  std::optional<Range> find(const Var &var) const {
    auto it = ranges_.find(var);
    return it == ranges_.end() ? std::nullopt : std::optional(it->second);
  }

private:
  std::map<Var, Range> ranges_;
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
bool proves(const Expr &condition, const Bounds &bounds);

} // namespace nestsmith
