#pragma once
/// Kernels such as a new user writes, and wrong variants of each.

#include "dsl/ir/program.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::test {

/// The difference from the correct kernel.
struct Fault {
  double factor = 1;       ///< multiplies the output
  bool loses_term = false; ///< loses the last term of a sum, or an operand
};

struct FirstKernel {
  const char *name;
  std::function<Program(const Fault &)> build;
  bool scales = true; ///< whether `factor` applies, which requires a floating-point output
};

/// Softmax, normalizations, products, masks, polynomials, statistics, distances and a stencil.
const std::vector<FirstKernel> &first_kernels();

} // namespace nestsmith::test
