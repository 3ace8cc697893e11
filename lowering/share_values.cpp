#include "lowering/share_values.h"

#include "dsl/expr/error.h"
#include "dsl/expr/shared_results.h"
#include "lowering/unit.h"
#include "lowering/value_ranges.h"

#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace nestsmith::kernel {

namespace {

/// Trees up to this size are spelled as they are: hand-written kernels repeat short operands.
constexpr std::uint64_t small_tree = 200;
/// Limit on the operations of one statement, so that a compiler takes it in reasonable time.
constexpr std::uint64_t largest_tree = 1 << 16;

struct Node {
  int uses = 0;
  /// Whether the node is evaluated in every execution of the statement. For `in_selects`, both sides of a
  /// select count as evaluated; for `outside`, they do not.
  bool in_selects = false, outside = false;
  bool loads = false, divides = false; ///< it contains a load; an integer division by a variable
};

class Sharer {
public:
  /// `fresh_var` makes the variable of an operand.
  using FreshVar = std::function<Var(const Expr &)>;
  Sharer(const std::vector<Expr> &exprs, const FreshVar &fresh_var, bool of_parts = false)
      : fresh_var_(fresh_var), of_parts_(of_parts) {
    for (const Expr &e : exprs)
      collect(e);
    for (const Expr &e : exprs)
      note(nodes_[e.get()], {.uses = 1, .in_selects = true, .outside = true});
    for (auto e = order_.rbegin(); e != order_.rend(); ++e) // each before its operands
      pass_on(*e);
  }

  Expr operator()(const Expr &e) {
    return done_(e, [&] {
      Expr result = map_children(e, [&](const Expr &child) { return (*this)(child); });
      if (!is_declared(e))
        return result;
      Var var = fresh_var_(e);
      declares.push_back({var, result});
      return Expr(var);
    });
  }

  std::vector<Declare> declares;

private:
  /// Collects the nodes, operands first.
  void collect(const Expr &e) {
    if (nodes_.contains(e.get()))
      return;
    Node node;
    const auto *op = e.as<Binary>();
    node.loads = e.as<Load>() != nullptr;
    node.divides = op && !is_float(op->a.dtype()) && !as_int(op->b) &&
                   (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod);
    for_each_child(e, [&](const Expr &child) {
      collect(child);
      node.loads = node.loads || nodes_[child.get()].loads;
      node.divides = node.divides || nodes_[child.get()].divides;
    });
    nodes_[e.get()] = node;
    order_.push_back(e);
  }

  static void note(Node &node, const Node &use) {
    node.uses += use.uses;
    node.in_selects = node.in_selects || use.in_selects;
    node.outside = node.outside || use.outside;
  }

  /// Passes the properties of a node on to its operands. An operand under a condition is not always evaluated.
  void pass_on(const Expr &e) {
    Node here = nodes_[e.get()];
    here.uses = 1;
    Node never{.uses = 1}, in_select{.uses = 1, .in_selects = here.in_selects};
    auto to = [&](const Expr &child, const Node &use) {
      if (child.exists())
        note(nodes_[child.get()], use);
    };
    if (const auto *access = e.as<Load>()) {
      bool always = is_true(access->mask);
      for (const Expr &index : access->indices)
        to(index, always ? here : never);
      to(access->mask, here);
      to(access->fill, never);
    } else if (const auto *choice = e.as<Select>()) {
      to(choice->condition, here);
      for (const Expr &side : {choice->when_true, choice->when_false})
        to(side, choice->branches ? never : in_select);
    } else if (const auto *op = e.as<Binary>(); op && is_logical(op->op)) {
      to(op->a, here);
      to(op->b, never);
    } else {
      for_each_child(e, [&](const Expr &child) { to(child, here); });
    }
  }

  bool is_declared(const Expr &e) {
    const Node &node = nodes_[e.get()];
    const auto *access = e.as<Load>();
    if (is_tuple(e.dtype())) // its parts are read one by one
      return false;
    bool is_worth_it = node.uses > 1 && (e.node().size >= 3 || access || e.as<Part>()) && e.lanes() == 1 &&
                       (!of_parts_ || (e.node().data && (!access || !in_registers(access->buffer->scope))));
    return is_worth_it && (node.in_selects || !node.loads) && (node.outside || !node.divides);
  }

  const FreshVar &fresh_var_;
  bool of_parts_; ///< whether to declare only data, and no loads from registers
  std::unordered_map<const ExprNode *, Node> nodes_;
  std::vector<Expr> order_;
  SharedResults<Expr> done_;
};

} // namespace

SharedValues share_values(const std::vector<Expr> &exprs, const std::function<std::string()> &fresh_name,
                          const std::string &what) {
  std::uint64_t size = 0;
  for (const Expr &e : exprs)
    size += e.node().size;
  if (size <= small_tree)
    return {{}, exprs};
  Sharer::FreshVar fresh_var = [&](const Expr &e) { return make_var(fresh_name(), e.dtype()); };
  Sharer share(exprs, fresh_var);
  SharedValues result;
  size = 0;
  for (const Expr &e : exprs) {
    result.exprs.push_back(share(e));
    size += result.exprs.back().node().size;
  }
  result.declares = std::move(share.declares);
  for (const Declare &declare : result.declares)
    size += declare.value.node().size;
  if (size > largest_tree)
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("{} has {} operations when each operand is written out, expected at most {}: "
                                "operands are repeated behind a condition that protects their loads or "
                                "divisions; compute the repeated part in a stage of its own",
                                what, size, largest_tree));
  return result;
}

/// The expressions, in which equal nodes are one node.
static std::vector<Expr> with_equal_nodes_shared(const std::vector<Expr> &exprs) {
  auto before = [](const Expr &a, const Expr &b) { return order(a, b) < 0; };
  std::set<Expr, decltype(before)> known(before);
  std::vector<Expr> result;
  for (const Expr &e : exprs)
    result.push_back(rebuild(e, [&](const Expr &node) { return *known.insert(node).first; }));
  return result;
}

SharedValues share_values_of_parts(const std::vector<Expr> &parts) {
  std::vector<Expr> exprs = with_equal_nodes_shared(parts);
  Sharer::FreshVar fresh_var = [](const Expr &e) {
    return make_data(e.dtype() == DType::boolean ? "chosen" : "x", e.dtype());
  };
  Sharer share(exprs, fresh_var, true);
  SharedValues result;
  for (const Expr &e : exprs)
    result.exprs.push_back(share(e));
  result.declares = std::move(share.declares);
  return result;
}

namespace {

class Statements {
public:
  Stmt operator()(const Stmt &stmt) {
    Stmt inside = map_children(stmt, [&](const Stmt &child) { return (*this)(child); });
    if (as<Loop>(inside)) // the extent of a loop contains only sizes
      return inside;
    std::vector<Expr> exprs;
    each_expr(inside, [&](const Expr &e) { exprs.push_back(e); });
    const auto *store = as<Store>(inside);
    SharedValues shared = share_values(
        exprs, [&] { return fmt::format("t{}", ++names_); },
        store ? "the value that is stored to " + store->buffer->name : "a condition or an index");
    if (shared.declares.empty())
      return inside;
    std::vector<Stmt> stmts;
    for (Declare &declare : shared.declares)
      stmts.push_back(make(std::move(declare), inside->origin));
    std::size_t next = 0;
    stmts.push_back(map_exprs(inside, [&](const Expr &) { return shared.exprs[next++]; }));
    return make_seq(std::move(stmts));
  }

private:
  int names_ = 0;
};

} // namespace

Stmt share_values(const Stmt &body) { return Statements()(body); }

void share_values(Unit &unit) { replace_body(unit.kernel(), share_values(unit.kernel().body)); }

} // namespace nestsmith::kernel
