#pragma once
/// Expressions of dsl/expr/expr.h as polynomials and formulas. Integers have no bounds here: that what is
/// computed in 32 or 64 bits fits is a claim of its own (tests/proofs/kernel_proof.h).

#include "dsl/expr/simplify.h"
#include "tests/proofs/prover.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace nestsmith::proofs {

class Translator {
public:
  /// `meet` is called for each variable that has no value yet, and may set one or assume what is known of it.
  explicit Translator(Prover &prover, std::function<void(Translator &, const Var &)> meet = {})
      : prover_(prover), meet_(std::move(meet)) {}

  Prover &prover() { return prover_; }
  void set(const Var &var, Poly value) { values_[var] = std::move(value); }
  /// A new unknown; of a size with what its symbol states.
  Poly define(const Var &var);
  Poly define(const Var &var, Range range); ///< one of this range

  Poly integer(const Expr &e);      ///< of an index; what memory holds is an unknown
  Formula condition(const Expr &e); ///< of a boolean; a comparison of data is an unknown

  /// Whether two expressions of any type have one value. Data must have one form, up to index arithmetic, and
  /// up to choices and masks that are decided.
  Verdict equal(const Expr &a, const Expr &b);

private:
  Poly value(const Var &var);
  Poly arithmetic(const Binary &op);
  /// The unknown for this expression, the same one for one that is alike.
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
