#include "runtime/check/roundings.h"

#include "dsl/expr/math_functions.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/workload_info.h"

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
  auto of_access = [&](const BufferNode &buffer, const Expr &fill) {
    auto known = of_.find(&buffer);
    int stored = known == of_.end() ? 0 : known->second;
    return fill.exists() ? std::max(stored, (*this)(fill)) : stored;
  };
  if (const auto *access = e.as<Load>())
    return of_access(*access->buffer, access->fill);
  if (const auto *selected = e.as<Part>()) {
    const auto &access = *selected->a.as<Load>();
    auto n = static_cast<std::size_t>(selected->index);
    return of_access(*part_buffers(*access.buffer)[n], access.fill.exists() ? part(access.fill, n) : Expr());
  }
  if (const auto *choice = e.as<Select>())
    return std::max((*this)(choice->when_true), (*this)(choice->when_false));
  if (const MathFunction *function = math_function(e)) {
    int operands[3] = {};
    for (std::size_t n = 0; n < e.as<Call>()->arguments.size(); ++n)
      operands[n] = (*this)(e.as<Call>()->arguments[n]);
    return function->fraction_bits
               ? std::min(function->fraction_bits(operands[0], operands[1], operands[2]), endless_fraction)
               : endless_fraction;
  }
  const auto *binary = e.as<Binary>();
  if (auto quotient = quotients_.find(e.get()); quotient != quotients_.end())
    bits = quotient->second;
  else if (binary && binary->op == BinaryOp::mul)
    bits = (*this)(binary->a) + (*this)(binary->b);
  else
    for_each_child(e, [&](const Expr &child) { bits = std::max(bits, (*this)(child)); });
  return is_float(e.dtype()) ? std::min(bits, endless_fraction) : 0;
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

} // namespace nestsmith
