#pragma once
/// Tells which computations call functions whose results are rounded, such as exp.

#include "dsl/expr/math_functions.h"
#include "dsl/ir/printer.h"
#include "schedules/rung.h"

#include <algorithm>
#include <string>

namespace nestsmith::test {

/// Returns whether a function rounds results of the rung in this type, so that no run of a check is exact. If
/// the rung does not take the type, in the type that it takes instead. In ring mode (u32), the value of a
/// function is a hash, and all results are exact.
inline bool rounds(const Rung &rung, DType dtype) {
  if (!is_float(dtype))
    return false;
  std::string text = print(rung.build(rung.tile, rung.dtype(dtype), Target{}).source());
  return std::ranges::any_of(math_functions(), [&](const MathFunction &function) {
    return !function.fraction_bits && text.find(std::string(function.name) + "(") != std::string::npos;
  });
}

} // namespace nestsmith::test
