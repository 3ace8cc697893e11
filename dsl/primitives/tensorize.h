#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// tensorize(k, "dot4"): replaces a loop by one call of a declared intrinsic (dsl/intrinsic.h).
///
///     for k < 4: C[i] = C[i] + A[k]*B[k]     =>     for k < 4 tensorized by dot4: C[i] = C[i] + A[k]*B[k]
///
/// The intrinsics are dot4 for operands of f32 and u32, and dp4a for operands of i8 with sums in i32 and of u8
/// with sums in u32. The meaning of dp4a contains the conversions: C[i] + i32(A[k])*i32(B[k]).
///
/// Requires [tensorize.serial]: k is a serial loop.
/// Requires [tensorize.known]: an intrinsic of this name is declared for the dtype of the block.
/// Requires [tensorize.arch]: the target supports the intrinsic.
/// Requires [tensorize.extent]: the extent of k equals the extent that the intrinsic declares.
/// Requires [tensorize.innermost]: there is one block below k, and no other loop with more than one iteration.
/// Requires [tensorize.meaning]: the iterations of k, executed in order, compute the expression that the
///   intrinsic declares as its meaning, with the same conversions and dtypes.
/// Requires [tensorize.operands]: along k, operands in parameters are contiguous and aligned, and each guard
///   has the same value for all iterations.
/// Ensures: the sequential meaning is unchanged. Obligation: operands in shared memory are contiguous and
///   aligned (later directives can still change their layout).
void tensorize(Schedule &schedule, Loop loop, const std::string &intrinsic);

} // namespace nestsmith::primitives
