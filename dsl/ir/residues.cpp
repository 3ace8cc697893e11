#include "dsl/ir/residues.h"

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"

#include <cmath>
#include <string_view>

namespace nestsmith {

template <Arithmetic kind> Residue<kind> Residue<kind>::constant(double value) {
  if (std::isnan(value))
    return nan();
  if (std::isinf(value))
    return {value < 0 ? minus : plus};
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent); // value = mantissa * 2^exponent
  constexpr int digits = std::numeric_limits<double>::digits;
  auto integer = static_cast<std::int64_t>(std::ldexp(mantissa, digits));
  for (exponent -= digits; integer != 0 && integer % 2 == 0; ++exponent)
    integer /= 2;
  if (integer == 0)
    return {0};
  Residue two{2}, half = is_ring ? Residue{0x2545f491} : two.reciprocal();
  return of(integer) * power(exponent < 0 ? half : two, static_cast<std::uint32_t>(std::abs(exponent)));
}

namespace {

/// 5 has the greatest order of all odd numbers modulo 2^31, which is 2^29.
template <Arithmetic kind> Residue<kind> exp2_of(Residue<kind> x) {
  if (x.is_number())
    return Residue<kind>::power({5}, static_cast<std::uint32_t>(x.bits) & 0x1fffffffU);
  return x.bits == Residue<kind>::minus ? Residue<kind>{0} : x;
}

} // namespace

template <Arithmetic kind>
Residue<kind> Residue<kind>::apply(const MathFunction &function, Residue x, Residue y, Residue z) {
  if (function.error == ErrorRule::product_sum)
    return x * y + z;
  if (function.name == "abs")
    return arithmetic<BinaryOp::max>(x, Residue{0} - x);
  if (is_ring && function.name == "exp2")
    return exp2_of(x);
  if (function.error == ErrorRule::quotient)
    return x / y;
  if (is_ring && (function.name == "exp" || function.name == "fast_exp"))
    return exp2_of(x * constant(1.44269504089F));
  return hash(2 + index_of(function), x, function.operands > 1 ? y : x, function.operands > 2 ? z : x);
}

template struct Residue<Arithmetic::ring>;
template struct Residue<Arithmetic::field>;

namespace {

template <Arithmetic kind> Residue<kind> residue(Scalar value) {
  return from_element<kind>(value.dtype, static_cast<std::uint32_t>(value.bits));
}
template <Arithmetic kind> Scalar scalar(DType type, Residue<kind> value) {
  return {type, to_element(type, value)};
}

} // namespace

Scalar constant_of(Arithmetic kind, DType type, double value) {
  return with_residues(
      kind, [&]<Arithmetic k>() { return scalar(type, Residue<k>::constant(rounded(type, value))); });
}

Scalar apply(Arithmetic kind, BinaryOp op, Scalar a, Scalar b) {
  return with_residues(kind, [&]<Arithmetic k>() {
    return with_op(op, [&]<BinaryOp o>() -> Scalar {
      if constexpr (!is_defined_on_residues(o))
        internal_error("this operator has no meaning on its operands");
      else if constexpr (is_comparison(o))
        return Scalar::of<std::uint8_t>(DType::boolean, compare<o>(residue<k>(a), residue<k>(b)));
      else
        return scalar(a.dtype, arithmetic<o>(residue<k>(a), residue<k>(b)));
    });
  });
}

Scalar convert(Arithmetic kind, Scalar value, DType to) {
  return with_residues(kind, [&]<Arithmetic k>() -> Scalar {
    if (is_float(value.dtype)) {
      Residue<k> x = residue<k>(value);
      if (is_float(to))
        return scalar(to, x);
      return Scalar{DType::i64, static_cast<std::uint64_t>(to == DType::boolean ? x.bits != 0 : to_integer(x))}
          .to(to);
    }
    std::int64_t integer = value.dtype == DType::u64 ? static_cast<std::int64_t>(value.bits)
                                                     : value.to(DType::i64).as<std::int64_t>();
    return scalar(to, Residue<k>::of(integer));
  });
}

Scalar apply(Arithmetic kind, const MathFunction &function, Scalar x, Scalar y, Scalar z) {
  return with_residues(kind, [&]<Arithmetic k>() {
    return scalar(x.dtype, Residue<k>::apply(function, residue<k>(x), residue<k>(y), residue<k>(z)));
  });
}

} // namespace nestsmith
