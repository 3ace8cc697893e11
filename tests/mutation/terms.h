#pragma once
/// Symbolic execution of a plan: inputs are symbols, and results are terms without evaluated arithmetic.
///
/// Every element of the result is a term: an input's element, a scalar, a constant, or an operator applied to
/// terms. Two terms are the same where they have the same shape; only sums are compared as the collections of
/// their summands, without zeros, factors may change places, and a constant times 0 is 0. Nothing else is known
/// of an operator: x * 0 is not 0, since x may be a NaN.
///
/// Indices and conditions on them are numbers. They do not depend on data, so that this is no sample: two plans
/// that the simulator finds free of races, of accesses out of bounds and of unwritten reads, and that give the
/// same terms, give the same results for all inputs, up to the order of a sum.

#include "lowering/plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith::mutation {

/// For each parameter that is written, and for all scalars 0 and for none of them, the hash of every element's
/// term. None where a condition depends on data, or data on an operator that terms do not have. The plan has no
/// sizes, and its elements are floating-point numbers.
using Terms = std::vector<std::vector<std::uint64_t>>;
std::optional<Terms> terms_of(const kernel::Plan &plan);

} // namespace nestsmith::mutation
