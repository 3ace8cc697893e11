#include "lowering/unit.h"

namespace nestsmith::kernel {

namespace {

/// The `branch` to evaluate first, whose condition contains no other `branch`; null if there is none.
const Select *find_branch(const Expr &e) {
  if (!e.exists())
    return nullptr;
  if (const auto *choice = e.as<Select>(); choice && choice->branches) {
    const Select *earlier = find_branch(choice->condition);
    return earlier ? earlier : choice;
  }
  const Select *found = nullptr;
  for_each_child(e, [&](const Expr &child) {
    if (!found)
      found = find_branch(child);
  });
  return found;
}

Expr replace(const Expr &e, const Select *from, const Expr &to) {
  if (!e.exists() || e.as<Select>() == from)
    return e.exists() ? to : e;
  return map_children(e, [&](const Expr &child) { return replace(child, from, to); });
}

/// x = f(branch(c, a, b))   =>   if (c) x = f(a); else x = f(b);
Stmt split(const Stmt &stmt) {
  const Select *choice = nullptr;
  map_exprs(stmt, [&](const Expr &e) {
    if (!choice)
      choice = find_branch(e);
    return e;
  });
  if (!choice)
    return stmt;
  auto side = [&](const Expr &taken) {
    return split(map_exprs(stmt, [&](const Expr &e) { return replace(e, choice, taken); }));
  };
  std::string note = "where lanes of a warp differ, it runs both sides";
  return make(If{choice->condition, note, side(choice->when_true), side(choice->when_false)});
}

Stmt rewrite(const Stmt &stmt) { return as<Store>(stmt) ? split(stmt) : map_children(stmt, rewrite); }

} // namespace

void split_branches(Unit &unit) { unit.kernel.body = rewrite(unit.kernel.body); }

} // namespace nestsmith::kernel
