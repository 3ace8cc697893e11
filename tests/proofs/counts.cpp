/// Counts statements of a kernel by induction over its loops.

#include "tests/proofs/counts.h"

#include <algorithm>

namespace nestsmith::proofs {

namespace {

bool same(const Formula &a, const Formula &b) {
  return a.kind == b.kind && a.poly == b.poly && std::ranges::equal(a.parts, b.parts, same);
}
bool same(const PartOfCount &a, const PartOfCount &b) {
  return same(a.condition, b.condition) && a.yes == b.yes && a.no == b.no;
}
bool same(const Counts &a, const Counts &b) {
  return std::ranges::equal(a, b, [](const auto &x, const auto &y) {
    return x.first == y.first &&
           std::ranges::equal(x.second, y.second, [](const auto &p, const auto &q) { return same(p, q); });
  });
}
bool is_true(const Formula &f) { return f.kind == Formula::Kind::all && f.parts.empty(); }

Counts under(const Formula &condition, Counts counts) {
  for (auto &[what, count] : counts)
    for (PartOfCount &part : count)
      part.condition = is_true(part.condition) ? condition : all({condition, part.condition});
  return counts;
}

} // namespace

void add(Counts &sum, const Counts &more) {
  for (const auto &[what, count] : more)
    for (const PartOfCount &part : count) {
      Count &known = sum[what];
      if (is_true(part.condition) && !known.empty() && is_true(known.front().condition))
        known.front().yes += part.yes;
      else
        known.insert(is_true(part.condition) ? known.begin() : known.end(), part);
    }
}

bool Counter::counts(const kernel::Stmt &stmt) {
  if (auto known = counts_.find(stmt.get()); known != counts_.end())
    return known->second;
  bool found = false;
  kernel::walk(stmt, [&](const kernel::Stmt &inner) { found = found || !unit_(inner).empty(); });
  return counts_[stmt.get()] = found;
}

Counts Counter::of(const kernel::Stmt &stmt) {
  Counts result;
  if (const auto *declare = kernel::as<kernel::Declare>(stmt)) {
    if (is_index(declare->var->dtype) && declare->var->lanes == 1)
      translator_.set(declare->var, translator_.integer(declare->value));
    return result;
  }
  if (const auto *seq = kernel::as<kernel::Seq>(stmt)) {
    for (const kernel::Stmt &child : seq->stmts)
      add(result, of(child));
    return result;
  }
  if (!counts(stmt))
    return result;
  if (const auto *loop = kernel::as<kernel::Loop>(stmt))
    return iterations(*loop).all;
  if (const auto *branch = kernel::as<kernel::If>(stmt)) {
    const Formula condition = translator_.condition(branch->condition);
    auto side = [&](const kernel::Stmt &body, const Formula &holds) {
      Prover::Scope scope(prover_);
      prover_.assume(holds);
      return body ? of(body) : Counts();
    };
    const Counts body = side(branch->body, condition), other = side(branch->otherwise, negate(condition));
    const bool of_roles = kernel::roles_of_sides(*branch).has_value();
    if (!of_roles && same(body, other))
      return body;
    add(result, of_roles ? body : under(condition, body));
    add(result, of_roles ? other : under(negate(condition), other));
    return result;
  }
  for (const auto &[what, times] : unit_(stmt))
    result[what] = {{truth(true), Poly(times), Poly(0)}};
  return result;
}

Poly Counter::extent_of(const kernel::Loop &loop) {
  Poly extent = translator_.integer(loop.extent);
  return prover_.prove_at_once(at_least_0(extent)) ? extent : -least_of(-extent, Poly(0));
}

Poly Counter::variable(const kernel::Loop &loop) {
  const Poly extent = translator_.integer(loop.extent);
  auto [it, added] = variables_.emplace(std::pair(depth, extent), Poly());
  if (added)
    it->second = extent.is_constant() && extent.constant() > 0
                     ? prover_.fresh(loop.var->name, 0, extent.constant() - 1)
                     : prover_.fresh(loop.var->name);
  return it->second;
}

void Counter::assume_range(const kernel::Loop &loop) {
  const Poly variable = this->variable(loop);
  prover_.assume(all({at_least_0(variable), less(variable, translator_.integer(loop.extent))}));
}

Counter::Iterations Counter::iterations(const kernel::Loop &loop) {
  const Poly variable = this->variable(loop), extent = extent_of(loop);
  auto at = [&](const Poly &iteration) {
    translator_.set(loop.var, iteration);
    ++depth;
    Counts counts = of(loop.body);
    --depth;
    return counts;
  };
  auto first_counts = [&] {
    Prover::Scope scope(prover_);
    prover_.assume(less(Poly(0), extent));
    return at(Poly(0));
  };
  Counts first = first_counts(), now;
  std::map<std::size_t, std::vector<Course>> courses;
  {
    Prover::Scope scope(prover_); // of two consecutive iterations
    prover_.assume(all({at_least_0(variable), less(variable + Poly(1), extent)}));
    Counts next = at(variable + Poly(1));
    now = at(variable);
    for (const auto &[what, count] : now)
      for (std::size_t n = 0; n < count.size(); ++n)
        courses[what].push_back(count.size() == first[what].size() && count.size() == next[what].size()
                                    ? course_of(variable, first[what][n], count[n], next[what][n])
                                    : Course{});
  }
  Iterations result;
  for (const auto &[what, count] : now)
    for (std::size_t n = 0; n < count.size(); ++n) {
      const Course &course = courses[what][n];
      if (course.kind == Course::Kind::unknown)
        uncounted.push_back(loop.var->name);
      const PartOfCount &start = course.kind == Course::Kind::unknown ? count[n] : first[what][n];
      const auto [before, all] = sum_of(variable, extent, course, start, count[n].condition);
      add(result.before, {{what, {before}}});
      add(result.all, {{what, {all}}});
    }
  return result;
}

Counter::Course Counter::course_of(const Poly &variable, const PartOfCount &first, const PartOfCount &now,
                                   const PartOfCount &next) {
  using Kind = Course::Kind;
  if (!(now.yes == first.yes && next.yes == first.yes))
    return {};
  if (prover_.prove_at_once(iff(now.condition, next.condition)))
    return {Kind::constant, {}};
  const bool one =
      now.condition.kind == Formula::Kind::at_least_0 && next.condition.kind == Formula::Kind::at_least_0;
  const Poly step = one ? next.condition.poly - now.condition.poly : Poly(0);
  if (step == Poly(-1)) // r - variable >= 0
    return {Kind::ends, now.condition.poly + variable + Poly(1)};
  if (step == Poly(1)) // r + variable >= 0
    return {Kind::begins, variable - now.condition.poly};
  if (prover_.prove(any({negate(next.condition), now.condition})).proved())
    return {Kind::ends, {}};
  if (prover_.prove(any({negate(now.condition), next.condition})).proved())
    return {Kind::begins, {}};
  return {};
}

Counter::Sum Counter::sum_of(const Poly &variable, const Poly &extent, const Course &course,
                             const PartOfCount &first, const Formula &condition) {
  using Kind = Course::Kind;
  const Poly &times = first.yes, none(0);
  if (course.kind == Kind::unknown) {
    const Poly unknown = prover_.fresh("uncounted");
    return {{truth(true), unknown, none}, {truth(true), unknown, none}};
  }
  if (course.kind == Kind::constant)
    return {{condition, times * variable, none}, {first.condition, times * extent, none}};
  const Poly change = course.change ? clamped(*course.change, extent) : limit(variable, extent, condition);
  if (course.kind == Kind::ends)
    return {{condition, times * variable, times * change}, {truth(true), times * change, none}};
  return {{condition, times * (variable - change), none}, {truth(true), times * (extent - change), none}};
}

Poly Counter::limit(const Poly &variable, const Poly &extent, const Formula &condition) {
  auto known = std::ranges::find_if(limits_, [&](const Limit &limit) {
    return limit.variable == variable && limit.extent == extent && same(limit.condition, condition);
  });
  if (known != limits_.end())
    return known->value;
  limits_.push_back(
      {variable, extent, condition,
       extent.is_constant() ? prover_.fresh("limit", 0, extent.constant()) : prover_.fresh("limit")});
  return limits_.back().value;
}

Poly Counter::least_of(const Poly &x, const Poly &y) {
  auto known = least_.find({x, y});
  return known != least_.end() ? known->second : least_[{x, y}] = prover_.min(x, y);
}

Poly Counter::clamped(const Poly &x, const Poly &most) {
  const Poly low = prover_.prove_at_once(at_least_0(x)) ? x : -least_of(-x, Poly(0));
  return prover_.prove_at_once(less_equal(low, most)) ? low : least_of(low, most);
}

Poly Counter::value(const Count &count) {
  Poly sum;
  for (const PartOfCount &part : count)
    sum += chosen(part);
  return sum;
}

Poly Counter::value(const Counts &counts, std::size_t of) {
  auto known = counts.find(of);
  return known == counts.end() ? Poly(0) : value(known->second);
}

Poly Counter::chosen(const PartOfCount &part) {
  if (is_true(part.condition) || prover_.prove_at_once(part.condition))
    return part.yes;
  if (prover_.prove_at_once(negate(part.condition)))
    return part.no;
  for (const auto &[known, value] : chosen_)
    if (same(known, part))
      return value;
  chosen_.emplace_back(part, prover_.choose(part.condition, part.yes, part.no));
  return chosen_.back().second;
}

} // namespace nestsmith::proofs
