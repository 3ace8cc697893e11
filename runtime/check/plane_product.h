#pragma once
/// The matrix products of the reference, of whole planes at once: their values, and the bounds of their errors.

#include "dsl/ir/residues.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/element_program.h"
#include "runtime/check/reference.h"

#include <cstdint>

namespace nestsmith {

struct Multiplication {
  Multiplier *multiplier;      ///< null: the CPU
  std::int64_t rounding_scale; ///< of the kernel's sums (Intrinsic::rounding_scale)
  Arithmetic arithmetic;
};

/// Whether `multiply` computes the contraction. Integers that depend on roundings are evaluated one by one, and
/// so are factors that are no doubles.
bool can_multiply(const Contraction &c, const Planes &planes, Arithmetic arithmetic);

/// Computes the plane of the result, with its errors. The order of summation is the same for any number of
/// threads.
void multiply(const Contraction &c, Planes &planes, const Multiplication &how);

} // namespace nestsmith
