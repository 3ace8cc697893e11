#pragma once
/// The intrinsics that nestsmith declares itself.

#include "dsl/ir/intrinsic.h"

#include <map>
#include <string_view>
#include <vector>

namespace nestsmith {

std::vector<Intrinsic> standard_intrinsics();
/// The intrinsics that a whole warp executes.
std::vector<Intrinsic> warp_intrinsics();

/// The dtypes of the operands of preludes, with their CUDA C++ types. All but booleans and compute types.
const std::map<DType, std::string_view> &cuda_types();

/// Throws UserError (usage) if the declaration is malformed.
void check_declaration(const Intrinsic &intrinsic);

} // namespace nestsmith
