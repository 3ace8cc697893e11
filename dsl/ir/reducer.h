#pragma once
/// Reducers: how a block combines the terms of its reduction axes into one element.
///
///   element = identity;  for each k: element = combine(element, term(k))
///
/// Each reducer is associative and commutative on the values that an element can have, so that a schedule may
/// split the axes, reorder them, and combine partial results. This holds up to roundings of floating-point sums
/// and products, and up to the sign of a zero of `max` and `min`.
///
/// `max` and `min` of floating-point numbers ignore a term that is NaN, as fmaxf and fminf do: the element
/// begins at an infinity, and a comparison with NaN is false. `max(element, term)` is `element < term ? term :
/// element`, and `min(term, element)` is `term < element ? term : element`. So an element is never NaN, and the
/// order of the terms does not matter.

#include "dsl/expr/expr.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nestsmith {

enum class Reducer : std::uint8_t { sum, product, max, min };
inline constexpr std::array reducers = {Reducer::sum, Reducer::product, Reducer::max, Reducer::min};

std::string_view name(Reducer reducer); ///< "sum"
std::optional<Reducer> parse_reducer(std::string_view text);
BinaryOp op_of(Reducer reducer);

/// The value that leaves each other value as it is: 0, 1, and for `max` the least value of the dtype, which is
/// -infinity for a floating-point number.
Expr identity_of(Reducer reducer, DType dtype);
/// Whether the term is the first operand of the operator.
bool has_term_first(Reducer reducer);
Expr combine(Reducer reducer, Expr element, Expr term);

} // namespace nestsmith
