/// Bugs that treat integer data as integers without overflow: comparisons that ignore wrap-around, and
/// operations that are undefined in C++ for some data.

#include "dsl/expr/expr.h"
#include "lowering/data_arithmetic.h"
#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Kernel;

namespace {

/// Returns a bug that applies to expressions at any place.
std::function<void(Kernel &, Chooser &)> anywhere(const std::function<std::vector<Expr>(const Expr &)> &bug) {
  return [bug](Kernel &kernel, Chooser &chooser) {
    on_exprs(kernel, chooser, [&](const Expr &e, const Spot &) { return bug(e); });
  };
}

/// Returns the unsigned operation in i32(a + b), or null.
const Binary *wrapped(const Expr &e) {
  const auto *back = e.as<Cast>();
  const auto *op = back && back->dtype == DType::i32 ? back->a.as<Binary>() : nullptr;
  return op && op->a.dtype() == DType::u32 ? op : nullptr;
}

std::vector<Expr> decided(const Expr &e) {
  const auto *op = e.as<Binary>();
  bool wraps = op && is_comparison(op->op) && (wrapped(op->a) || wrapped(op->b));
  return wraps ? std::vector{constant(DType::boolean, 0), constant(DType::boolean, 1)} : std::vector<Expr>{};
}

Expr in_64_bits(const Expr &e) {
  const Binary *op = wrapped(e);
  auto wide = [](const Expr &x) { return cast(DType::u64, cast(DType::i64, cast(DType::i32, x))); };
  return cast(DType::i64, op ? binary(op->op, wide(op->a), wide(op->b)) : e);
}
std::vector<Expr> compared_in_64_bits(const Expr &e) {
  const auto *op = e.as<Binary>();
  bool wraps = op && is_comparison(op->op) && (wrapped(op->a) || wrapped(op->b));
  return wraps ? std::vector{binary(op->op, in_64_bits(op->a), in_64_bits(op->b))} : std::vector<Expr>{};
}

std::vector<Expr> signed_arithmetic(const Expr &e) {
  const Binary *op = wrapped(e);
  return op ? std::vector{binary(op->op, cast(DType::i32, op->a), cast(DType::i32, op->b))}
            : std::vector<Expr>{};
}

/// Returns the division or modulo that a called helper computes, or null.
const Binary *called_division(const Expr &e) {
  const auto *made = e.as<Call>();
  return made && is_data_function(made->function->name) ? made->function->meaning.as<Binary>() : nullptr;
}

std::vector<Expr> plain_division(const Expr &e) {
  const Binary *op = called_division(e);
  if (!op)
    return {};
  const std::vector<Expr> &x = e.as<Call>()->arguments;
  return {binary(op->op, x[0], x[1])};
}

/// Replaces floor division or modulo by `/` or `%` of C, which round towards zero, for a non-zero divisor.
std::vector<Expr> truncated_division(const Expr &e) {
  const Binary *op = called_division(e);
  if (!op || e.dtype() != DType::i32)
    return {};
  const Expr a = e.as<Call>()->arguments[0], b = e.as<Call>()->arguments[1];
  Expr rest = define_on_data(floormod(a, b), {}, [](const Expr &x) { return x; });
  Expr zero = constant(DType::i32, 0);
  Expr rounded = not_equal(rest, zero) && not_equal(cast(DType::u32, a < zero), cast(DType::u32, b < zero));
  auto wrapping = [](const Expr &x) { return cast(DType::u32, x); };
  Expr up = op->op == BinaryOp::floordiv ? wrapping(e) + constant(DType::u32, 1) : wrapping(e) - wrapping(b);
  return {select(rounded, cast(DType::i32, up), e)};
}

/// Returns the operand of a called helper that converts data, or none.
std::optional<Expr> converted(const Expr &e) {
  const auto *made = e.as<Call>();
  bool converts = made && is_data_function(made->function->name) && !called_division(e);
  return converts ? std::optional(made->arguments[0]) : std::nullopt;
}

std::vector<Expr> plain_conversion(const Expr &e) {
  auto x = converted(e);
  return x ? std::vector{cast(e.dtype(), *x)} : std::vector<Expr>{};
}

/// Converts through i32 and keeps the low bits.
std::vector<Expr> unsaturated_conversion(const Expr &e) {
  auto x = converted(e);
  if (!x || e.dtype() == DType::i32)
    return {};
  Expr whole = define_on_data(cast(DType::i32, *x), {}, [](const Expr &operand) { return operand; });
  return {cast(e.dtype(), whole)};
}

} // namespace

std::vector<Kind> wrapping_kinds() {
  const Errors wrong = {errors::wrong_value}, breach = {errors::breach};
  return {
      {"wrapping", "mask_decided", "a comparison of data that wrap is decided", wrong, anywhere(decided)},
      {"wrapping", "compared_in_64_bits", "data that wrap are compared in 64 bits, where they do not wrap",
       wrong, anywhere(compared_in_64_bits)},
      {"wrapping", "signed_arithmetic", "data that wrap are computed in signed arithmetic", breach,
       anywhere(signed_arithmetic)},
      {"wrapping", "plain_division", "data are divided by a plain / or %", breach, anywhere(plain_division)},
      {"wrapping", "truncated_division", "a division of data rounds towards zero", wrong,
       anywhere(truncated_division)},
      {"wrapping", "plain_conversion", "data are converted by a plain cast", breach,
       anywhere(plain_conversion)},
      {"wrapping", "unsaturated_conversion", "a conversion of data does not saturate", wrong,
       anywhere(unsaturated_conversion)},
  };
}

} // namespace nestsmith::mutation
