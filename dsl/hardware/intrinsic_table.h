#pragma once
/// The intrinsics that nestsmith declares itself.

#include "dsl/ir/intrinsic.h"

#include <vector>

namespace nestsmith {

std::vector<Intrinsic> standard_intrinsics();
/// The intrinsics that a whole warp executes.
std::vector<Intrinsic> warp_intrinsics();

/// Throws UserError (usage) if the declaration is malformed.
void check_declaration(const Intrinsic &intrinsic);

} // namespace nestsmith
