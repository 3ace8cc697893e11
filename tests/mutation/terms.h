#pragma once
/// Symbolic execution of a plan: inputs are symbols, and results are terms without evaluated arithmetic.
///
/// Each element of the result is a term: an element of an input, a scalar, a constant, or an operator applied
/// to terms. Two terms are equal if they have the same structure, with these exceptions: a sum is compared as
/// the multiset of its non-zero summands, factors commute, and a constant times 0 is 0. No other law is
/// applied: x * 0 is not 0, because x may be NaN.
///
/// Indices, and conditions on indices, are numbers. They do not depend on data, so the execution covers all
/// inputs. If two plans have no races, no out-of-bounds accesses and no unwritten reads, and give the same
/// terms, then they give the same results for all inputs, up to the order of sums.

#include "lowering/plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith::mutation {

/// Returns the hashes of the terms of all elements of each written parameter, for the two cases that all
/// scalars are 0 and that none is. Returns none if a condition depends on data, or if an operator is not
/// supported. The plan must have no sizes, and its elements must be floating-point numbers.
using Terms = std::vector<std::vector<std::uint64_t>>;
std::optional<Terms> terms_of(const kernel::Plan &plan);

} // namespace nestsmith::mutation
