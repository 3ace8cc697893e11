#include "dsl/expr/error.h"
#include "lowering/unit.h"
#include "lowering/value_ranges.h"

#include <fmt/format.h>

namespace nestsmith::kernel {

namespace {

/// The limit on the stores that one store is split into.
constexpr int most_stores = 1024;

/// The `branch` to evaluate first, whose condition contains no other `branch`; null if there is none.
const Select *find_branch(const Expr &e) {
  const Select *outer = nullptr;
  any_node(e, [&](const Expr &node) {
    const auto *choice = node.as<Select>();
    outer = choice && choice->branches ? choice : nullptr;
    return outer != nullptr;
  });
  const Select *earlier = outer ? find_branch(outer->condition) : nullptr;
  return earlier ? earlier : outer;
}

/// x = f(branch(c, a, b))   =>   if (c) x = f(a); else x = f(b);
Stmt split(const Stmt &stmt, int &stores) {
  const Select *choice = nullptr;
  each_expr(stmt, [&](const Expr &e) {
    if (!choice)
      choice = find_branch(e);
  });
  if (!choice) {
    if (++stores > most_stores)
      throw UserError(
          ExitCode::illegal_schedule,
          fmt::format("the branches in the value that is stored to {} combine in more than {} ways, "
                      "each of which is code of its own; use select for some of them",
                      as<Store>(stmt)->buffer->name, most_stores));
    return stmt;
  }
  auto side = [&](const Expr &taken) {
    return split(map_exprs(stmt,
                           [&](const Expr &e) {
                             return replace_nodes(e, [&](const Expr &node) {
                               return node.as<Select>() == choice ? taken : Expr();
                             });
                           }),
                 stores);
  };
  return make(
      If{choice->condition, side(choice->when_true), side(choice->when_false), {Purpose::Kind::divergent}},
      stmt->origin);
}

Stmt with_branches_split(const Stmt &stmt) {
  int stores = 0;
  return as<Store>(stmt) ? split(stmt, stores) : map_children(stmt, with_branches_split);
}

} // namespace

void split_branches(Unit &unit) {
  // The range of branch(false, x, 7) is that of 7, but less is known of x alone.
  replace_body(unit.kernel(), with_branches_split(unit.kernel().body));
}

} // namespace nestsmith::kernel
