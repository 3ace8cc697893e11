/// Draws the expressions of random computations, with bounds of their values.

#include "dsl/expr/math.h"
#include "tests/fuzz/generator.h"

#include <algorithm>
#include <cmath>

namespace nestsmith::fuzz {

Value Generator::constant_of(DType type) {
  using enum DType;
  if (is_float(type)) {
    auto real = [&](double number) { return cast(type, Expr(static_cast<float>(number))); };
    if (chance(8))
      return {real(0.5), 0.5, 1, true};
    if (wide_ && chance(10)) // f32 cannot represent some of these as integers, so only runs with an error bound
                             // compare the sum
      return {real(static_cast<double>(random_.pick({-1000000000, 1000000000, 10000000000, 16777217}))), 61000,
              0, true};
    std::int64_t number = random_.pick({0, 1, 2, 3, 4});
    return {real(static_cast<double>(number)), static_cast<double>(number), 0, true};
  }
  std::int64_t number = random_.pick({0, 1, 1, 2, 3, 5, 7});
  if (chance(15)) // constants for which sums and products wrap around
    number = type == u32   ? random_.pick({0x9e3779b1, 0x80000000, 0xffffffff})
             : type == i32 ? random_.pick({2147483647, -2147483647 - 1, 0x10001, -1, 1103515245, 16777217})
             : type == i64 ? random_.pick({INT64_MAX, INT64_MIN, 0x100000001, -1, 1103515245, 16777217})
                           : random_.pick({INT64_MAX, 0x100000001, 0x9e3779b97f4a7c1});
  return {int_imm(type == u32 ? static_cast<std::int64_t>(static_cast<std::uint32_t>(number)) : number, type),
          std::abs(static_cast<double>(number)), 0, true};
}

/// Returns a op b, or `a` if the result is not exact in integer mode or has no error bound in floating point.
Value Generator::combine(BinaryOp op, const Value &a, const Value &b) {
  bool real = is_float(a.type());
  double magnitude = op == BinaryOp::mul                             ? a.magnitude * b.magnitude
                     : op == BinaryOp::min || op == BinaryOp::max    ? std::max(a.magnitude, b.magnitude)
                     : op == BinaryOp::sub && a.type() == DType::u64 ? all_of_64_bits
                     : op == BinaryOp::shift_left                    ? all_of_64_bits
                     : is_bitwise(op)                                ? 2 * (a.magnitude + b.magnitude)
                                                                     : a.magnitude + b.magnitude;
  int bits = op == BinaryOp::mul ? a.bits + b.bits : std::max(a.bits, b.bits);
  // The reference counts the rounding errors of one factor only. A product of two sums has those of both.
  if (real && (magnitude > most_in_f32 || bits > most_bits || (op == BinaryOp::mul && !a.given && !b.given)))
    return a;
  // Lowering refuses index arithmetic that does not fit in 64 bits. Data wraps around.
  if (is_index(a.type()) && !a.expr.node().data && !b.expr.node().data && magnitude >= 0x1p62)
    return a;
  return {binary(op, a.expr, b.expr), std::min(magnitude, all_of_64_bits), bits, !real};
}

Value Generator::value(DType type, int depth) {
  if (depth <= 0 || chance(20))
    return chance(85) ? read(type) : constant_of(type);
  if (functions_ && is_float(type) && chance(30))
    return any_function(value(type, depth - 1));
  if (chance(12))
    return any_choice(type, depth - 1);
  if (chance(25))
    return any_change(value(type, depth - 1));
  return any_combination(type, depth - 1);
}

Value Generator::any_combination(DType type, int depth) {
  Value a = value(type, depth), b = chance(30) ? constant_of(type) : value(type, depth);
  if (chance(10))
    b = a;
  using enum BinaryOp;
  static const std::vector<BinaryOp> arithmetic = {add, add, add, sub, sub, mul, mul, min, max};
  BinaryOp op = random_.pick(arithmetic);
  static const std::vector<BinaryOp> bits = {bit_and, bit_or, bit_xor, bit_xor, shift_left, shift_right};
  if (!is_float(type) && chance(8))
    op = random_.pick(bits);
  if (type == DType::u32 && chance(12))
    return {chance(50) ? maximum(a.expr, b.expr) : minimum(a.expr, b.expr), 0x1p32, 0, true};
  return combine(op, a, b);
}

/// Applies a function of one operand.
Value Generator::any_change(Value a) {
  DType type = a.type();
  if (is_float(type)) {
    if (chance(25) && a.magnitude < 60000) {
      static const std::vector<DType> narrow = {DType::f16, DType::bf16, DType::tf32};
      if (type == DType::f64 && chance(50))
        return rounded(a, DType::f32);
      return rounded(a, random_.pick(narrow));
    }
    if (chance(30))
      return {-a.expr, a.magnitude, a.bits, a.given};
    if (chance(40))
      return combine(BinaryOp::max, a, {constant(type, 0), 0, 0, true});
  }
  BinaryOp op = chance(50) ? BinaryOp::mul : BinaryOp::add;
  if (is_float(type))
    return combine(op, a, constant_of(type));
  switch (random_.below(5)) {
  case 0:
    return {relu(a.expr), std::max(a.magnitude, 0x1p32), 0, true};
  case 1:
    return any_shift(a);
  case 2:
    if (type == DType::u32)
      return {chance(50) ? floormod(a.expr, random_.pick({3, 4, 7}))
                         : floordiv(a.expr, random_.pick({2, 3, 5})),
              a.magnitude, 0, true};
    return combine(BinaryOp::mul, a, a);
  case 3:
    if (type == DType::u32) // the divisor is data, but never 0
      return {floordiv(a.expr, max(read(type).expr, Expr(1))), a.magnitude, 0, true};
    return combine(BinaryOp::sub, {constant(type, 0), 0, 0, true}, a);
  default:
    return combine(op, a, constant_of(type));
  }
}

/// A shift by a constant, or by data that is in the range of C++ or not; or the complement.
Value Generator::any_shift(const Value &a) {
  DType type = a.type();
  bool wraps = a.expr.node().data; // index arithmetic does not
  if (chance(15))
    return {~a.expr, is_index(type) ? a.magnitude + 1 : all_of_64_bits, 0, true};
  Expr amount = random_.pick({1, 3, 15, 31});
  if (chance(40))
    amount = chance(70) ? read(type).expr & random_.pick({3, 31}) : read(type).expr;
  if (wraps && chance(30))
    return {a.expr << amount, all_of_64_bits, 0, true};
  return {a.expr >> amount, a.magnitude, 0, true};
}

Value Generator::any_function(const Value &a) {
  Expr x = a.expr, size = abs(x) + 1, small = max(min(x, 8), -8); // exp(-x) does not overflow
  if (a.given && chance(15))
    return {floor(x * 0.5F), a.magnitude, 0, true};
  Value c = constant_of(a.type());
  if (2 * a.magnitude + c.magnitude < most_in_f32 && chance(15))
    return {fma(x, 2, c.expr), 2 * a.magnitude + c.magnitude, std::max(a.bits, c.bits), false};
  if (a.type() == DType::f32 && chance(40))
    return any_fast_function(a);
  switch (random_.below(16)) {
  case 0:
    return {abs(x), a.magnitude, a.bits, a.given};
  case 1:
    return {exp(-abs(x)), 1, 0, false};
  case 2:
    return {exp2(min(x, 3)), 8, 0, false};
  case 3:
    return {log(size), a.magnitude + 1, 0, false};
  case 4:
    return {log2(size), a.magnitude + 1, 0, false};
  case 5:
    return {sqrt(size), a.magnitude + 1, 0, false};
  case 6:
    return {rsqrt(size), 1, 0, false};
  case 7:
    return {tanh(x), 1, 0, false};
  case 8:
    return {erf(x), 1, 0, false};
  case 9:
    return {sin(x), 1, 0, false};
  case 10:
    return {cos(x), 1, 0, false};
  case 11:
    return {pow(size, random_.pick({-1, 0, 1})), a.magnitude + 1, 0, false};
  case 12:
    return {pow(size, 0.5F), a.magnitude + 1, 0, false};
  case 13:
    return {sigmoid(small), 1, 0, false};
  case 14:
    return {silu(small), 8, 0, false};
  default:
    return {gelu(x), a.magnitude, 0, false};
  }
}

/// Where CUDA states an error.
Value Generator::any_fast_function(const Value &a) {
  Expr x = a.expr, size = abs(x) + 1, angle = max(min(x, 3), -3);
  switch (random_.below(7)) {
  case 0:
    return {fast_exp(-abs(x)), 1, 0, false};
  case 1:
    return {chance(50) ? fast_log(size) : fast_log2(size), a.magnitude + 1, 0, false};
  case 2:
    return {fast_sin(angle), 1, 0, false};
  case 3:
    return {fast_cos(angle), 1, 0, false};
  case 4:
    return {fast_tanh(x), 1, 0, false};
  case 5:
    return {fast_pow(size, 0.5F), a.magnitude + 1, 0, false};
  default:
    return {fast_divide(x, size), 1, 0, false};
  }
}

Value Generator::any_choice(DType type, int depth) {
  Expr when = condition(1);
  Value a = value(type, depth), b = value(type, depth);
  Expr expr = chance(60) ? select(when, a.expr, b.expr) : branch(when, a.expr, b.expr);
  return {expr, std::max(a.magnitude, b.magnitude), std::max(a.bits, b.bits), a.given && b.given};
}

// ---- conditions

Expr Generator::condition(int depth) {
  if (depth > 0 && chance(25)) {
    Expr a = condition(depth - 1), b = condition(depth - 1);
    return chance(30) ? !a : chance(50) ? a && b : a || b;
  }
  return chance(50) ? index_condition() : data_condition(depth);
}

Expr Generator::index_condition() {
  const StageAxis &a = any_place(), &b = any_place();
  switch (random_.below(5)) {
  case 0:
    return equal(floormod(a.at, random_.pick({2, 3, 4})), 0);
  case 1:
    return a.at < b.at;
  case 2:
    return equal(a.at, b.at);
  case 3:
    return a.at + b.at < random_.pick({3, 8, 17});
  default:
    return a.at < a.extent.size - random_.pick({1, 2, 3});
  }
}

Expr Generator::data_condition(int depth) {
  using enum DType;
  static const std::vector<DType> types = {u32, i32, i32, i64, u64, f32, f64};
  DType type = chance(50) ? main_ : random_.pick(types);
  Value a = read(type, true);
  if (!is_float(type) && a.expr.node().data && chance(30)) { // true where the sum wraps around
    Value b = constant_of(type);
    if (chance(50))
      b.expr = int_imm(type == u32 ? 0xfffffff0 : type == i32 ? 2147483647 : INT64_MAX, type);
    return a.expr + b.expr < a.expr;
  }
  Value b = chance(50) ? constant_of(type) : depth > 0 ? read(type, true) : a;
  return chance(60) ? a.expr < b.expr : chance(50) ? a.expr <= b.expr : equal(a.expr, b.expr);
}

// ---- conversions

/// Rounds the value to a narrower floating-point type and converts it back.
Value Generator::rounded(Value value, DType narrow) {
  if (value.given)
    return {cast(value.type(), cast(narrow, value.expr)), value.magnitude, value.bits, true};
  if (++rounds_ > most_rounds) // each rounding makes the error bound much larger
    return value;
  return {cast(value.type(), cast(narrow, value.expr)), value.magnitude, value.bits, false};
}

std::optional<Value> Generator::converted(const Value &value, DType type) {
  DType from = value.type();
  Value result = value;
  if (from == type)
    return result;
  if (from == DType::boolean)
    return Value{select(value.expr, constant(type, 1), constant(type, 0)), 1, 0, true};
  if (is_float(type) && is_float(from)) {
    result.expr = cast(type, value.expr);
  } else if (is_float(type)) {
    result = {cast(type, floormod(cast(DType::u32, value.expr), 8)), 7, 0, true};
  } else if (!is_float(from)) {
    result.expr = cast(type, value.expr);
    if (type == DType::u64)
      result.magnitude = is_index(arithmetic_type(from)) ? all_of_64_bits : std::min(value.magnitude, 0x1p32);
    else if (type == DType::i64 && from != DType::u64)
      result.magnitude = std::min(value.magnitude, 0x1p32);
  } else if (!value.given) {
    return std::nullopt; // the result would depend on the last bit
  } else {
    result = {cast(type, cast(DType::i32, cast(DType::f32, value.expr))),
              type == DType::u64 ? all_of_64_bits : 0x1p31, 0, true};
  }
  return result;
}

} // namespace nestsmith::fuzz
