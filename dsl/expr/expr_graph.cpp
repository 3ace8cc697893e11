#include "dsl/expr/expr.h"

#include "dsl/expr/shared_results.h"

#include <llvm/ADT/SmallPtrSet.h>

namespace nestsmith {

namespace {

/// The visited nodes, except those that cannot occur twice.
class VisitedNodes {
public:
  bool add(const Expr &e) { return !e.may_recur() || nodes_.insert(e.get()).second; }

private:
  llvm::SmallPtrSet<const ExprNode *, 16> nodes_;
};

} // namespace

static void walk(const Expr &e, FunctionRef<void(const Expr &)> f, VisitedNodes &visited) {
  if (!visited.add(e))
    return;
  f(e);
  for_each_child(e, [&](const Expr &child) { walk(child, f, visited); });
}
void walk(const Expr &e, FunctionRef<void(const Expr &)> f) {
  VisitedNodes visited;
  walk(e, f, visited);
}

static void walk_up(const Expr &e, FunctionRef<void(const Expr &)> f, VisitedNodes &visited) {
  if (!visited.add(e))
    return;
  for_each_child(e, [&](const Expr &child) { walk_up(child, f, visited); });
  f(e);
}
void walk_up(const Expr &e, FunctionRef<void(const Expr &)> f) {
  VisitedNodes visited;
  walk_up(e, f, visited);
}

static bool any_node(const Expr &e, FunctionRef<bool(const Expr &)> f, VisitedNodes &visited) {
  if (!visited.add(e))
    return false;
  bool found = f(e);
  if (!found)
    for_each_child(e, [&](const Expr &child) { found = found || any_node(child, f, visited); });
  return found;
}
bool any_node(const Expr &e, FunctionRef<bool(const Expr &)> f) {
  VisitedNodes visited;
  return any_node(e, f, visited);
}

bool reads_memory(const Expr &e) {
  return e.node().data && any_node(e, [](const Expr &node) { return node.as<Load>() != nullptr; });
}
bool uses(const Expr &e, const Var &var) {
  return (e.node().vars & var->serial.bit()) && any_node(e, [&](const Expr &node) {
           const Var *other = node.as<Var>();
           const auto *element = node.as<Lane>();
           return (other && *other == var) || (element && element->vector == var);
         });
}
bool uses_size(const Expr &e) { return e.node().sizes; }

const Binary *comparison_of_indices(const Expr &condition) {
  const auto *op = condition.as<Binary>();
  return op && is_comparison(op->op) && op->a.dtype() == DType::i64 && !op->a.node().data && !op->b.node().data
             ? op
             : nullptr;
}
const Binary *order_of_indices(const Expr &condition) {
  const Binary *op = comparison_of_indices(condition);
  return op && (op->op == BinaryOp::lt || op->op == BinaryOp::le) ? op : nullptr;
}

Expr under_guard(const Expr &guard, const Expr &mask) {
  if (!mask.exists())
    return guard;
  return reads_memory(mask) ? guard && mask : mask && guard;
}

static Expr replace_nodes(const Expr &e, FunctionRef<Expr(const Expr &)> f, SharedResults<Expr> &done) {
  return done(e, [&] {
    Expr replacement = f(e);
    return replacement.exists()
               ? replacement
               : map_children(e, [&](const Expr &child) { return replace_nodes(child, f, done); });
  });
}
Expr replace_nodes(const Expr &e, FunctionRef<Expr(const Expr &)> f) {
  SharedResults<Expr> done;
  return e.exists() ? replace_nodes(e, f, done) : e;
}

static Expr rebuild(const Expr &e, FunctionRef<Expr(const Expr &)> f, SharedResults<Expr> &done) {
  return done(e,
              [&] { return f(map_children(e, [&](const Expr &child) { return rebuild(child, f, done); })); });
}
Expr rebuild(const Expr &e, FunctionRef<Expr(const Expr &)> f) {
  SharedResults<Expr> done;
  return e.exists() ? rebuild(e, f, done) : e;
}

/// `f` replaces only variables of which a bit is in `vars`.
static Expr substitute(const Expr &e, FunctionRef<Expr(const Var &)> f, std::uint64_t vars) {
  return replace_nodes(e, [&](const Expr &node) -> Expr {
    if (!(node.node().vars & vars))
      return node;
    if (const Var *var = node.as<Var>())
      return f(*var);
    const auto *element = node.as<Lane>();
    Expr replacement = element ? f(element->vector) : Expr();
    return replacement.exists() ? lane(*replacement.as<Var>(), element->index) : Expr();
  });
}

Expr substitute(const Expr &e, FunctionRef<Expr(const Var &)> f) { return substitute(e, f, ~std::uint64_t{0}); }

Expr substitute(const Expr &e, const std::map<Var, Expr> &values) {
  std::uint64_t vars = 0;
  for (const auto &[var, value] : values)
    vars |= var->serial.bit();
  auto value_of = [&](const Var &var) {
    auto it = values.find(var);
    return it == values.end() ? Expr() : it->second;
  };
  return substitute(e, value_of, vars);
}

} // namespace nestsmith
