#include "lowering/verify_kernel.h"

#include "dsl/printer.h"
#include "dsl/simplify.h"

#include <fmt/format.h>
#include <set>

namespace nestsmith::kernel {

namespace {

class Verifier {
public:
  Verifier(const Kernel &kernel, bool finished) : finished_(finished) {
    for (const ThreadIndex &index : kernel.indices)
      define(index.var, Range{0, index.extent - 1});
    for (const Var &scalar : kernel.scalars)
      visible_.insert(scalar);
    buffers_.insert(kernel.params.begin(), kernel.params.end());
    for (const auto *list : {&kernel.shared, &kernel.local})
      for (const Allocation &allocation : *list)
        buffers_.insert(allocation.buffer);
    check(kernel.body, false);
  }
  std::optional<std::string> breach;

private:
  template <class... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    if (!breach)
      breach = fmt::format(format, std::forward<Args>(args)...);
  }

  void define(const Var &var, std::optional<Range> range) {
    if (!visible_.insert(var).second)
      fail("{} is declared twice", var->name);
    if (range)
      bounds_.set(var, *range);
  }

  void check(const Expr &e) {
    walk(e, [&](const Expr &node) {
      if (const Var *var = node.as<Var>(); var && !visible_.count(*var))
        fail("{} is used where it is not visible", (*var)->name);
      if (const auto *access = node.as<Load>(); access && !buffers_.count(access->buffer))
        fail("{} is read but not allocated", access->buffer->name);
      if (const auto *choice = node.as<Select>(); finished_ && choice && choice->branches)
        fail("{} is left in an expression", to_string(node));
      const auto *op = node.as<Binary>();
      if (!finished_ || !op || !is_index(op->a.dtype()) ||
          (op->op != BinaryOp::floordiv && op->op != BinaryOp::floormod))
        return;
      auto range = range_of(op->a, bounds_);
      auto divisor = as_int(op->b);
      if (!range || range->low < 0 || !divisor || *divisor < 1)
        fail("{} has operands that may be negative", to_string(node));
    });
  }

  void check(const Stmt &stmt, bool divergent) {
    visit(stmt,
          Overloaded{
              [&](const Declare &x) {
                check(x.value);
                define(x.var, range_of(x.value, bounds_));
              },
              [&](const Loop &x) {
                check(x.extent);
                std::set<Var> outside = visible_;
                define(x.var, as_int(x.extent) ? std::optional(Range{0, *as_int(x.extent) - 1}) : std::nullopt);
                check(x.body, divergent);
                visible_ = std::move(outside);
              },
              [&](const If &x) {
                check(x.condition);
                std::set<Var> outside = visible_;
                check(x.body, true);
                visible_ = outside;
                if (x.otherwise)
                  check(x.otherwise, true);
                visible_ = std::move(outside);
              },
              [&](const Seq &x) {
                for (const Stmt &child : x.stmts)
                  check(child, divergent);
              },
              [&](const Store &x) {
                for (const Expr &index : x.indices)
                  check(index);
                check(x.value);
                if (!buffers_.count(x.buffer))
                  fail("{} is written but not allocated", x.buffer->name);
                if (x.buffer->role == Role::input)
                  fail("the input {} is written", x.buffer->name);
              },
              [&](const Barrier &) {
                if (divergent)
                  fail("a barrier stands below a guard");
              },
          });
  }

  bool finished_;
  std::set<Var> visible_;
  std::set<Buffer> buffers_;
  Bounds bounds_;
};

} // namespace

std::optional<std::string> find_breach(const Kernel &kernel, bool finished) {
  return Verifier(kernel, finished).breach;
}

} // namespace nestsmith::kernel
