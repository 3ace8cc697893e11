#pragma once
/// Exact arithmetic in the place of floating point, for checks that compare all bits.
///
/// A computation whose results are rounded, such as a softmax or a mean, has no exact results that a kernel
/// could be compared with. But its kernel moves, combines and selects numbers in the same way if the numbers
/// are *residues*: integers modulo M, of which sums, differences and products are exact and independent of
/// their order.
///
///   ring    M = 2^31. exp2(x) is 5^x, so that exp2(x + y) = exp2(x) * exp2(y) and exp2(-infinity) = 0. The
///           reciprocal of 2^t * u, where u is odd, is 2^t * u^-1: a reciprocal of a product is the product of
///           the reciprocals, but x / y * y is not always x
///   field   M = 2^31 - 1, a prime. All quotients are true: x / y * y = x. Nothing stands for exp
///
/// A residue is stored in the bits of the floating-point element (of an f64 the low 32; the others are 0), as
/// the integer of least magnitude, so that kernels move it as they move the element. Comparisons, `min` and
/// `max` compare these integers. Three values are no residues: NaN and the infinities. An infinity absorbs:
/// -infinity - x = -infinity for each x, also for -infinity, and so is x - (-infinity). This defines a softmax
/// of a row that is masked in full. Only NaN, and 0 times an infinity, give NaN.
///
/// The further operations are not those of numbers, but functions of their operands: a kernel that computes
/// them from the same operands has the same result. They are floor division, conversions to narrower types,
/// which keep the low bits, and the functions of mathematics other than abs, fma, exp, exp2, fast_exp and
/// fast_divide. exp(x) is exp2(x * c), where c is log2(e) in f32.
///
/// A constant that is no integer, such as 0.5, is m / 2^e with an integer m. In the field this is a quotient.
/// In the ring, a fixed odd number stands for 1/2.

#include "dsl/expr/math_functions.h"
#include "dsl/expr/ops.h"
#include "dsl/ir/array.h"

#include <cstdint>
#include <limits>

namespace nestsmith {

/// How the floating-point elements of a program are computed.
enum class Arithmetic : std::uint8_t { floating, ring, field };

template <Arithmetic kind> struct Residue {
  static_assert(kind != Arithmetic::floating);
  std::int32_t bits;

  static constexpr bool is_ring = kind == Arithmetic::ring;
  static constexpr std::int64_t modulus = is_ring ? std::int64_t{1} << 31 : (std::int64_t{1} << 31) - 1;
  static constexpr std::int32_t nan_bits = std::numeric_limits<std::int32_t>::min(), minus = nan_bits + 1,
                                plus = std::numeric_limits<std::int32_t>::max();

  static constexpr Residue nan() { return {nan_bits}; }
  constexpr bool is_nan() const { return bits == nan_bits; }
  constexpr bool is_infinite() const { return bits == minus || bits == plus; }
  constexpr bool is_number() const { return bits > minus && bits < plus; }

  static constexpr Residue of(std::int64_t integer) {
    if constexpr (is_ring) // sign-extended from bit 30
      return {static_cast<std::int32_t>(static_cast<std::uint32_t>(integer) << 1) >> 1};
    std::int64_t rest = integer % modulus;
    if (rest > modulus / 2)
      rest -= modulus;
    return {static_cast<std::int32_t>(rest < -(modulus / 2) ? rest + modulus : rest)};
  }

  /// The result of an operation with an operand that is no residue.
  static constexpr Residue absorbed(Residue a, Residue b) {
    if (a.is_nan() || b.is_nan())
      return nan();
    return {a.bits == minus || b.bits == minus ? minus : plus};
  }
  friend constexpr Residue operator+(Residue a, Residue b) {
    return a.is_number() && b.is_number() ? of(std::int64_t{a.bits} + b.bits) : absorbed(a, b);
  }
  friend constexpr Residue operator-(Residue a, Residue b) {
    if (a.is_number() && b.bits == plus)
      return {minus};
    return a.is_number() && b.is_number() ? of(std::int64_t{a.bits} - b.bits) : absorbed(a, b);
  }
  friend constexpr Residue operator*(Residue a, Residue b) {
    if (a.is_number() && b.is_number())
      return of(std::int64_t{a.bits} * b.bits);
    return a.bits == 0 || b.bits == 0 ? nan() : absorbed(a, b);
  }
  friend constexpr Residue operator/(Residue a, Residue b) {
    if (b.is_infinite())
      return a.is_number() ? Residue{0} : nan();
    return a * b.reciprocal();
  }
  constexpr Residue reciprocal() const {
    if (bits == 0 || is_nan())
      return nan();
    if constexpr (is_ring) {
      auto power = static_cast<std::uint32_t>(bits) & -static_cast<std::uint32_t>(bits);
      std::uint32_t odd = static_cast<std::uint32_t>(bits) / power, inverse = odd; // right in 3 bits
      for (int n = 0; n < 4; ++n)
        inverse *= 2 - odd * inverse;
      return of(static_cast<std::int64_t>(inverse) * power);
    }
    return power(*this, static_cast<std::uint32_t>(modulus - 2)); // Fermat
  }
  static constexpr Residue power(Residue base, std::uint32_t exponent) {
    Residue result{1};
    for (; exponent != 0; exponent >>= 1, base = of(std::int64_t{base.bits} * base.bits))
      if (exponent & 1)
        result = of(std::int64_t{result.bits} * base.bits);
    return result;
  }

  /// Comparisons with NaN are false. `bits` of an infinity are below and above those of the residues.
  friend constexpr bool operator<(Residue a, Residue b) {
    return !a.is_nan() && !b.is_nan() && a.bits < b.bits;
  }
  friend constexpr bool operator<=(Residue a, Residue b) {
    return !a.is_nan() && !b.is_nan() && a.bits <= b.bits;
  }
  friend constexpr bool operator==(Residue a, Residue b) { return !a.is_nan() && a.bits == b.bits; }

  /// The residue that stands for a constant.
  static Residue constant(double value);
  /// A function of mathematics. Operands that it does not have may be any.
  static Residue apply(const MathFunction &function, Residue x, Residue y, Residue z);
  /// A fixed function that spreads its results over the residues. `salt` selects one.
  static constexpr Residue hash(std::uint64_t salt, Residue x, Residue y = {0}, Residue z = {0}) {
    std::uint64_t mixed = salt;
    for (Residue operand : {x, y, z}) {
      mixed += 0x9e3779b97f4a7c15 + static_cast<std::uint32_t>(operand.bits);
      mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
      mixed ^= mixed >> 31;
    }
    return of(static_cast<std::int64_t>(mixed >> 33));
  }
};

/// The bits of a residue that a conversion to a floating-point dtype keeps. They differ, so that a conversion
/// to another dtype has another result.
constexpr int kept_bits(DType type) {
  return type == DType::f16 ? 15 : type == DType::bf16 ? 13 : type == DType::tf32 ? 18 : 31;
}
/// A residue as an element of a floating-point dtype, in the low bits; and back.
template <Arithmetic kind> constexpr std::uint32_t to_element(DType type, Residue<kind> x) {
  using R = Residue<kind>;
  if (type == DType::f32 || type == DType::f64)
    return static_cast<std::uint32_t>(x.bits);
  bool half = type != DType::tf32;
  if (!x.is_number()) // the ends of the range of the element
    return half ? static_cast<std::uint16_t>(x.bits == R::plus ? 0x7fff : 0x8000 + (x.bits == R::minus))
                : static_cast<std::uint32_t>(x.bits);
  int cut = 32 - kept_bits(type);
  auto kept = static_cast<std::int32_t>(static_cast<std::uint32_t>(x.bits) << cut) >> cut;
  return half ? static_cast<std::uint16_t>(kept) : static_cast<std::uint32_t>(kept);
}
template <Arithmetic kind> constexpr Residue<kind> from_element(DType type, std::uint32_t element) {
  using R = Residue<kind>;
  if (type == DType::f32 || type == DType::tf32 || type == DType::f64)
    return {static_cast<std::int32_t>(element)};
  switch (element & 0xffffU) {
  case 0x7fff:
    return {R::plus};
  case 0x8000:
    return R::nan();
  case 0x8001:
    return {R::minus};
  default:
    return {static_cast<std::int16_t>(element)};
  }
}

/// An arithmetic operator, by the operators above as for other numbers (dsl/expr/ops.h). Floor division is a
/// hash.
template <BinaryOp op, Arithmetic kind> constexpr Residue<kind> arithmetic(Residue<kind> a, Residue<kind> b) {
  if constexpr (op == BinaryOp::floordiv)
    return Residue<kind>::hash(1, a, b);
  else if constexpr (op == BinaryOp::floormod)
    return a - b * Residue<kind>::hash(1, a, b);
  else
    return arithmetic<op, Residue<kind>>(a, b);
}
/// The operators that `arithmetic` and `compare` have.
constexpr bool is_defined_on_residues(BinaryOp op) { return !is_logical(op) && !is_bitwise(op); }

/// The integer that a conversion from a residue gives, before it wraps around. NaN and the infinities give 0.
template <Arithmetic kind> constexpr std::int64_t to_integer(Residue<kind> x) {
  return x.is_number() ? x.bits : 0;
}

/// Calls `f.template operator()<kind>()` for a kind that is not `floating`.
template <class F> decltype(auto) with_residues(Arithmetic kind, F &&f) {
  if (kind == Arithmetic::ring)
    return f.template operator()<Arithmetic::ring>();
  return f.template operator()<Arithmetic::field>();
}

/// The same on scalars, whose bits are those of elements. The interpreter calls these; at least one operand has
/// a floating-point dtype.
Scalar constant_of(Arithmetic kind, DType type, double value);
Scalar apply(Arithmetic kind, BinaryOp op, Scalar a, Scalar b);
Scalar convert(Arithmetic kind, Scalar value, DType to);
Scalar apply(Arithmetic kind, const MathFunction &function, Scalar x, Scalar y, Scalar z);

} // namespace nestsmith
