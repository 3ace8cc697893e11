#pragma once
/// Translates expressions of dsl/expr/expr.h to polynomials and formulas. The integers have no bounds. A
/// separate claim proves that values fit in 32 or 64 bits (tests/proofs/kernel_proof.h).

#include "dsl/expr/simplify.h"
#include "tests/proofs/prover.h"

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace nestsmith::proofs {

class Translator {
public:
  /// `meet` is called for each variable without a value. It may set the value, or assume facts about the
  /// variable.
  explicit Translator(Prover &prover, std::function<void(Translator &, const Var &)> meet = {})
      : prover_(prover), meet_(std::move(meet)) {}

  Prover &prover() { return prover_; }
  void set(const Var &var, Poly value) { values_[var] = std::move(value); }
  /// Returns a new unknown. A size has its stated range.
  Poly define(const Var &var);
  Poly define(const Var &var, Range range); ///< a new unknown in this range

  Poly integer(const Expr &e);      ///< of an index; loaded values are unknowns
  Formula condition(const Expr &e); ///< of a boolean; comparisons of data are unknowns

  /// Whether two expressions of any type have the same value. Expressions of data must have the same structure,
  /// except for index arithmetic and for choices and masks that are decided.
  Verdict equal(const Expr &a, const Expr &b);

private:
  Poly value(const Var &var);
  std::optional<Poly> field(const Binary &op);
  std::optional<Poly> disjoint(const Binary &op);
  Poly arithmetic(const Binary &op);
  /// Returns the unknown for this expression. Equal expressions have the same unknown.
  Poly unknown(const Expr &e);
  bool alike(const Expr &a, const Expr &b);
  Verdict equal_data(const Expr &a, const Expr &b);
  bool decided(const Expr &condition, bool value);

  Prover &prover_;
  std::function<void(Translator &, const Var &)> meet_;
  std::map<Var, Poly> values_;
  std::vector<std::pair<Expr, Poly>> unknowns_;
};

} // namespace nestsmith::proofs
