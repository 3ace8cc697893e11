#pragma once
/// Polynomials with integer coefficients in atoms, which are integers known by a number, and formulas over
/// them.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::proofs {

/// Wide enough for products of two bounds of 2^60.
using Integer = __int128;
std::string to_string(Integer value);
/// Throw std::overflow_error where the result does not fit; so do all operations on polynomials.
Integer plus(Integer a, Integer b);
Integer times(Integer a, Integer b);

using Monomial = std::vector<int>; ///< atoms in ascending order; empty: 1

class Poly {
public:
  Poly(Integer constant = 0);
  static Poly atom(int number);

  const std::map<Monomial, Integer> &terms() const { return terms_; }
  bool is_constant() const;
  Integer constant() const; ///< the coefficient of 1
  bool is_linear() const;
  void collect_atoms(std::set<int> &atoms) const;
  Poly multiples(Integer n) const; ///< of those terms whose coefficients n > 0 divides, the n-th part

  /// p with p * divisor = *this, where the divisor is one term and there is such a p.
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
  std::map<Monomial, Integer> terms_; ///< without zeros
};

/// p >= 0, or all or any of some. All of none is true.
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
/// Equally true.
Formula iff(const Formula &a, const Formula &b);

} // namespace nestsmith::proofs
