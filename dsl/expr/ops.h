#pragma once
/// The meaning of each operator. Constant folding, the interpreter and the simulator all call this
/// implementation.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace nestsmith {

/// `div` is floating-point division; integers have floor division and floor modulo only. The operators on bits,
/// from `bit_and` to `shift_right`, are defined on integers.
enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  floormod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  lt,
  le,
  eq,
  ne,
  logical_and,
  logical_or
};

constexpr bool is_bitwise(BinaryOp op) { return op >= BinaryOp::bit_and && op <= BinaryOp::shift_right; }
constexpr bool is_shift(BinaryOp op) { return op == BinaryOp::shift_left || op == BinaryOp::shift_right; }
constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::lt && op <= BinaryOp::ne; }
constexpr bool is_logical(BinaryOp op) { return op >= BinaryOp::logical_and; }
/// Whether the result is `boolean` for operands of any dtype.
constexpr bool yields_boolean(BinaryOp op) { return op >= BinaryOp::lt; }

/// Whether the operator is defined on operands of type T.
template <BinaryOp op, class T> constexpr bool is_defined_on() {
  if (is_bitwise(op))
    return std::is_integral_v<T>;
  return op != BinaryOp::div || !std::is_integral_v<T>;
}

/// Rounds towards minus infinity: floor_div(-1, 4) == -1. `b` must not be 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) // the smallest integer has no negation; it wraps as on a GPU
    return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

/// Has the sign of `b`: floor_mod(-1, 4) == 3. `b` must not be 0.
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  std::int64_t remainder = b == -1 ? 0 : a % b;
  return (remainder != 0 && (remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

/// The smallest 2^n - 1 that is at least `x`, for x >= 0. `bit_or` and `bit_xor` of numbers in [0, x] stay in
/// [0, fill_bits(x)].
constexpr std::int64_t fill_bits(std::int64_t x) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(x) + 1) - 1);
}

/// The result of an arithmetic operator on T (float, double, int32_t, int64_t, uint32_t or uint64_t). Integers
/// wrap around. Integer division by zero gives 0, and the remainder of a division by zero is the dividend. The
/// smallest integer divided by -1 is itself. So all operands have a result, in constant folding, in hoisted
/// code and in a kernel, where lowering/data_arithmetic.h spells the operators.
///
/// Signed integers have the bits of two's complement. A left shift drops the high bits. A right shift of a
/// negative number rounds down, as floor division by a power of two does. A shift by a negative amount, or by
/// the width of T or more, shifts out all bits: the result is 0, and -1 for a right shift of a negative number.
template <BinaryOp op, class T> constexpr T arithmetic(T a, T b) {
  static_assert(is_defined_on<op, T>());
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if constexpr (op == BinaryOp::add)
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    else if constexpr (op == BinaryOp::sub)
      return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    else if constexpr (op == BinaryOp::mul)
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    else if constexpr (op == BinaryOp::min)
      return a < b ? a : b;
    else if constexpr (op == BinaryOp::max)
      return a < b ? b : a;
    else if constexpr (op == BinaryOp::bit_and)
      return static_cast<T>(a & b);
    else if constexpr (op == BinaryOp::bit_or)
      return static_cast<T>(a | b);
    else if constexpr (op == BinaryOp::bit_xor)
      return static_cast<T>(a ^ b);
    else if constexpr (is_shift(op)) {
      constexpr U width = std::numeric_limits<U>::digits;
      U amount = static_cast<U>(b); // a negative amount is a large one
      if constexpr (op == BinaryOp::shift_left)
        return amount < width ? static_cast<T>(static_cast<U>(a) << amount) : T{0};
      else if constexpr (std::is_signed_v<T>)
        return static_cast<T>(a >> (amount < width ? amount : width - 1));
      else
        return amount < width ? static_cast<T>(a >> amount) : T{0};
    } else if constexpr (std::is_unsigned_v<T>) {
      if constexpr (op == BinaryOp::floormod)
        return b == 0 ? a : a % b;
      else
        return b == 0 ? 0 : a / b;
    } else if constexpr (op == BinaryOp::floormod)
      return b == 0 ? a : static_cast<T>(floor_mod(a, b));
    else
      return b == 0 ? 0 : static_cast<T>(floor_div(a, b));
  } else {
    if constexpr (op == BinaryOp::add)
      return a + b;
    else if constexpr (op == BinaryOp::sub)
      return a - b;
    else if constexpr (op == BinaryOp::mul)
      return a * b;
    else if constexpr (op == BinaryOp::min)
      return a < b ? a : b;
    else if constexpr (op == BinaryOp::max)
      return a < b ? b : a;
    else if constexpr (op == BinaryOp::floordiv)
      return std::floor(a / b);
    else if constexpr (op == BinaryOp::floormod)
      return a - b * std::floor(a / b);
    else
      return a / b;
  }
}

/// The result of a comparison on T. With a NaN operand, `ne` is true and every other comparison is false.
template <BinaryOp op, class T> constexpr bool compare(T a, T b) {
  static_assert(is_comparison(op));
  if constexpr (op == BinaryOp::lt)
    return a < b;
  else if constexpr (op == BinaryOp::le)
    return a <= b;
  else if constexpr (op == BinaryOp::eq)
    return a == b;
  else
    return a != b;
}

/// Calls `f.template operator()<op>()` for an operator that is known only at run time.
template <class F> decltype(auto) with_op(BinaryOp op, F &&f) {
  switch (op) {
  case BinaryOp::add:
    return f.template operator()<BinaryOp::add>();
  case BinaryOp::sub:
    return f.template operator()<BinaryOp::sub>();
  case BinaryOp::mul:
    return f.template operator()<BinaryOp::mul>();
  case BinaryOp::div:
    return f.template operator()<BinaryOp::div>();
  case BinaryOp::floordiv:
    return f.template operator()<BinaryOp::floordiv>();
  case BinaryOp::floormod:
    return f.template operator()<BinaryOp::floormod>();
  case BinaryOp::min:
    return f.template operator()<BinaryOp::min>();
  case BinaryOp::max:
    return f.template operator()<BinaryOp::max>();
  case BinaryOp::bit_and:
    return f.template operator()<BinaryOp::bit_and>();
  case BinaryOp::bit_or:
    return f.template operator()<BinaryOp::bit_or>();
  case BinaryOp::bit_xor:
    return f.template operator()<BinaryOp::bit_xor>();
  case BinaryOp::shift_left:
    return f.template operator()<BinaryOp::shift_left>();
  case BinaryOp::shift_right:
    return f.template operator()<BinaryOp::shift_right>();
  case BinaryOp::lt:
    return f.template operator()<BinaryOp::lt>();
  case BinaryOp::le:
    return f.template operator()<BinaryOp::le>();
  case BinaryOp::eq:
    return f.template operator()<BinaryOp::eq>();
  case BinaryOp::ne:
    return f.template operator()<BinaryOp::ne>();
  case BinaryOp::logical_and:
    return f.template operator()<BinaryOp::logical_and>();
  case BinaryOp::logical_or:
    break;
  }
  return f.template operator()<BinaryOp::logical_or>();
}

} // namespace nestsmith
