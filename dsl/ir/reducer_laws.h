#pragma once
/// The test of the laws that a reducer promises (dsl/ir/reducer.h).

#include "dsl/ir/reducer.h"
#include "dsl/ir/residues.h"

#include <optional>
#include <string>

namespace nestsmith {

/// The first law that does not hold, with the values that show it: "is not commutative: combine(a, b) is …".
/// None if all laws hold for the tested values.
/// With another arithmetic than `floating`, the laws are tested for residues, which are equal only if all bits
/// are.
std::optional<std::string> broken_law(const OwnReducer &reducer, Arithmetic arithmetic = Arithmetic::floating);
/// Whether all laws hold, of a reducer that `define_reducer` returned.
bool holds_for(const OwnReducer &reducer, Arithmetic arithmetic);
/// Whether the laws hold exactly, for residues of one kind. Then another order of the terms changes no more
/// than the roundings.
bool holds_exactly(const OwnReducer &reducer);
/// The bound of a reducer that rounds in its own way, in units of the bound in the program's order of the
/// terms, if its laws hold exactly. This is an estimate: nothing bounds the roundings in the other orders.
inline constexpr int order_factor = 4;

} // namespace nestsmith
