#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// tensorize(k, "dot4"): one call of a declared intrinsic (dsl/intrinsic.h) does what the loop does.
///
///     for k < 4: C[i] = C[i] + A[k]*B[k]     =>     for k < 4 tensorized by dot4: C[i] = C[i] + A[k]*B[k]
///
/// Requires [tensorize.serial]: k is a serial loop.
/// Requires [tensorize.known]: there is an intrinsic of this name for the dtype.
/// Requires [tensorize.arch]: the target has it.
/// Requires [tensorize.extent]: k has as many iterations as the intrinsic replaces.
/// Requires [tensorize.innermost]: there is one block below k, and no other loop of several iterations.
/// Requires [tensorize.meaning]: the iterations in their order compute what the intrinsic declares.
/// Requires [tensorize.operands]: along k operands in parameters are contiguous and aligned, and guards have
/// one value.
/// Ensures: the sequential meaning is unchanged. That operands in shared memory are contiguous and aligned is
/// an obligation: later directives may give them another layout.
void tensorize(Schedule &schedule, Loop loop, const std::string &intrinsic);

} // namespace nestsmith::primitives
