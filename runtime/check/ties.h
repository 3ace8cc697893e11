#pragma once
/// Inputs whose roundings to a narrow type are ties, for the run `ties` of a check.

#include "dsl/ir/array.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace nestsmith {

/// The narrow floating-point types to which the computation rounds values of f32, without duplicates.
std::vector<DType> narrow_roundings(const Program &source);

/// Fills a floating-point parameter with numbers of [1, 2) and their negatives. An element of f32 is on, or
/// halfway between, two numbers of a narrow type; a product of two narrow elements is. In the dimensions that a
/// sum reduces, all but a few elements are 0. The sums of their products are exact. `word` gives random bits.
void put_ties(Array &array, const Program &source, const Buffer &param,
              const std::function<std::uint32_t()> &word);

} // namespace nestsmith
