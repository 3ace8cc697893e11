#pragma once
/// Kernels as a first user writes them, and wrong variants of each.

#include "dsl/ir/program.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::test {

/// How a kernel differs from the right one.
struct Fault {
  double factor = 1;       ///< of the output
  bool loses_term = false; ///< the last term of a sum, or an operand
};

struct FirstKernel {
  const char *name;
  std::function<Program(const Fault &)> build;
  bool scales = true; ///< whether `factor` applies: the output is a floating-point number
};

/// Softmax, normalizations, products, masks, polynomials, statistics, distances and a stencil.
const std::vector<FirstKernel> &first_kernels();

} // namespace nestsmith::test
