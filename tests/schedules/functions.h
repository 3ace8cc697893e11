#pragma once
/// Tells which computations call functions whose results are rounded, such as exp.

#include "dsl/expr/math_functions.h"
#include "dsl/ir/printer.h"
#include "schedules/rung.h"

#include <algorithm>
#include <string>

namespace nestsmith::test {

/// Returns whether results of the rung in this floating-point type, or the next that it has, are rounded by a
/// function, so that no run of a check is exact. In ring mode (u32), functions are hashes, and all results are
/// exact.
inline bool rounds(const Rung &rung, DType dtype) {
  if (!is_float(dtype))
    return false;
  std::string text = print(rung.build(rung.tile, rung.dtype(dtype), Target{}).source());
  return std::ranges::any_of(math_functions(), [&](const MathFunction &function) {
    return !function.fraction_bits && text.find(std::string(function.name) + "(") != std::string::npos;
  });
}

} // namespace nestsmith::test
