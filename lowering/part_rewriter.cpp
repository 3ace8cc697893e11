#include "lowering/part_rewriter.h"

#include "dsl/expr/conjuncts.h"
#include "dsl/expr/error.h"

#include <algorithm>

namespace nestsmith::kernel {

namespace {

/// The number of conditions that all must hold.
std::int64_t parts_of_condition(const Expr &condition) {
  return std::ranges::count_if(conjuncts_of(condition), [](const Expr &part) { return !is_true(part); });
}

} // namespace

void PartRewriter::assume(std::vector<Expr> conditions, std::set<Var> blocks) {
  assumed_ = std::move(conditions);
  blocks_ = std::move(blocks);
}

bool PartRewriter::depends_on(const Var &var) const {
  return std::ranges::any_of(left_, [&](const Expr &condition) { return uses(condition, var); });
}

std::vector<Expr> PartRewriter::conditions_of_blocks(const std::set<Var> &blocks) const {
  std::vector<Expr> found;
  for (const Expr &condition : left_)
    add_conditions(condition, blocks, found);
  return found;
}

Stmt PartRewriter::rewrite(const Stmt &stmt) {
  Stmt result = rewrite_parts(stmt);
  return result && (as<Declare>(result) || does_something(result)) ? result : nullptr;
}

void PartRewriter::assume(const Expr &condition) {
  const auto *op = condition.as<Binary>();
  if (op && op->op == BinaryOp::logical_and) {
    assume(op->a);
    return assume(op->b);
  }
  op = order_of_indices(condition);
  if (!op || op->op != BinaryOp::lt)
    return;
  Linear less = linearize(op->a - op->b, bounds_);
  if (less.terms.size() != 1 || less.terms.front().coefficient != 1 || less.terms.front().digit.mod != 0)
    return;
  const Digit &digit = less.terms.front().digit;
  const Var *var = digit.base.as<Var>();
  auto range = var ? bounds_.find(*var) : std::nullopt;
  if (range && -less.constant * digit.div <= range->high)
    bounds_.set(*var, {range->low, std::max(range->low, -less.constant * digit.div - 1)});
}

void PartRewriter::enter(const Declare &declare) {
  definitions_[declare.var] = expanded(declare.value);
  if (auto range = range_of(declare.value, bounds_))
    bounds_.set(declare.var, *range);
}

Stmt PartRewriter::rewrite_body(const Stmt &stmt) {
  Stmt body = rewrite(stmt);
  return body && as<Declare>(body) ? nullptr : body;
}

bool PartRewriter::does_something(const Stmt &stmt) {
  bool found = false;
  walk(stmt,
       [&](const Stmt &child) { found = found || as<Store>(child) || as<BulkCopy>(child) || as<Sync>(child); });
  return found;
}

Stmt PartRewriter::rewrite_parts(const Stmt &stmt) {
  return visit(stmt,
               Overloaded{
                   [&](const Declare &x) -> Stmt {
                     Expr value = rewrite(x.value);
                     Var var = fresh(x.var);
                     definitions_[var] = expanded(value);
                     if (auto range = range_of(value, bounds_))
                       bounds_.set(var, *range);
                     return make(Declare{var, value}, stmt->origin);
                   },
                   [&](const Loop &x) -> Stmt {
                     Loop copy = x;
                     copy.extent = rewrite(x.extent);
                     copy.var = fresh(x.var);
                     bounds_.set_extent(copy.var, copy.extent);
                     copy.body = rewrite_body(x.body);
                     return copy.body ? make(std::move(copy), stmt->origin) : nullptr;
                   },
                   [&](const If &x) { return rewrite_branch(x, stmt->origin); },
                   [&](const Seq &x) -> Stmt {
                     std::vector<Stmt> stmts;
                     for (const Stmt &child : x.stmts)
                       stmts.push_back(rewrite(child));
                     std::erase(stmts, nullptr);
                     return stmts.empty() ? nullptr : make_seq(std::move(stmts));
                   },
                   [&](const Store &) { return map_exprs(stmt, [&](const Expr &e) { return rewrite(e); }); },
                   [&](const Call &) -> Stmt { internal_error("a call before the pass flatten"); },
                   [&](const BulkCopy &) { return map_exprs(stmt, [&](const Expr &e) { return rewrite(e); }); },
                   [&](const Sync &x) -> Stmt { // each part has statements of its own
                     Sync copy = x;
                     if (Var declared = x.declares())
                       copy.set_declared(fresh(declared));
                     for (Expr *operand : copy.uses())
                       *operand = rewrite(*operand);
                     return make(std::move(copy), stmt->origin);
                   },
               });
}

Var PartRewriter::fresh(const Var &var) {
  Var copy = make_var(var->name, var->dtype);
  values_[var] = copy;
  return copy;
}

Expr PartRewriter::rewrite(const Expr &e) {
  Expr result = substitute(e, [&](const Var &var) {
    auto it = values_.find(var);
    return it == values_.end() ? Expr() : it->second;
  });
  return rebuild(result, [&](const Expr &node) { return without_mask(node); });
}

Expr PartRewriter::without_mask(const Expr &e) {
  const auto *access = e.as<Load>();
  if (!access || !access->mask.exists())
    return e;
  Expr mask = left_of(access->mask);
  note(mask);
  return is_true(mask) ? load(access->buffer, access->indices)
                       : load(access->buffer, access->indices, mask, access->fill);
}

void PartRewriter::note(const Expr &left) {
  conditions += separate ? parts_of_condition(left) : !is_true(left);
  if (!is_true(left))
    left_.push_back(expanded(left));
}

Expr PartRewriter::left_of(const Expr &condition) const {
  if (const auto *both = condition.as<Binary>(); both && both->op == BinaryOp::logical_and) {
    Expr a = left_of(both->a), b = left_of(both->b);
    return is_true(a) ? b : (is_true(b) ? a : a && b);
  }
  bool holds = proves(condition, bounds_) || proves(expanded(condition), bounds_) || is_assumed(condition);
  return holds ? boolean(true) : condition;
}

bool PartRewriter::is_assumed(const Expr &condition) const {
  if (assumed_.empty())
    return false;
  std::vector<Expr> needed;
  add_conditions(expanded(condition), blocks_, needed);
  return !needed.empty() &&
         std::ranges::any_of(assumed_, [&](const Expr &known) { return same(known, needed.front()); });
}

void PartRewriter::add_conditions(const Expr &condition, const std::set<Var> &blocks,
                                  std::vector<Expr> &found) const {
  const auto *op = condition.as<Binary>();
  if (op && op->op == BinaryOp::logical_and) {
    add_conditions(op->a, blocks, found);
    return add_conditions(op->b, blocks, found);
  }
  op = order_of_indices(condition);
  if (!op || op->op != BinaryOp::lt)
    return;
  Linear of_block, rest = linearize(op->a - op->b, bounds_);
  auto is_of_block = [&](const Expr &node) {
    const Var *var = node.as<Var>();
    return var && blocks.contains(*var);
  };
  auto is_of_other = [&](const Expr &node) {
    const Var *var = node.as<Var>();
    return (var && !blocks.contains(*var) && !(*var)->size) || node.as<Load>();
  };
  bool moves = false;
  for (const Term &term : rest.terms) {
    if (any_node(term.digit.base, is_of_other))
      continue;
    moves = moves || any_node(term.digit.base, is_of_block);
    of_block.terms.push_back(term);
  }
  std::erase_if(rest.terms, [&](const Term &term) { return !any_node(term.digit.base, is_of_other); });
  bool mixed =
      std::ranges::any_of(rest.terms, [&](const Term &term) { return any_node(term.digit.base, is_of_block); });
  auto range = range_of(to_expr(rest), bounds_);
  if (!moves || mixed || !range)
    return;
  Expr needed = to_expr(of_block) < Expr(-range->high);
  if (std::ranges::none_of(found, [&](const Expr &other) { return same(other, needed); }))
    found.push_back(needed);
}

Expr PartRewriter::expanded(const Expr &e) const {
  return substitute(e, [&](const Var &var) {
    auto it = definitions_.find(var);
    return it == definitions_.end() ? Expr() : it->second;
  });
}

Stmt PartRewriter::rewrite_branch(const If &x, const Origin &origin) {
  If copy = x;
  copy.condition = left_of(rewrite(x.condition));
  if (is_true(copy.condition))
    return rewrite_body(x.body);
  if (proves(logical_not(copy.condition), bounds_))
    return x.otherwise ? rewrite_body(x.otherwise) : nullptr;
  const bool optional = x.purpose.kind == Purpose::Kind::past;
  if (!optional && x.purpose.kind != Purpose::Kind::with_terms) // this one remains in each part
    note(copy.condition);
  Bounds outside = bounds_;
  if (!optional)
    assume(copy.condition);
  copy.body = rewrite_body(x.body);
  bounds_ = std::move(outside);
  copy.otherwise = x.otherwise ? rewrite_body(x.otherwise) : nullptr;
  if (!copy.body && copy.otherwise) {
    copy.condition = logical_not(copy.condition);
    std::swap(copy.body, copy.otherwise);
  }
  return copy.body ? make(std::move(copy), origin) : nullptr;
}

} // namespace nestsmith::kernel
