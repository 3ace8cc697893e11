#pragma once
/// The copy of a part of the iterations of a loop, for the pass `partition`.

#include "dsl/expr/simplify.h"
#include "lowering/kernel.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace nestsmith::kernel {

/// Copies code for a subset of the iterations. The copy has new variables, and it omits the conditions that
/// hold in all of these iterations.
class PartRewriter {
public:
  PartRewriter(Bounds bounds, bool separate) : separate(separate), bounds_(std::move(bounds)) {}

  bool separate; ///< counts the parts of a mask; otherwise a mask counts once

  /// Conditions on the block that hold in these iterations: results of `conditions_of_blocks`.
  void assume(std::vector<Expr> conditions, std::set<Var> blocks);

  void replace(const Var &var, const Expr &value) { values_[var] = value; }
  /// The number of remaining conditions: guards and masks, or their parts.
  std::int64_t conditions = 0;
  /// Whether a remaining condition depends on the variable.
  bool depends_on(const Var &var) const;

  /// For each remaining condition, one on these indices of the block under which it holds in all iterations.
  std::vector<Expr> conditions_of_blocks(const std::set<Var> &blocks) const;

  /// Null if nothing remains.
  Stmt rewrite(const Stmt &stmt);

  /// Below a condition `x < c` or `x / d < c`, where c and d are constants, the range of x is shorter.
  void assume(const Expr &condition);

  /// A declaration that stays outside of the copy, which uses its variable.
  void enter(const Declare &declare);

  /// Rewrites the body of a guard or a loop. Null if only declarations remain.
  Stmt rewrite_body(const Stmt &stmt);

private:
  static bool does_something(const Stmt &stmt);
  Stmt rewrite_parts(const Stmt &stmt);
  Var fresh(const Var &var);
  Expr rewrite(const Expr &e);
  Expr without_mask(const Expr &e);
  void note(const Expr &left);

  /// The conjuncts of `condition` that are not proved to hold; the constant true if all conjuncts are proved.
  Expr left_of(const Expr &condition) const;
  bool is_assumed(const Expr &condition) const;

  /// Of tile*64 + thread + 32*n < 1000, for example, this is tile*64 < 905, if thread is less than 32 and n
  /// less than 2. Adds nothing for other conditions.
  void add_conditions(const Expr &condition, const std::set<Var> &blocks, std::vector<Expr> &found) const;

  /// Substitutes the definitions of declared variables. Comparisons with sizes need this, because the intervals
  /// of the variables are not precise enough.
  Expr expanded(const Expr &e) const;
  Stmt rewrite_branch(const If &x, const Origin &origin);

  Bounds bounds_;
  std::map<Var, Expr> values_, definitions_;
  std::vector<Expr> left_; ///< the remaining conditions
  std::vector<Expr> assumed_;
  std::set<Var> blocks_;
};

} // namespace nestsmith::kernel
