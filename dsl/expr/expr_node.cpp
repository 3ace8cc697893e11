#include "dsl/expr/expr.h"

#include "dsl/expr/node_pool.h"

#include <algorithm>

namespace nestsmith {

namespace {

DType dtype_of(const IntImm &e) { return e.dtype; }
DType dtype_of(const FloatImm &e) { return e.dtype; }
DType dtype_of(const Var &e) { return e->dtype; }
DType dtype_of(const Binary &e) { return yields_boolean(e.op) ? DType::boolean : e.a.dtype(); }
DType dtype_of(const Not &) { return DType::boolean; }
DType dtype_of(const Select &e) { return e.when_true.dtype(); }
DType dtype_of(const Cast &e) { return e.dtype; }
DType dtype_of(const Load &e) { return e.buffer->dtype; }
DType dtype_of(const Lane &e) { return e.vector->dtype; }
DType dtype_of(const Pack &e) { return e.lanes.front().dtype(); }
DType dtype_of(const Call &e) { return e.function->result; }
DType dtype_of(const Tuple &e) { return e.dtype; }
DType dtype_of(const Part &e) { return parts_of(e.a.dtype())[static_cast<std::size_t>(e.index)].dtype; }

/// Whether the kind alone makes the value data.
template <class Kind> bool is_data(const Kind &) {
  return std::is_same_v<Kind, Load> || std::is_same_v<Kind, Lane> || std::is_same_v<Kind, Call> ||
         std::is_same_v<Kind, Cast>;
}
bool is_data(const Var &e) { return e->data; }

bool is_size(const auto &) { return false; }
bool is_size(const Var &e) { return e->size.has_value(); }

std::uint64_t bit_of(const auto &) { return 0; }
std::uint64_t bit_of(const Var &e) { return e->serial.bit(); }
std::uint64_t bit_of(const Lane &e) { return e.vector->serial.bit(); }

/// Calls `f` with each operand of a node. The node is passed as its concrete kind.
template <class F> struct Operands {
  F f;
  void operator()(const IntImm &) {}
  void operator()(const FloatImm &) {}
  void operator()(const Var &) {}
  void operator()(const Lane &) {}
  void operator()(auto &x) requires requires { x.b; }
  {
    f(x.a);
    f(x.b);
  }
  void operator()(auto &x) requires(
      requires { x.a; } && !requires { x.b; }) {
    f(x.a);
  }
  void operator()(auto &x) requires requires { x.condition; }
  {
    f(x.condition);
    f(x.when_true);
    f(x.when_false);
  }
  void operator()(auto &x) requires requires { x.indices; }
  {
    std::ranges::for_each(x.indices, f);
    for (auto *operand : {&x.mask, &x.fill})
      if (operand->exists())
        f(*operand);
  }
  void operator()(auto &x) requires requires { x.lanes.front(); }
  { std::ranges::for_each(x.lanes, f); }
  void operator()(auto &x) requires requires { x.arguments; }
  { std::ranges::for_each(x.arguments, f); }
  void operator()(auto &x) requires requires { x.parts; }
  { std::ranges::for_each(x.parts, f); }
};

} // namespace

void for_each_child(const Expr &e, FunctionRef<void(const Expr &)> f) { e.visit(Operands{f}); }

void ExprNode::measure() {
  Operands operands{[&](const Expr &operand) {
    const ExprNode &node = operand.node();
    depth = std::max(depth, node.depth + 1);
    size = std::min(size + node.size, std::uint64_t{1} << 62);
    data |= node.data;
    sizes |= node.sizes;
    vars |= node.vars;
  }};
  visit_kind(
      [&](const auto &x) {
        dtype = dtype_of(x);
        data = is_data(x);
        sizes = is_size(x);
        vars = bit_of(x);
        operands(x);
      },
      kind);
}

void ExprNode::release(std::vector<Expr> &children) {
  visit_kind(Operands{[&](Expr &operand) { children.push_back(std::move(operand)); }}, kind);
}

void *ExprNode::operator new(std::size_t bytes) { return take_node(bytes); }
void ExprNode::operator delete(void *memory) noexcept { release_node(memory); }

void Expr::release(const ExprNode &node) noexcept {
  // The only owner needs no atomic decrement: no other thread can copy an Expr that it does not have.
  std::uint32_t owners = node.owners.load(std::memory_order_acquire);
  if (owners != 1 && is_single_threaded())
    node.owners.store(owners - 1, std::memory_order_relaxed);
  else if (owners == 1 || node.owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete &node;
}

/// Frees the operands of a deep node in a loop. The recursive destruction of members would overflow the stack.
ExprNode::~ExprNode() {
  constexpr std::uint32_t deep = 256;
  if (depth < deep)
    return;
  std::vector<Expr> children;
  release(children);
  while (!children.empty()) {
    Expr last = std::move(children.back());
    children.pop_back();
    // Acquires, so that this comes after all accesses of other threads to the node.
    if (last.exists() && last.node().depth >= deep && last.node().owners.load(std::memory_order_acquire) == 1)
      const_cast<ExprNode *>(last.get())->release(children);
  }
}

/// The results of `f`, or none if it changes no element.
static std::optional<std::vector<Expr>> mapped(const std::vector<Expr> &list,
                                               FunctionRef<Expr(const Expr &)> f) {
  std::optional<std::vector<Expr>> changed;
  for (std::size_t n = 0; n < list.size(); ++n) {
    Expr result = f(list[n]);
    if (!changed && result.get() != list[n].get())
      changed = list; // keeps the elements before this one
    if (changed)
      (*changed)[n] = std::move(result);
  }
  return changed;
}

Expr map_children(const Expr &e, FunctionRef<Expr(const Expr &)> f) {
  return e.visit(Overloaded{
      [&](const IntImm &) { return e; },
      [&](const FloatImm &) { return e; },
      [&](const Var &) { return e; },
      [&](const Binary &x) {
        Expr a = f(x.a), b = f(x.b);
        return a.get() == x.a.get() && b.get() == x.b.get() ? e : binary(x.op, a, b);
      },
      [&](const Not &x) {
        Expr a = f(x.a);
        return a.get() == x.a.get() ? e : logical_not(a);
      },
      [&](const Select &x) {
        Expr c = f(x.condition), t = f(x.when_true), u = f(x.when_false);
        bool kept =
            c.get() == x.condition.get() && t.get() == x.when_true.get() && u.get() == x.when_false.get();
        return kept ? e : x.branches ? branch(c, t, u) : select(c, t, u);
      },
      [&](const Cast &x) {
        Expr a = f(x.a);
        return a.get() == x.a.get() ? e : cast(x.dtype, a);
      },
      [&](const Load &x) {
        auto indices = mapped(x.indices, f);
        Expr mask = x.mask.exists() ? f(x.mask) : x.mask, fill = x.fill.exists() ? f(x.fill) : x.fill;
        bool kept = !indices && mask.get() == x.mask.get() && fill.get() == x.fill.get();
        return kept ? e : load(x.buffer, std::move(indices).value_or(x.indices), mask, fill, x.lanes);
      },
      [&](const Lane &) { return e; },
      [&](const Pack &x) {
        auto lanes = mapped(x.lanes, f);
        return lanes ? pack(std::move(*lanes)) : e;
      },
      [&](const Call &x) {
        auto arguments = mapped(x.arguments, f);
        return arguments ? call(*x.function, std::move(*arguments)) : e;
      },
      [&](const Tuple &x) {
        auto parts = mapped(x.parts, f);
        return parts ? tuple(x.dtype, std::move(*parts)) : e;
      },
      [&](const Part &x) {
        Expr a = f(x.a);
        return a.get() == x.a.get() ? e : part(a, static_cast<std::size_t>(x.index));
      },
  });
}

} // namespace nestsmith
