#pragma once
/// Polynomials with integer coefficients over numbered integer variables (*atoms*), and formulas over
/// polynomials.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// Wide enough for the product of two bounds of 2^60.
using Integer = __int128;
std::string to_string(Integer value);
/// These functions, and all operations on polynomials, throw std::overflow_error if the result does not fit.
Integer plus(Integer a, Integer b);
Integer times(Integer a, Integer b);

using Monomial = std::vector<int>; ///< atoms in ascending order; empty: the constant 1

class Poly {
public:
  Poly(Integer constant = 0);
  static Poly atom(int number);

  const std::map<Monomial, Integer> &terms() const { return terms_; }
  bool is_constant() const;
  Integer constant() const; ///< the coefficient of the empty monomial
  bool is_linear() const;
  void collect_atoms(std::set<int> &atoms) const;
  Poly multiples(Integer n) const; ///< the terms whose coefficients are multiples of n > 0, divided by n

  /// Returns p with p * divisor = *this, or none. The divisor has one term.
  std::optional<Poly> over(const Poly &divisor) const;

  Poly &operator+=(const Poly &other);
  friend Poly operator+(Poly a, const Poly &b) { return a += b; }
  friend Poly operator-(const Poly &a, const Poly &b);
  friend Poly operator-(const Poly &a) { return Poly(0) - a; }
  friend Poly operator*(const Poly &a, const Poly &b);
  friend bool operator==(const Poly &a, const Poly &b) { return a.terms_ == b.terms_; }
  friend bool operator<(const Poly &a, const Poly &b) { return a.terms_ < b.terms_; }

private:
  void add(const Monomial &monomial, Integer coefficient);
  std::map<Monomial, Integer> terms_; ///< no coefficient is 0
};

/// The formula p >= 0, or the conjunction or disjunction of formulas. An empty conjunction is true.
struct Formula {
  enum class Kind { at_least_0, all, any } kind = Kind::all;
  Poly poly;
  std::vector<Formula> parts;

  void collect_atoms(std::set<int> &atoms) const;
};

Formula truth(bool value);
Formula at_least_0(Poly p);
inline Formula less_equal(const Poly &a, const Poly &b) { return at_least_0(b - a); }
inline Formula less(const Poly &a, const Poly &b) { return at_least_0(b - a - Poly(1)); }
Formula equal(const Poly &a, const Poly &b);
Formula all(std::vector<Formula> parts);
Formula any(std::vector<Formula> parts);
Formula negate(const Formula &f);
/// Whether a and b have the same truth value.
Formula iff(const Formula &a, const Formula &b);

} // namespace nestsmith::proofs
