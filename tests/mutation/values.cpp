/// Bugs in computed values: operators, operands, constants, roundings.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Kernel;

namespace {

bool is_data(const Expr &e) { return !is_index(e.dtype()) && e.dtype() != DType::boolean && e.lanes() == 1; }

using OpBug = std::function<std::vector<Expr>(const Binary &)>;

std::function<void(Kernel &, Chooser &)> on_data(BinaryOp op, const OpBug &bug) {
  return [op, bug](Kernel &kernel, Chooser &chooser) {
    on_exprs(kernel, chooser, [&](const Expr &e, const Spot &spot) {
      const auto *node = e.as<Binary>();
      return spot.place == SeedPlace::value && node && node->op == op && is_data(e) ? bug(*node)
                                                                                    : std::vector<Expr>{};
    });
  };
}

OpBug to(BinaryOp op) {
  return [op](const Binary &x) { return std::vector{binary(op, x.a, x.b)}; };
}
std::vector<Expr> one_operand(const Binary &x) { return {x.a, x.b}; }

void constant_plus_1(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &spot) {
    const auto *real = e.as<FloatImm>();
    const auto *whole = e.as<IntImm>();
    bool fits = spot.place == SeedPlace::value && is_data(e) && (real || whole);
    return fits ? std::vector{constant(e.dtype(), (real ? real->value : static_cast<double>(whole->value)) + 1)}
                : std::vector<Expr>{};
  });
}

/// Rounds an operand to a narrower type. Integers lose their upper half.
void rounded(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &spot) {
    if (spot.place != SeedPlace::value || !e.as<Load>() || !is_data(e) || e.as<Load>()->lanes > 1)
      return std::vector<Expr>{};
    return std::vector{cast(e.dtype(), cast(is_float(e.dtype()) ? DType::bf16 : DType::u16, e))};
  });
}

void sides_swapped(Kernel &kernel, Chooser &chooser) {
  on_exprs(kernel, chooser, [](const Expr &e, const Spot &spot) {
    const auto *choice = e.as<Select>();
    return spot.place == SeedPlace::value && choice
               ? std::vector{select(choice->condition, choice->when_false, choice->when_true)}
               : std::vector<Expr>{};
  });
}

} // namespace

std::vector<Kind> value_kinds() {
  const Errors wrong = {errors::wrong_value};
  const Errors unread = {errors::wrong_value, errors::unwritten_read};
  return {
      {"values", "add_to_sub", "+ becomes -", wrong, on_data(BinaryOp::add, to(BinaryOp::sub))},
      {"values", "mul_to_add", "* becomes +", wrong, on_data(BinaryOp::mul, to(BinaryOp::add))},
      {"values", "max_to_min", "max becomes min", wrong, on_data(BinaryOp::max, to(BinaryOp::min))},
      {"values", "summand_dropped", "a summand is dropped: a sum becomes its last term, beta*C is lost", unread,
       on_data(BinaryOp::add, one_operand)},
      {"values", "factor_dropped", "a factor is dropped: alpha, beta, an operand", unread,
       on_data(BinaryOp::mul, one_operand)},
      {"values", "relu_dropped", "an operand of max is dropped", wrong, on_data(BinaryOp::max, one_operand)},
      {"values", "constant_plus_1", "a constant is one larger: a sum starts at 1", wrong, constant_plus_1},
      {"values",
       "wrong_cast",
       "an element passes through bf16, or u16",
       {errors::wrong_value, errors::breach}, // an asynchronous copy cannot convert, which is a breach
       rounded},
      {"values", "select_swapped", "the sides of a select are swapped", wrong, sides_swapped},
  };
}

} // namespace nestsmith::mutation
