/// Translates formulas to Z3, and adds the products that Z3 needs.

#include "tests/proofs/prover.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <z3++.h>

namespace nestsmith::proofs {

std::string to_string(const Verdict &verdict) {
  switch (verdict.kind) {
  case Verdict::Kind::proved:
    return "proved";
  case Verdict::Kind::refuted:
    return verdict.counterexample.empty() ? "refuted" : "refuted by " + verdict.counterexample;
  case Verdict::Kind::unknown:
    break;
  }
  return "unknown";
}

/// Translates facts to Z3. Each product of atoms becomes a separate constant.
struct Prover::Engine {
  explicit Engine(unsigned limit) : solver(context, z3::solver::simple()) {
    z3::params params(context);
    params.set("rlimit", limit);
    solver.set(params);
  }

  z3::expr monomial(const Monomial &atoms, bool rational) {
    auto &known = rational ? rationals : wholes;
    auto it = known.find(atoms);
    if (it != known.end())
      return it->second;
    std::string name = rational ? "r" : "i";
    for (int atom : atoms)
      name += "_" + std::to_string(atom);
    z3::expr made = rational ? context.real_const(name.c_str()) : context.int_const(name.c_str());
    known.emplace(atoms, made);
    return made;
  }

  z3::expr translate(const Poly &p, bool rational) {
    z3::expr_vector sum(context);
    for (const auto &[atoms, coefficient] : p.terms()) {
      std::string digits = proofs::to_string(coefficient);
      z3::expr number = rational ? context.real_val(digits.c_str()) : context.int_val(digits.c_str());
      sum.push_back(atoms.empty() ? number : number * monomial(atoms, rational));
    }
    return sum.empty() ? (rational ? context.real_val(0) : context.int_val(0)) : z3::sum(sum);
  }

  z3::expr translate(const Formula &f, bool rational) {
    if (f.kind == Formula::Kind::at_least_0)
      return translate(f.poly, rational) >= 0;
    z3::expr_vector parts(context);
    for (const Formula &part : f.parts)
      parts.push_back(translate(part, rational));
    return f.kind == Formula::Kind::all ? z3::mk_and(parts) : z3::mk_or(parts);
  }

  static z3::context &shared() { // the construction takes longer than most questions
    static thread_local z3::context context;
    return context;
  }

  z3::context &context = shared();
  z3::solver solver;
  std::map<Monomial, z3::expr> wholes, rationals;
};

Prover::Prover(unsigned limit) : engine_(std::make_unique<Engine>(limit)) {}
Prover::~Prover() = default;

Poly Prover::fresh(const std::string &name) {
  names_.push_back(name);
  return Poly::atom(static_cast<int>(names_.size()) - 1);
}

Poly Prover::fresh(const std::string &name, Integer low, Integer high) {
  Poly made = fresh(name);
  bounds_[static_cast<int>(names_.size()) - 1] = {low, high};
  define(less_equal(Poly(low), made));
  define(less_equal(made, Poly(high)));
  return made;
}

std::optional<Prover::Interval> Prover::interval(const Poly &p) const {
  if (auto it = remainders_.find(p); it != remainders_.end())
    return Interval{0, it->second};
  Interval sum{0, 0};
  for (const auto &[atoms, coefficient] : p.terms()) {
    auto term = interval(atoms);
    if (!term)
      return std::nullopt;
    constexpr Integer large = Integer(1) << 62; // leaves room before numbers overflow
    if (coefficient > large || coefficient < -large)
      return std::nullopt;
    Integer a = times(term->low, coefficient), b = times(term->high, coefficient);
    sum = {plus(sum.low, std::min(a, b)), plus(sum.high, std::max(a, b))};
  }
  return sum;
}

std::optional<Prover::Interval> Prover::interval(const Monomial &atoms) const {
  Interval product{1, 1};
  constexpr Integer large = Integer(1) << 62;
  for (int atom : atoms) {
    auto it = bounds_.find(atom);
    if (it == bounds_.end())
      return std::nullopt;
    auto [low, high] = it->second;
    for (Integer end : {low, high, product.low, product.high})
      if (end > large || end < -large)
        return std::nullopt;
    auto ends = {times(product.low, low), times(product.low, high), times(product.high, low),
                 times(product.high, high)};
    product = {std::min(ends), std::max(ends)};
  }
  if (product.low < -large || large < product.high)
    return std::nullopt;
  return product;
}

std::vector<Formula> Prover::bounds_of_products(const std::vector<Formula> &facts) const {
  std::set<Monomial> found;
  auto note = [&](const Formula &f, const auto &self) -> void {
    for (const auto &[atoms, coefficient] : f.poly.terms())
      if (atoms.size() > 1) {
        found.insert(atoms);
        for (std::size_t a = 0; a < atoms.size(); ++a)
          for (std::size_t b = a + 1; b < atoms.size(); ++b)
            found.insert({atoms[a], atoms[b]});
      }
    for (const Formula &part : f.parts)
      self(part, self);
  };
  for (const Formula &fact : facts)
    note(fact, note);
  std::vector<Formula> result;
  for (const Monomial &atoms : found)
    if (auto range = interval(atoms)) {
      Poly product(1);
      for (int atom : atoms)
        product = product * Poly::atom(atom);
      result.push_back(less_equal(Poly(range->low), product));
      result.push_back(less_equal(product, Poly(range->high)));
    }
  return result;
}

void Prover::define(const Formula &fact) { definitions_.push_back(fact); }

void Prover::assume(const Formula &fact) {
  contradictory_.reset();
  if (fact.kind != Formula::Kind::all) {
    facts_.push_back(fact);
    return;
  }
  for (const Formula &part : fact.parts)
    assume(part);
}

Poly Prover::normal(const Poly &p) const {
  Poly result;
  for (const auto &[atoms, coefficient] : p.terms()) {
    Poly product(coefficient);
    for (int atom : atoms) {
      auto it = replaced_.find(atom);
      product = product * (it == replaced_.end() ? Poly::atom(atom) : normal(it->second));
    }
    result += product;
  }
  return result;
}

Formula Prover::normal(const Formula &f) const {
  if (f.kind == Formula::Kind::at_least_0)
    return at_least_0(normal(f.poly));
  Formula result{f.kind, {}, {}};
  for (const Formula &part : f.parts)
    result.parts.push_back(normal(part));
  return result;
}

void Prover::assume_zero(const Poly &given) {
  Poly p = normal(given);
  std::map<int, int> count;
  for (const auto &[atoms, coefficient] : p.terms())
    for (int atom : atoms)
      ++count[atom];
  for (auto it = count.rbegin(); it != count.rend(); ++it) {
    auto term = p.terms().find({it->first});
    if (it->second != 1 || term == p.terms().end() || (term->second != 1 && term->second != -1))
      continue;
    Poly rest = p - Poly(term->second) * Poly::atom(it->first);
    replaced_[it->first] = Poly(-term->second) * rest;
    for (auto *list : {&definitions_, &facts_})
      for (Formula &fact : *list)
        fact = normal(fact);
    std::map<std::vector<Poly>, Poly> quotients;
    for (const auto &[key, value] : quotients_)
      quotients.emplace(std::vector<Poly>{normal(key[0]), normal(key[1])}, normal(value));
    quotients_ = std::move(quotients);
    std::map<Poly, Whole> wholes;
    for (const auto &[q, whole] : whole_quotients_)
      wholes.emplace(normal(q), Whole{normal(whole.dividend), whole.divisor});
    whole_quotients_ = std::move(wholes);
    return;
  }
  assume(equal(p, Poly(0)));
}

Poly Prover::quotient(const Poly &dividend, const Poly &divisor) {
  Poly x = normal(dividend), y = normal(divisor);
  if (auto it = quotients_.find({x, y}); it != quotients_.end())
    return it->second;
  auto floored = [](Integer a, Integer b) { return a / b - (a % b < 0 ? 1 : 0); };
  std::string name = fmt::format("quotient{}", names_.size());
  bool positive = y.is_constant() ? y.constant() > 0 : prove(at_least_0(y - Poly(1))).proved();
  surely_ = surely_ && positive;
  if (!positive)
    return fresh(name);
  if (Poly taken; y.is_constant()) // [rule.divide.taken_out]
    if (taken = x.multiples(y.constant()); !(taken == Poly(0)))
      return taken + quotient(x - y * taken, y);
  if (auto inner = y.is_constant() ? whole_quotients_.find(x) : whole_quotients_.end();
      inner != whole_quotients_.end()) // [rule.digit.quotient]
    return quotient(inner->second.dividend, Poly(times(inner->second.divisor, y.constant())));
  std::vector<Poly> above; // x < y*p implies q < p, a product of unknowns that Z3 does not find
  for (const Formula &fact : facts_)
    if (fact.kind == Formula::Kind::at_least_0)
      if (auto p = (fact.poly + x + Poly(1)).over(y))
        above.push_back(*p);
  if (std::find(above.begin(), above.end(), Poly(1)) != above.end() && prove(at_least_0(x)).proved())
    return Poly(0);
  std::optional<Interval> range = interval(x);
  if (range && y.is_constant())
    range = {floored(range->low, y.constant()), floored(range->high, y.constant())};
  else if (range) // [rule.range.by_sizes.low], [rule.range.by_sizes.high] for y >= 1
    range = {std::min(range->low, Integer(0)), std::max(range->high, Integer(0))};
  if (range && range->low == range->high)
    return Poly(range->low);
  auto divisors = interval(y);
  if (scopes_ > 0 && !(divisors && divisors->low > 0)) { // y > 0 follows from facts of the scope
    Poly q = fresh(name);
    assume(all({at_least_0(x - y * q), at_least_0(y - Poly(1) - (x - y * q))}));
    return q;
  }
  Poly q = range ? fresh(name, range->low, range->high) : fresh(name);
  quotients_.emplace(std::vector<Poly>{x, y}, q);
  define(at_least_0(x - y * q));
  define(at_least_0(y - Poly(1) - (x - y * q)));
  if (y.is_constant())
    note_digits(x, y.constant(), q);
  for (const Poly &p : above)
    assume(less(q, p));
  return q;
}

/// Adds the range of digits. Let q be x // y. If b is a multiple of a, the digit x // a % (b/a) = x//a -
/// b/a*(x//b) is in [0, b/a). Z3 does not find this in products of digits and unknowns.
void Prover::note_digits(const Poly &x, Integer y, const Poly &q) {
  remainders_[x - Poly(y) * q] = y - 1;
  auto note = [&](const Poly &low, Integer a, const Poly &high, Integer b) {
    if (a == b || b % a != 0)
      return;
    Poly digit = low - Poly(b / a) * high;
    remainders_[digit] = b / a - 1;
    define(at_least_0(digit));
    define(less(digit, Poly(b / a)));
  };
  for (const auto &[other, known] : whole_quotients_)
    if (known.dividend == x) {
      note(q, y, other, known.divisor);
      note(other, known.divisor, q, y);
    }
  whole_quotients_.emplace(q, Whole{x, y});
}

Poly Prover::choose(const Formula &condition, const Poly &x, const Poly &y) {
  Poly chosen = fresh(fmt::format("choice{}", names_.size()));
  define(any({negate(condition), equal(chosen, x)}));
  define(any({condition, equal(chosen, y)}));
  return chosen;
}

Poly Prover::min(const Poly &x, const Poly &y) {
  Poly least = choose(less_equal(x, y), x, y);
  define(less_equal(least, x));
  define(less_equal(least, y));
  return least;
}

Poly Prover::max(const Poly &x, const Poly &y) { return -min(-x, -y); }

Poly Prover::bits(BinaryOp op, const Poly &x, const Poly &y) {
  auto &known = bits_[op];
  if (auto it = known.find({x, y}); it != known.end())
    return it->second;
  Poly result = fresh(fmt::format("bits{}", names_.size()));
  Formula negative = any({less(x, Poly(0)), less(y, Poly(0))});
  if (op == BinaryOp::bit_and) { // [rule.range.and]
    define(any({less(x, Poly(0)), all({at_least_0(result), less_equal(result, x)})}));
    define(any({less(y, Poly(0)), all({at_least_0(result), less_equal(result, y)})}));
  } else {
    define(any({negative, at_least_0(result)}));
    for (int bits = 0; bits <= 31; ++bits) { // [rule.range.xor], [rule.range.or]
      Poly most((Integer(1) << bits) - 1);
      define(any({negative, less(most, x), less(most, y), less_equal(result, most)}));
    }
  }
  if (op == BinaryOp::bit_or) // [rule.range.or]
    define(any({negative, all({less_equal(x, result), less_equal(y, result)})}));
  known.emplace(std::vector<Poly>{x, y}, result);
  return result;
}

/// Returns the negated claim, and the facts that share unknowns with it, directly or through other facts.
std::vector<Formula> Prover::relevant(const Formula &claim) const {
  std::vector<const Formula *> left;
  for (const auto *list : {&definitions_, &facts_})
    for (const Formula &fact : *list)
      left.push_back(&fact);
  std::set<int> atoms;
  claim.collect_atoms(atoms);
  std::vector<Formula> result;
  auto add = [&](const Formula &fact, const auto &self) -> void {
    if (fact.kind != Formula::Kind::all)
      return result.push_back(fact);
    for (const Formula &part : fact.parts)
      self(part, self);
  };
  add(negate(claim), add);
  for (bool grown = true; grown;) {
    grown = false;
    for (const Formula *&fact : left) {
      if (!fact)
        continue;
      std::set<int> own;
      fact->collect_atoms(own);
      bool touches =
          own.empty() || std::any_of(own.begin(), own.end(), [&](int atom) { return atoms.count(atom) > 0; });
      if (!touches)
        continue;
      atoms.insert(own.begin(), own.end());
      add(*fact, add);
      fact = nullptr;
      grown = true;
    }
  }
  return result;
}

/// Returns the products of pairs of facts p >= 0. If there are many facts, only facts with unknowns that occur
/// in products are used. With `signs`, also returns products with unknowns of either sign. With `focused`, only
/// uses facts about the unknowns in the products of the first fact.
static std::vector<Formula> products(const std::vector<Formula> &facts, bool signs, bool focused) {
  std::set<int> in_products;
  std::vector<Poly> factors;
  auto note = [&](const Formula &f, const auto &self) -> void {
    for (const auto &[atoms, coefficient] : f.poly.terms())
      if (atoms.size() > 1)
        in_products.insert(atoms.begin(), atoms.end());
    for (const Formula &part : f.parts)
      self(part, self);
  };
  for (const Formula &fact : facts) {
    if (!focused || &fact == &facts.front())
      note(fact, note);
    if (fact.kind == Formula::Kind::at_least_0 &&
        std::find(factors.begin(), factors.end(), fact.poly) == factors.end())
      factors.push_back(fact.poly);
  }
  constexpr std::size_t few = 24;
  auto wanted = [&](const Poly &p) {
    std::set<int> own;
    p.collect_atoms(own);
    return (!focused && factors.size() <= few) ||
           std::all_of(own.begin(), own.end(), [&](int atom) { return in_products.count(atom) > 0; });
  };
  std::vector<Formula> result;
  for (std::size_t a = 0; a < factors.size(); ++a)
    for (std::size_t b = a; b < factors.size(); ++b)
      if (wanted(factors[a]) && wanted(factors[b]))
        try {
          result.push_back(at_least_0(factors[a] * factors[b]));
        } catch (const std::overflow_error &) { // skip this product
        }
  if (signs)
    for (int atom : in_products)
      for (const Poly &factor : factors)
        if (wanted(factor)) {
          Poly x = Poly::atom(atom);
          result.push_back(any({less(x, Poly(0)), at_least_0(factor * x)}));
          result.push_back(any({less(Poly(0), x), at_least_0(-factor * x)}));
        }
  return result;
}

static bool is_linear(const Formula &f) {
  return f.poly.is_linear() && std::all_of(f.parts.begin(), f.parts.end(), is_linear);
}

Verdict Prover::refute(const std::vector<Formula> &facts, Help help) {
  // The added products follow from the facts.
  QuestionText question(facts, static_cast<char>(help));
  const Answered answer = answer_of(question.text, [&] { return ask(facts, help, question.atoms); });
  switch (answer.kind) {
  case Answered::Kind::unsatisfiable:
    return {Verdict::Kind::proved, ""};
  case Answered::Kind::unknown:
    return {};
  case Answered::Kind::satisfiable:
    break;
  }
  std::map<int, std::string> values;
  for (std::size_t n = 0; n < question.atoms.size(); ++n)
    values[question.atoms[n]] = answer.values[n];
  Verdict verdict{Verdict::Kind::refuted, ""};
  for (const auto &[atom, value] : values)
    verdict.counterexample += fmt::format("{}{} = {}", verdict.counterexample.empty() ? "" : ", ",
                                          names_[static_cast<std::size_t>(atom)], value);
  return verdict;
}

Answered Prover::ask(const std::vector<Formula> &facts, Help help, const std::vector<int> &atoms) {
  bool rational = help == Help::rational || help == Help::signs || help == Help::focused;
  z3::solver &solver = engine_->solver;
  solver.reset();
  for (const Formula &fact : facts)
    solver.add(engine_->translate(fact, rational));
  if (help != Help::none)
    for (const Formula &product : products(facts, help == Help::signs, help == Help::focused))
      solver.add(engine_->translate(product, rational));
  z3::check_result result = solver.check();
  if (result == z3::unsat)
    return {Answered::Kind::unsatisfiable, {}};
  if (result == z3::unknown)
    return {};
  Answered answer{Answered::Kind::satisfiable, {}};
  z3::model model = solver.get_model();
  for (int atom : atoms)
    answer.values.push_back(model.eval(engine_->monomial({atom}, rational), true).to_string());
  return answer;
}

std::vector<Formula> Prover::with_bounds(std::vector<Formula> facts) const {
  std::vector<Formula> bounds = bounds_of_products(facts);
  facts.insert(facts.end(), bounds.begin(), bounds.end());
  return facts;
}

bool Prover::prove_at_once(const Formula &claim) {
  return refute(with_bounds(relevant(normal(claim))), Help::none).proved();
}

Verdict Prover::prove(const Formula &given) {
  Formula claim = normal(given);
  if (claim.kind == Formula::Kind::all) {
    if (prove_at_once(claim))
      return {Verdict::Kind::proved, ""};
    for (const Formula &part : claim.parts) // so that each part is proved with its own relevant facts
      if (Verdict verdict = prove(part); !verdict.proved())
        return verdict;
    return {Verdict::Kind::proved, ""};
  }
  std::vector<Formula> facts = with_bounds(relevant(claim));
  bool linear = std::all_of(facts.begin(), facts.end(), is_linear);
  Verdict verdict = refute(facts, Help::none);
  if (verdict.proved() || linear)
    return verdict;
  for (Help help : {Help::focused, Help::rational, Help::signs, Help::whole})
    if (refute(facts, help).proved())
      return {Verdict::Kind::proved, ""};
  return {}; // the counterexample may violate the meaning of products
}

bool Prover::contradictory() {
  std::vector<Formula> facts = facts_;
  facts.insert(facts.end(), definitions_.begin(), definitions_.end());
  if (!contradictory_)
    contradictory_ = refute(with_bounds(std::move(facts)), Help::none).proved();
  return *contradictory_;
}

} // namespace nestsmith::proofs
