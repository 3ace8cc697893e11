#include "lowering/unit.h"

#include <algorithm>
#include <set>

namespace nestsmith::kernel {

namespace {
using Conjuncts = std::vector<Expr>;

Conjuncts conjuncts_of(const Expr &condition) {
  if (const auto *both = condition.as<Binary>(); both && both->op == BinaryOp::logical_and) {
    Conjuncts left = conjuncts_of(both->a), right = conjuncts_of(both->b);
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }
  return {condition};
}

bool contains(const Conjuncts &set, const Expr &e) {
  return std::any_of(set.begin(), set.end(), [&](const Expr &x) { return same(x, e); });
}

Stmt guarded(const Conjuncts &conjuncts, Stmt body, const Origin &origin) {
  Expr condition;
  for (const Expr &e : conjuncts)
    condition = condition.exists() ? condition && e : e;
  return condition.exists() ? make(If{condition, "", std::move(body)}, origin) : body;
}

/// The conjuncts of the guard of a statement, and the body of the guard. If there is no guard, or if it has an
/// else, there are no conjuncts, and the body is the whole statement.
struct Guarded {
  Conjuncts conjuncts;
  Stmt body;
  Origin origin = nullptr; ///< of the guard
};
Guarded take_apart(const Stmt &stmt) {
  const auto *branch = as<If>(stmt);
  return branch && !branch->otherwise ? Guarded{conjuncts_of(branch->condition), branch->body, stmt->origin}
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
      return guarded(x.conjuncts, x.body, x.origin);
    };
    result.back() = guarded(common, make_seq({rest(last), rest(next)}), joined({last.origin, next.origin}));
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
  copy.body = guarded(inside, body.body, body.origin);
  return guarded(outside, make(std::move(copy), inner->origin), body.origin);
}

/// The note for a condition `loop + n < extent`, which tests whether a later iteration exists; else empty.
std::string note_on_later(const Binary &less) {
  const auto *sum = less.a.as<Binary>();
  const Var *loop =
      sum && sum->op == BinaryOp::add && as_int(sum->b) && as_int(less.b) ? sum->a.as<Var>() : nullptr;
  if (!loop)
    return "";
  std::int64_t last = *as_int(sum->b);
  std::string iterations = last == 1 ? "iteration" : std::to_string(last) + " iterations";
  return "not in the last " + iterations + " of " + (*loop)->name;
}

/// Adds notes to guards: "tail of i", "not in the last iteration of k".
Stmt annotate(const Stmt &stmt) {
  Stmt inner = map_children(stmt, annotate);
  const auto *branch = as<If>(inner);
  if (!branch || branch->otherwise || !branch->note.empty())
    return inner;
  std::set<std::string> names;
  std::string list, next;
  for (const Expr &e : conjuncts_of(branch->condition))
    if (const auto *less = e.as<Binary>()) {
      if (std::string later = note_on_later(*less); !later.empty())
        next = later;
      if (const Var *var = less->a.as<Var>(); var && names.insert((*var)->name).second)
        list += (list.empty() ? "" : ", ") + (*var)->name;
    }
  If copy = *branch;
  copy.note = list.empty() ? next : "tail of " + list;
  return make(std::move(copy), inner->origin);
}

} // namespace

void hoist_guards(Unit &unit) { unit.kernel.body = annotate(hoisted(unit.kernel.body)); }

} // namespace nestsmith::kernel
