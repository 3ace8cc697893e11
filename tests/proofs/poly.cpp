#include "tests/proofs/poly.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace nestsmith::proofs {

std::string to_string(Integer value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10)
    digits +=
        static_cast<char>('0' + (negative ? -static_cast<int>(value % 10) : static_cast<int>(value % 10)));
  if (negative)
    digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Integer plus(Integer a, Integer b) {
  Integer sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw std::overflow_error("a sum does not fit in 128 bits");
  return sum;
}

Integer times(Integer a, Integer b) {
  Integer product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw std::overflow_error("a product does not fit in 128 bits");
  return product;
}

Poly::Poly(Integer constant) { add({}, constant); }

Poly Poly::atom(int number) {
  Poly result;
  result.add({number}, 1);
  return result;
}

void Poly::add(const Monomial &monomial, Integer coefficient) {
  auto it = terms_.try_emplace(monomial, 0).first;
  it->second = plus(it->second, coefficient);
  if (it->second == 0)
    terms_.erase(it);
}

bool Poly::is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_.count({})); }

Integer Poly::constant() const {
  auto it = terms_.find({});
  return it == terms_.end() ? Integer(0) : it->second;
}

bool Poly::is_linear() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const auto &term) { return term.first.size() <= 1; });
}

void Poly::collect_atoms(std::set<int> &atoms) const {
  for (const auto &[monomial, coefficient] : terms_)
    atoms.insert(monomial.begin(), monomial.end());
}

Poly Poly::multiples(Integer n) const {
  Poly result;
  for (const auto &[monomial, coefficient] : terms_)
    if (coefficient % n == 0)
      result.add(monomial, coefficient / n);
  return result;
}

std::optional<Poly> Poly::over(const Poly &divisor) const {
  if (divisor.terms_.size() != 1)
    return std::nullopt;
  const auto &[factors, unit] = *divisor.terms_.begin();
  Poly result;
  for (const auto &[atoms, coefficient] : terms_) {
    if (coefficient % unit != 0 || !std::includes(atoms.begin(), atoms.end(), factors.begin(), factors.end()))
      return std::nullopt;
    Monomial rest;
    std::set_difference(atoms.begin(), atoms.end(), factors.begin(), factors.end(), std::back_inserter(rest));
    result.add(rest, coefficient / unit);
  }
  return result;
}

Poly &Poly::operator+=(const Poly &other) {
  for (const auto &[monomial, coefficient] : other.terms_)
    add(monomial, coefficient);
  return *this;
}

Poly operator-(const Poly &a, const Poly &b) {
  Poly result = a;
  for (const auto &[monomial, coefficient] : b.terms_)
    result.add(monomial, times(coefficient, -1));
  return result;
}

Poly operator*(const Poly &a, const Poly &b) {
  Poly result;
  for (const auto &[x, m] : a.terms_)
    for (const auto &[y, n] : b.terms_) {
      Monomial product(x.size() + y.size());
      std::merge(x.begin(), x.end(), y.begin(), y.end(), product.begin());
      result.add(product, times(m, n));
    }
  return result;
}

void Formula::collect_atoms(std::set<int> &atoms) const {
  poly.collect_atoms(atoms);
  for (const Formula &part : parts)
    part.collect_atoms(atoms);
}

Formula truth(bool value) { return value ? all({}) : any({}); }
Formula at_least_0(Poly p) {
  return p.is_constant() ? truth(p.constant() >= 0) : Formula{Formula::Kind::at_least_0, std::move(p), {}};
}
Formula equal(const Poly &a, const Poly &b) { return all({less_equal(a, b), less_equal(b, a)}); }

Formula all(std::vector<Formula> parts) {
  return parts.size() == 1 ? parts.front() : Formula{Formula::Kind::all, {}, std::move(parts)};
}
Formula any(std::vector<Formula> parts) {
  return parts.size() == 1 ? parts.front() : Formula{Formula::Kind::any, {}, std::move(parts)};
}

Formula negate(const Formula &f) {
  if (f.kind == Formula::Kind::at_least_0)
    return at_least_0(-f.poly - Poly(1));
  std::vector<Formula> parts;
  for (const Formula &part : f.parts)
    parts.push_back(negate(part));
  return f.kind == Formula::Kind::all ? any(std::move(parts)) : all(std::move(parts));
}

Formula iff(const Formula &a, const Formula &b) { return all({any({negate(a), b}), any({a, negate(b)})}); }

} // namespace nestsmith::proofs
