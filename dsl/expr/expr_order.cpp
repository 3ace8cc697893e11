#include "dsl/expr/expr.h"

#include <algorithm>
#include <bit>
#include <set>

namespace nestsmith {

namespace {

using Order = std::strong_ordering;

class Comparison {
public:
  Order order(const Expr &a, const Expr &b) {
    if (a.get() == b.get())
      return Order::equal;
    if (!a.exists() || !b.exists())
      return a.exists() <=> b.exists();
    if (a.node().kind.index() != b.node().kind.index())
      return b.node().kind.index() <=> a.node().kind.index(); // computed values come before variables
    bool recurs = a.may_recur() && b.may_recur();
    if (recurs && equal_.contains({a.get(), b.get()}))
      return Order::equal;
    Order result = a.visit([&]<class Kind>(const Kind &kind) { return order_of(kind, *b.as<Kind>()); });
    if (recurs && result == 0)
      equal_.emplace(a.get(), b.get());
    return result;
  }

private:
  Order order(const std::vector<Expr> &a, const std::vector<Expr> &b) {
    for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n)
      if (Order by = order(a[n], b[n]); by != 0)
        return by;
    return a.size() <=> b.size();
  }

  /// Compares two nodes of one kind part by part. The first difference decides.
  Order order_of(const IntImm &a, const IntImm &b) {
    return a.value != b.value ? a.value <=> b.value : a.dtype <=> b.dtype;
  }
  Order order_of(const FloatImm &a, const FloatImm &b) {
    auto bits = [](double value) { return std::bit_cast<std::int64_t>(value); }; // 0.0 is not -0.0
    return bits(a.value) != bits(b.value) ? bits(a.value) <=> bits(b.value) : a.dtype <=> b.dtype;
  }
  /// Compares names, as a reader expects it. Variables of one name have the order in which they were made.
  Order order_of(const Var &a, const Var &b) {
    Order by = a->name <=> b->name;
    return by != 0 ? by : a <=> b;
  }
  Order order_of(const Binary &a, const Binary &b) {
    if (Order by = order(a.a, b.a); by != 0)
      return by;
    return a.op != b.op ? a.op <=> b.op : order(a.b, b.b);
  }
  Order order_of(const Not &a, const Not &b) { return order(a.a, b.a); }
  Order order_of(const Select &a, const Select &b) {
    if (a.branches != b.branches)
      return a.branches <=> b.branches;
    if (Order by = order(a.condition, b.condition); by != 0)
      return by;
    Order by = order(a.when_true, b.when_true);
    return by != 0 ? by : order(a.when_false, b.when_false);
  }
  Order order_of(const Cast &a, const Cast &b) {
    return a.dtype != b.dtype ? a.dtype <=> b.dtype : order(a.a, b.a);
  }
  Order order_of(const Load &a, const Load &b) {
    if (a.buffer != b.buffer)
      return a.buffer <=> b.buffer;
    if (a.lanes != b.lanes)
      return a.lanes <=> b.lanes;
    if (Order by = order(a.indices, b.indices); by != 0)
      return by;
    Order by = order(a.mask, b.mask);
    return by != 0 ? by : order(a.fill, b.fill);
  }
  Order order_of(const Lane &a, const Lane &b) {
    Order by = order_of(a.vector, b.vector);
    return by != 0 ? by : a.index <=> b.index;
  }
  Order order_of(const Pack &a, const Pack &b) { return order(a.lanes, b.lanes); }
  Order order_of(const Call &a, const Call &b) {
    if (a.function == b.function)
      return order(a.arguments, b.arguments);
    Order by = a.function->name <=> b.function->name; // functions of one name differ in the dtypes of operands
    if (by == 0)
      by = order(a.function->meaning, b.function->meaning);
    return by;
  }

  Order order_of(const Tuple &a, const Tuple &b) {
    return a.dtype != b.dtype ? a.dtype <=> b.dtype : order(a.parts, b.parts);
  }
  Order order_of(const Part &a, const Part &b) {
    return a.index != b.index ? a.index <=> b.index : order(a.a, b.a);
  }

  /// Pairs that compared equal. The first difference ends the comparison.
  std::set<std::pair<const ExprNode *, const ExprNode *>> equal_;
};

} // namespace

Order order(const Expr &a, const Expr &b) { return Comparison().order(a, b); }

bool same(const Expr &a, const Expr &b) {
  bool alike = a.get() == b.get() || (a.exists() && b.exists() && a.node().size == b.node().size);
  return alike && order(a, b) == 0;
}

} // namespace nestsmith
