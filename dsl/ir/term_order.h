#pragma once
/// The order in which a reduction combines its terms.

#include "dsl/ir/program.h"

#include <optional>
#include <string>

namespace nestsmith {

/// Loops that change the order of the terms of a reducer that is not commutative.
struct OrderBreach {
  BlockId block;
  std::string reducer, axes; ///< "k, l": the axes, of which the last varies fastest
  Var outer, inner;          ///< the nest has them the other way round
};
/// The first of such loops; none if each reducer that is not commutative meets its terms in the order of the
/// block's reduction axes. The answer is conservative: digits of several loops count as in order only if the
/// loops are.
std::optional<OrderBreach> find_order_breach(const Program &program);

} // namespace nestsmith
