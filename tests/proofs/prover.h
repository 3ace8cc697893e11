#pragma once
/// Proves claims over integers without bounds by Z3. The known conditions are *facts*. A claim is proved if the
/// facts and the negated claim are unsatisfiable.
///
/// Division is defined by multiplication: x // y is the q for which x - y*q is in [0, y). The divisor y must be
/// proved to be positive. Z3 treats each product of unknowns as another unknown. If it cannot decide a claim in
/// this way, the prover adds products of facts as facts: p >= 0 and q >= 0 imply p*q >= 0. This suffices for
/// the rules and for the row * columns of offsets. A proof holds for all integers.

#include "dsl/expr/ops.h"
#include "tests/proofs/question.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// `unknown`: Z3 reached its limit, which counts steps, so the verdict is the same on every machine. `refuted`
/// has values for which the facts hold and the claim does not.
struct Verdict {
  enum class Kind : std::uint8_t { proved, refuted, unknown } kind = Kind::unknown;
  std::string counterexample; ///< "x = 3, y = 0"
  bool proved() const { return kind == Kind::proved; }
};
/// Returns "proved", "refuted by x = 3, y = 0" or "unknown".
std::string to_string(const Verdict &verdict);

class Prover {
public:
  explicit Prover(unsigned limit = 4'000'000); ///< of Z3's resource units per question
  ~Prover();
  Prover(const Prover &) = delete;
  Prover &operator=(const Prover &) = delete;

  Poly fresh(const std::string &name);
  /// Returns a new unknown in [low, high], which does not depend on scopes. Bounds of quotients follow from
  /// those of their dividends.
  Poly fresh(const std::string &name, Integer low, Integer high);
  Poly quotient(const Poly &x, const Poly &y); ///< a new unknown if y is not proved to be positive
  Poly remainder(const Poly &x, const Poly &y) { return x - y * quotient(x, y); }
  bool divides_surely() const { return surely_; } ///< every divisor so far was proved to be positive
  Poly min(const Poly &x, const Poly &y);
  Poly max(const Poly &x, const Poly &y);
  Poly choose(const Formula &condition, const Poly &x, const Poly &y);
  Poly bits(BinaryOp op, const Poly &x, const Poly &y); ///< and, or, xor: only the range is known

  void assume(const Formula &fact);
  /// Assumes that p = 0, outside of scopes. If an unknown follows from the others, replaces it everywhere, so
  /// that Z3 does not need the products of the equation.
  void assume_zero(const Poly &p);
  Poly normal(const Poly &p) const; ///< replaces the unknowns that `assume_zero` has eliminated
  /// Facts that are assumed during its lifetime are forgotten at its end. Definitions are kept.
  class Scope {
  public:
    explicit Scope(Prover &prover) : prover_(prover), facts_(prover.facts_.size()) { ++prover_.scopes_; }
    ~Scope() {
      --prover_.scopes_;
      prover_.facts_.resize(facts_, truth(true));
      prover_.contradictory_.reset();
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Prover &prover_;
    std::size_t facts_;
  };

  Verdict prove(const Formula &claim);
  bool prove_at_once(const Formula &claim); ///< by one question, without added products
  /// Whether the facts are proved to be contradictory, without added products. Contradictory facts imply every
  /// claim, so such proofs are worthless.
  bool contradictory();

private:
  struct Engine;
  /// The products that are added as facts: none; products of facts about the factors in the claim; products of
  /// all facts, over the rationals, which is faster; also products of facts and unknowns of either sign;
  /// products of all facts over the integers.
  enum class Help : std::uint8_t { none, focused, rational, signs, whole };
  struct Interval {
    Integer low, high;
  };
  std::optional<Interval> interval(const Poly &p) const;
  std::optional<Interval> interval(const Monomial &atoms) const;
  /// Bounds of the products of unknowns in these facts, and of pairs in longer ones [rule.range.mul].
  std::vector<Formula> bounds_of_products(const std::vector<Formula> &facts) const;
  std::vector<Formula> with_bounds(std::vector<Formula> facts) const;
  std::vector<Formula> relevant(const Formula &claim) const;
  Verdict refute(const std::vector<Formula> &facts, Help help);
  /// Asks Z3 for values of these atoms for which the facts hold.
  Answered ask(const std::vector<Formula> &facts, Help help, const std::vector<int> &atoms);
  Formula normal(const Formula &f) const;
  void define(const Formula &fact);
  void note_digits(const Poly &x, Integer y, const Poly &q);

  std::unique_ptr<Engine> engine_;
  std::vector<std::string> names_;
  std::vector<Formula> definitions_, facts_;
  std::map<std::vector<Poly>, Poly> quotients_;
  std::map<BinaryOp, std::map<std::vector<Poly>, Poly>> bits_;
  struct Whole {
    Poly dividend;
    Integer divisor;
  };
  std::map<Poly, Whole> whole_quotients_; ///< quotients by constants
  std::map<int, Poly> replaced_;
  std::map<int, Interval> bounds_;
  std::map<Poly, Integer> remainders_; ///< remainders by constants, and the largest value of each
  bool surely_ = true;
  int scopes_ = 0;
  std::optional<bool> contradictory_; ///< of the current facts; none: not computed
};

} // namespace nestsmith::proofs
