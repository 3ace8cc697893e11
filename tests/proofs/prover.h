#pragma once
/// Z3 over integers without bounds. What is known are facts; a claim is proved by showing that the facts and
/// its negation cannot hold together.
///
/// Division is by its definition: x // y is the q with x - y*q in [0, y), for a y that is shown to be positive.
/// Products of unknowns are where Z3 needs help: each product of atoms is an unknown of its own to it, and,
/// where it cannot decide so, products of facts are added as facts (p >= 0 and q >= 0 give p*q >= 0), which is
/// all that the rules and the row * columns of an offset take. What is proved so is proved of all integers.

#include "tests/proofs/poly.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// `unknown`: Z3 gave up within its limit, which counts its steps, so that it is the same on every machine.
/// `refuted` comes with values for which the facts hold and the claim does not.
struct Verdict {
  enum class Kind : std::uint8_t { proved, refuted, unknown } kind = Kind::unknown;
  std::string counterexample; ///< "x = 3, y = 0"
  bool proved() const { return kind == Kind::proved; }
};
/// "proved", "refuted by x = 3, y = 0", "unknown".
std::string to_string(const Verdict &verdict);

class Prover {
public:
  explicit Prover(unsigned limit = 4'000'000); ///< of Z3's resource units, for each question
  ~Prover();
  Prover(const Prover &) = delete;
  Prover &operator=(const Prover &) = delete;

  Poly fresh(const std::string &name);
  /// An unknown of [low, high], for good. Bounds of quotients follow from those of what is divided.
  Poly fresh(const std::string &name, Integer low, Integer high);
  Poly quotient(const Poly &x, const Poly &y); ///< an unknown where y is not shown to be positive
  Poly remainder(const Poly &x, const Poly &y) { return x - y * quotient(x, y); }
  bool divides_surely() const { return surely_; } ///< every divisor so far was shown to be positive
  Poly min(const Poly &x, const Poly &y);
  Poly max(const Poly &x, const Poly &y);
  Poly choose(const Formula &condition, const Poly &x, const Poly &y);
  Poly bit_xor(const Poly &x, const Poly &y); ///< known by its range only

  void assume(const Formula &fact);
  /// Assumes that p = 0; where an unknown follows from the others it is replaced by them everywhere, which
  /// spares Z3 the products of the equation. For what holds without a scope.
  void assume_zero(const Poly &p);
  Poly normal(const Poly &p) const; ///< with replaced unknowns replaced
  /// Facts that are assumed while it lives are forgotten after it; definitions are not.
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
  bool prove_at_once(const Formula &claim); ///< by one question, without help for products
  /// Whether the facts are shown to exclude each other, without help for products: then all that follows from
  /// them is worth nothing.
  bool contradictory();
  std::int64_t questions() const { return questions_; } ///< put to Z3

private:
  struct Engine;
  /// What is added for products: nothing; products of facts about what is multiplied in the claim; of all
  /// facts, over the rationals, which is faster; of facts and unknowns of either sign too; of all facts over
  /// the integers.
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
  Formula normal(const Formula &f) const;
  void define(const Formula &fact);
  void note_digits(const Poly &x, Integer y, const Poly &q);

  std::unique_ptr<Engine> engine_;
  std::vector<std::string> names_;
  std::vector<Formula> definitions_, facts_;
  std::map<std::vector<Poly>, Poly> quotients_, xors_;
  struct Whole {
    Poly dividend;
    Integer divisor;
  };
  std::map<Poly, Whole> whole_quotients_; ///< the quotients by constants
  std::map<int, Poly> replaced_;
  std::map<int, Interval> bounds_;
  std::map<Poly, Integer> remainders_; ///< by constants, and the largest value of each
  bool surely_ = true;
  int scopes_ = 0;
  std::int64_t questions_ = 0;
  std::optional<bool> contradictory_; ///< of the facts as they are
};

} // namespace nestsmith::proofs
