#pragma once
/// The test of the laws that a reducer promises (dsl/ir/reducer.h).

#include "dsl/ir/reducer.h"

#include <optional>
#include <string>

namespace nestsmith {

/// The first law that does not hold, with the values that show it: "is not commutative: combine(a, b) is …".
/// None if all laws hold for the tested values.
std::optional<std::string> broken_law(const OwnReducer &reducer);

} // namespace nestsmith
