#include "runtime/check/roundings.h"

#include "dsl/intrinsic.h"
#include "dsl/workload_info.h"
#include "runtime/check/reference.h"

#include <algorithm>
#include <cmath>

namespace nestsmith {

int fraction_bits(double value) {
  for (int bits = 0; bits < endless_fraction; ++bits)
    if (std::ldexp(value, bits) == std::trunc(std::ldexp(value, bits)))
      return bits;
  return endless_fraction;
}

int FractionBits::bits_of(const Expr &e) {
  int bits = 0;
  if (const auto *number = e.as<FloatImm>())
    return std::isfinite(number->value) ? fraction_bits(number->value) : 0;
  if (const auto *access = e.as<Load>()) {
    auto known = of_.find(access->buffer.get());
    bits = known == of_.end() ? 0 : known->second;
    return access->fill.exists() ? std::max(bits, (*this)(access->fill)) : bits;
  }
  if (const auto *choice = e.as<Select>())
    return std::max((*this)(choice->when_true), (*this)(choice->when_false));
  const auto *binary = e.as<Binary>();
  if (auto quotient = quotients_.find(e.get()); quotient != quotients_.end())
    bits = quotient->second;
  else if (binary && binary->op == BinaryOp::mul)
    bits = (*this)(binary->a) + (*this)(binary->b);
  else
    for_each_child(e, [&](const Expr &child) { bits = std::max(bits, (*this)(child)); });
  return is_float(e.dtype()) ? std::min(bits, endless_fraction) : 0;
}

std::int64_t count_operations(const Expr &e, SharedResults<std::int64_t> &counted) {
  return counted(e, [&] {
    std::int64_t operations = 0;
    // Both the reference and the kernel round, from values that may differ: two units in the last place.
    if (const auto *cast = e.as<Cast>();
        cast && is_narrow(cast->dtype) && is_float(cast->dtype) && !is_given(cast->a))
      operations = 2 << (cast->dtype == DType::bf16 ? 16 : 13);
    if (e.as<Binary>() && is_float(e.dtype()))
      operations = 1;
    for_each_child(e, [&](const Expr &child) { operations += count_operations(child, counted); });
    return std::min(operations, std::int64_t{1} << 40);
  });
}

std::int64_t rounding_scale(const kernel::Plan &plan) {
  std::int64_t scale = 1;
  for (const kernel::Kernel &kernel : plan.kernels)
    if (kernel.body)
      kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
        if (const auto *call = kernel::as<kernel::Call>(stmt))
          scale = std::max(scale, call->intrinsic.get().rounding_scale);
      });
  return scale;
}

std::int64_t roundings_of(const Reference &reference, std::int64_t scale) {
  return scale == 1 ? reference.roundings : reference.roundings + (scale - 1) * (reference.additions + 3);
}

} // namespace nestsmith
