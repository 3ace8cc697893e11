#include "dsl/expr/conjuncts.h"
#include "lowering/unit.h"

#include <algorithm>
#include <optional>

namespace nestsmith::kernel {

namespace {
using Conjuncts = std::vector<Expr>;

bool contains(const Conjuncts &set, const Expr &e) {
  return std::any_of(set.begin(), set.end(), [&](const Expr &x) { return same(x, e); });
}

Stmt guarded(const Conjuncts &conjuncts, Stmt body, const Origin &origin, const Purpose &purpose) {
  Expr condition;
  for (const Expr &e : conjuncts)
    condition = condition.exists() ? condition && e : e;
  return condition.exists() ? make(If{condition, std::move(body), nullptr, purpose}, origin) : body;
}

/// The conjuncts of the guard of a statement, and the body of the guard. If there is no guard, or if it has an
/// else, there are no conjuncts, and the body is the whole statement.
struct Guarded {
  Conjuncts conjuncts;
  Stmt body;
  Origin origin = nullptr; ///< of the guard
  Purpose purpose = {};    ///< of the guard, if it is known
};
Guarded take_apart(const Stmt &stmt) {
  const auto *branch = as<If>(stmt);
  return branch && !branch->otherwise
             ? Guarded{conjuncts_of(branch->condition), branch->body, stmt->origin, branch->purpose}
             : Guarded{{}, stmt};
}

/// if (a && b) s; if (a && c) t;   =>   if (a) { if (b) s; if (c) t; }
std::vector<Stmt> join_neighbours(const std::vector<Stmt> &stmts) {
  std::vector<Stmt> result;
  for (const Stmt &stmt : stmts) {
    Guarded next = take_apart(stmt), last = result.empty() ? Guarded{} : take_apart(result.back());
    Conjuncts common;
    for (const Expr &e : last.conjuncts)
      if (contains(next.conjuncts, e))
        common.push_back(e);
    if (common.empty()) {
      result.push_back(stmt);
      continue;
    }
    auto rest = [&](Guarded x) {
      std::erase_if(x.conjuncts, [&](const Expr &e) { return contains(common, e); });
      return guarded(x.conjuncts, x.body, x.origin, x.purpose);
    };
    result.back() = guarded(common, make_seq({rest(last), rest(next)}), joined({last.origin, next.origin}),
                            last.purpose.kind == next.purpose.kind ? last.purpose : Purpose());
  }
  return result;
}

Stmt hoisted(const Stmt &stmt) {
  Stmt inner = map_children(stmt, hoisted);
  if (const auto *seq = as<Seq>(inner))
    return make_seq(join_neighbours(seq->stmts));
  const auto *loop = as<Loop>(inner);
  if (!loop)
    return inner;
  // for k: if (a && b(k)) s   =>   if (a) for k: if (b(k)) s
  Guarded body = take_apart(loop->body);
  Conjuncts outside, inside;
  for (const Expr &e : body.conjuncts)
    (uses(e, loop->var) ? inside : outside).push_back(e);
  if (outside.empty())
    return inner;
  Loop copy = *loop;
  copy.body = guarded(inside, body.body, body.origin, body.purpose);
  return guarded(outside, make(std::move(copy), inner->origin), body.origin, body.purpose);
}

/// The purpose of a condition `loop + n < extent`, which tests whether a later iteration exists.
std::optional<Purpose> purpose_of_later(const Binary &less) {
  const auto *sum = less.a.as<Binary>();
  const Var *loop =
      sum && sum->op == BinaryOp::add && as_int(sum->b) && as_int(less.b) ? sum->a.as<Var>() : nullptr;
  return loop ? std::optional(Purpose{Purpose::Kind::not_last, {*loop}, *as_int(sum->b)}) : std::nullopt;
}

/// States the purpose of guards that compare indices.
Stmt with_purposes(const Stmt &stmt) {
  Stmt inner = map_children(stmt, with_purposes);
  const auto *branch = as<If>(inner);
  if (!branch || branch->otherwise || branch->purpose.kind != Purpose::Kind::none)
    return inner;
  Purpose tail{Purpose::Kind::tail}, next;
  for (const Expr &e : conjuncts_of(branch->condition))
    if (const auto *less = e.as<Binary>()) {
      next = purpose_of_later(*less).value_or(next);
      if (const Var *var = less->a.as<Var>())
        tail.of.push_back(*var);
    }
  If copy = *branch;
  copy.purpose = tail.of.empty() ? next : tail;
  return make(std::move(copy), inner->origin);
}

} // namespace

void hoist_guards(Unit &unit) { unit.kernel().body = with_purposes(hoisted(unit.kernel().body)); }

} // namespace nestsmith::kernel
