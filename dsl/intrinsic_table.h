#pragma once
/// The intrinsics that nestsmith declares itself.

#include "dsl/intrinsic.h"

#include <vector>

namespace nestsmith {

std::vector<Intrinsic> standard_intrinsics();

} // namespace nestsmith
