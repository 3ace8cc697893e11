#pragma once
/// The intrinsics that nestsmith declares itself.

#include "dsl/intrinsic.h"

#include <vector>

namespace nestsmith {

std::vector<Intrinsic> standard_intrinsics();
/// Those that a whole warp executes.
std::vector<Intrinsic> warp_intrinsics();

} // namespace nestsmith
