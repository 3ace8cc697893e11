#include "dsl/expr/expr_text.h"

#include "dsl/expr/expr.h"
#include "dsl/expr/shared_results.h"

#include <fmt/format.h>
#include <functional>
#include <unordered_map>
#include <utility>

namespace nestsmith {

namespace {

constexpr int product = sum_precedence + 1, prefix = product + 1, function = prefix + 1;

struct OperatorText {
  const char *text;
  int precedence;
};

OperatorText text_of_operator(BinaryOp op) {
  switch (op) {
  case BinaryOp::logical_or:
    return {" or ", 1};
  case BinaryOp::logical_and:
    return {" and ", 2};
  case BinaryOp::lt:
    return {" < ", 3};
  case BinaryOp::le:
    return {" <= ", 3};
  case BinaryOp::eq:
    return {" == ", 3};
  case BinaryOp::ne:
    return {" != ", 3};
  case BinaryOp::bit_or:
    return {" | ", 4};
  case BinaryOp::bit_xor:
    return {" ^ ", 5};
  case BinaryOp::bit_and:
    return {" & ", 6};
  case BinaryOp::shift_left:
    return {" << ", 7};
  case BinaryOp::shift_right:
    return {" >> ", 7};
  case BinaryOp::add:
    return {" + ", sum_precedence};
  case BinaryOp::sub:
    return {" - ", sum_precedence};
  case BinaryOp::mul:
    return {"*", product};
  case BinaryOp::div:
    return {"/", product};
  case BinaryOp::floordiv:
    return {"//", product};
  case BinaryOp::floormod:
    return {"%", product};
  case BinaryOp::min:
    return {"min", function};
  case BinaryOp::max:
    return {"max", function};
  }
  return {"?", 0};
}

std::string binary_text(const Binary &e, int context) {
  for (auto [operand, sign] : {std::pair(negated(e), '-'), std::pair(complemented(e), '~')})
    if (operand) {
      std::string body = sign + text_within(*operand, prefix);
      return context > product ? "(" + body + ")" : body;
    }
  auto [symbol, precedence] = text_of_operator(e.op);
  if (precedence == function)
    return fmt::format("{}({}, {})", symbol, text_within(e.a, 0), text_within(e.b, 0));
  // Only + and * chain to the right without parentheses; floor operators never do.
  bool chains = e.op == BinaryOp::add || e.op == BinaryOp::logical_and || e.op == BinaryOp::logical_or;
  std::string body =
      text_within(e.a, precedence) + symbol + text_within(e.b, chains ? precedence : precedence + 1);
  return precedence < context ? "(" + body + ")" : body;
}

/// The shortest text that reads back as this value and shows that it is not an integer: "0.0", "1e+30". (The
/// result of "{:#}" depends on the version of fmt.)
std::string decimal(double value) {
  std::string digits = fmt::format("{}", value);
  return digits.find_first_not_of("-0123456789") == std::string::npos ? digits + ".0" : digits;
}

} // namespace

std::string text_within(const Expr &e, int context) {
  return e.visit(Overloaded{
      [](const IntImm &x) {
        return x.dtype == DType::boolean ? std::string(x.value ? "true" : "false") : fmt::format("{}", x.value);
      },
      [](const FloatImm &x) { return decimal(x.value); },
      [](const Var &x) { return x->name; },
      [&](const Binary &x) { return binary_text(x, context); },
      [](const Not &x) { return "not " + text_within(x.a, prefix); },
      [](const Select &x) {
        return fmt::format("{}({}, {}, {})", x.branches ? "branch" : "select", text_within(x.condition, 0),
                           text_within(x.when_true, 0), text_within(x.when_false, 0));
      },
      [](const Cast &x) { return fmt::format("{}({})", name(x.dtype), text_within(x.a, 0)); },
      [&](const Load &x) {
        std::string lanes = x.lanes == 1 ? "" : fmt::format(" +: {}", x.lanes);
        std::string access = x.indices.empty()
                                 ? x.buffer->name // the only element of a formal buffer
                                 : fmt::format("{}[{}{}]", x.buffer->name, list_text(x.indices), lanes);
        if (!x.mask.exists())
          return access;
        std::string guarded =
            fmt::format("{} where {} else {}", access, text_within(x.mask, 0), text_within(x.fill, 0));
        return "(" + guarded + ")";
      },
      [](const Lane &x) { return fmt::format("{}.{}", x.vector->name, x.index); },
      [](const Pack &x) { return fmt::format("pack({})", list_text(x.lanes)); },
      [](const Call &x) { return fmt::format("{}({})", x.function->name, list_text(x.arguments)); },
      [](const Tuple &x) {
        std::string parts;
        for (std::size_t n = 0; n < x.parts.size(); ++n)
          parts += fmt::format("{}{}: {}", n == 0 ? "" : ", ", parts_of(x.dtype)[n].name,
                               text_within(x.parts[n], 0));
        return "(" + parts + ")";
      },
      [](const Part &x) {
        return fmt::format("{}.{}", text_within(x.a, function),
                           parts_of(x.a.dtype())[static_cast<std::size_t>(x.index)].name);
      },
  });
}

std::string list_text(const std::vector<Expr> &exprs) {
  std::string result;
  for (const Expr &e : exprs)
    result += (result.empty() ? "" : ", ") + text_within(e, 0);
  return result;
}

/// "let %1 = x*x, %2 = %1*%1 in %2*%2". A value that several operands share is printed once.
static std::string text_with_lets(const Expr &e) {
  std::unordered_map<const ExprNode *, int> uses;
  walk(e, [&](const Expr &node) { for_each_child(node, [&](const Expr &child) { ++uses[child.get()]; }); });
  std::string lets;
  int count = 0;
  SharedResults<Expr> done;
  std::function<Expr(const Expr &)> named = [&](const Expr &node) {
    return done(node, [&] {
      Expr result = map_children(node, named);
      if (uses[node.get()] < 2 || node.node().size < 3)
        return result;
      Var var = make_var(fmt::format("%{}", ++count), node.dtype(), node.lanes());
      lets += fmt::format("{}{} = {}", lets.empty() ? "let " : ", ", var->name, text_within(result, 0));
      return Expr(var);
    });
  };
  std::string body = text_within(named(e), 0);
  return lets.empty() ? body : lets + " in " + body;
}

std::string to_string(const Expr &e) {
  constexpr std::uint64_t small_tree = 500;
  return !e.exists() ? "true" : e.node().size <= small_tree ? text_within(e, 0) : text_with_lets(e);
}

} // namespace nestsmith
