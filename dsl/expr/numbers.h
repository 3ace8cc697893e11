#pragma once
/// The representation of each element type, and the conversions between types. Constants, the interpreter, the
/// simulator and the reference all use this implementation.
///
/// A conversion to a float rounds to nearest, ties to even (tf32: ties away from zero, as `cvt.rna` does), and
/// keeps NaN. A conversion from a float to an integer rounds towards zero and saturates; NaN gives 0. A
/// conversion between integers keeps the low bits.

#include "dsl/expr/dtype.h"
#include "dsl/expr/error.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace nestsmith {

struct F16 { ///< IEEE binary16: 1, 5 and 10 bits
  std::uint16_t bits;
};
struct BF16 { ///< the upper half of an f32: 1, 8 and 7 bits
  std::uint16_t bits;
};
struct TF32 { ///< an f32 whose lower 13 bits are 0
  std::uint32_t bits;
};
template <class T>
inline constexpr bool is_narrow_float =
    std::is_same_v<T, F16> || std::is_same_v<T, BF16> || std::is_same_v<T, TF32>;

// The functions below have no branches, so that the compiler can vectorize loops over lanes.

inline float to_float(F16 h) {
  std::uint32_t magnitude = h.bits & 0x7fffU, sign = static_cast<std::uint32_t>(h.bits & 0x8000U) << 16;
  // Subnormals: where the exponent is 0, the bits count steps of 2^-24.
  std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  std::uint32_t usual =
      (magnitude << 13) + (magnitude < 0x7c00 ? 112U << 23 : 224U << 23); // the exponents' biases
  return std::bit_cast<float>(sign | (magnitude < 0x400 ? small : usual));
}

inline float to_float(BF16 b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16); }
inline float to_float(TF32 t) { return std::bit_cast<float>(t.bits); }

template <class To> To round_to(float value);

template <> inline F16 round_to<F16>(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffffU;
  // Subnormals: below 2^-14 the step is 2^-24, one unit in the last place of 0.5, so the addition rounds.
  std::uint32_t half = 0x3f000000;
  std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - half;
  std::uint32_t usual = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112U << 23)) >> 13;
  std::uint32_t result = magnitude < 0x38800000 ? small : usual;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result; // 65520 and above: infinity
  result = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : result;
  return {static_cast<std::uint16_t>((bits >> 16 & 0x8000) | result)};
}

template <> inline BF16 round_to<BF16>(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {static_cast<std::uint16_t>(nan ? bits >> 16 | 0x40 : rounded)};
}

template <> inline TF32 round_to<TF32>(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {(nan ? bits | 0x400000 : bits + 0x1000) & 0xffffe000U};
}

/// Rounds to f32 with rounding to odd: if the result is inexact, the last bit of its mantissa is 1. A second
/// rounding, to a mantissa of 22 bits or fewer, then gives the same result as a single rounding of `value`.
inline float round_to_odd(double value) {
  auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value))
    return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  bool too_large = std::abs(static_cast<double>(nearest)) > std::abs(value);
  return std::bit_cast<float>((bits - too_large) | 1);
}

template <class To, class From> To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_narrow_float<From>) {
    return convert<To>(to_float(value));
  } else if constexpr (is_narrow_float<To>) {
    if constexpr (std::is_same_v<From, double>)
      return round_to<To>(round_to_odd(value));
    else
      return round_to<To>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(value))
      return 0;
    // The first value past the range, a power of two and thus exact.
    const From end = static_cast<From>(std::uint64_t{1} << (Limits::digits - 1)) * From{2};
    if (value >= end)
      return Limits::max();
    return value <= static_cast<From>(Limits::min()) ? Limits::min() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Calls `f.template operator()<T>()` with the C++ type T of a numeric dtype. A boolean is an internal error;
/// callers handle it.
template <class F> decltype(auto) with_number(DType type, F &&f) {
  switch (type) {
  case DType::i8:
    return f.template operator()<std::int8_t>();
  case DType::i16:
    return f.template operator()<std::int16_t>();
  case DType::i32:
    return f.template operator()<std::int32_t>();
  case DType::i64:
    return f.template operator()<std::int64_t>();
  case DType::u8:
    return f.template operator()<std::uint8_t>();
  case DType::u16:
    return f.template operator()<std::uint16_t>();
  case DType::u32:
    return f.template operator()<std::uint32_t>();
  case DType::u64:
    return f.template operator()<std::uint64_t>();
  case DType::f16:
    return f.template operator()<F16>();
  case DType::bf16:
    return f.template operator()<BF16>();
  case DType::tf32:
    return f.template operator()<TF32>();
  case DType::f32:
    return f.template operator()<float>();
  case DType::f64:
    return f.template operator()<double>();
  case DType::boolean:
    break;
  }
  internal_error("a boolean is no number");
}

/// Like `with_number`, for the dtypes that have arithmetic. Any other dtype is an internal error.
template <class F> decltype(auto) with_arithmetic(DType type, F &&f) {
  switch (type) {
  case DType::i32:
    return f.template operator()<std::int32_t>();
  case DType::i64:
    return f.template operator()<std::int64_t>();
  case DType::u32:
    return f.template operator()<std::uint32_t>();
  case DType::u64:
    return f.template operator()<std::uint64_t>();
  case DType::f32:
    return f.template operator()<float>();
  case DType::f64:
    return f.template operator()<double>();
  case DType::boolean:
  case DType::i8:
  case DType::i16:
  case DType::u8:
  case DType::u16:
  case DType::f16:
  case DType::bf16:
  case DType::tf32:
    break;
  }
  internal_error("arithmetic in a type that has none");
}

/// The integer after conversion to `dtype`, as constants and uniform registers contain it: a u64 is the i64
/// with the same bits.
inline std::int64_t wrapped(DType dtype, std::int64_t value) {
  if (dtype == DType::boolean)
    return value != 0;
  return with_number(dtype, [&]<class T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(static_cast<T>(value));
    else
      return value;
  });
}

/// `value` rounded to the float dtype `type`.
inline double rounded(DType type, double value) {
  return with_number(type, [&]<class T>() -> double { return convert<double>(convert<T>(value)); });
}

} // namespace nestsmith
