#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// tensorize(k, "dot4"): replaces a nest by one call of an intrinsic (dsl/intrinsic.h).
///
///     for k < 4: C[i] = C[i] + A[k]*B[k]     =>     for k < 4 tensorized by dot4: C[i] = C[i] + A[k]*B[k]
///
/// k is the outermost loop of the nest. The intrinsics are dot4 for operands of f32 and u32, and dp4a for
/// operands of i8 with sums in i32 and of u8 with sums in u32. The meaning of dp4a contains the conversions:
/// C[i] + i32(A[k])*i32(B[k]). A program can register more intrinsics.
///
/// Requires [tensorize.serial]: k is a serial loop.
/// Requires [tensorize.known]: an intrinsic of this name is registered for the dtype of the block.
/// Requires [tensorize.arch]: the target supports the intrinsic.
/// Requires [tensorize.innermost]: there is one block below k. If the meaning has one loop, there is no other
///   loop with more than one iteration.
/// Requires [tensorize.extent]: the loops of the nest are serial and have the extents of the meaning.
/// Requires [tensorize.meaning]: the nest is the meaning of the intrinsic, up to the names and the order of
///   loops, with the same conversions and dtypes. Loops over which it sums keep their order.
/// Requires [tensorize.operands]: along k, operands in parameters are contiguous and aligned, and each guard
///   has the same value for all iterations.
/// Ensures: the sequential meaning is unchanged. Obligation: operands in shared memory are contiguous and
///   aligned (later directives can still change their layout).
void tensorize(Schedule &schedule, Loop loop, const std::string &intrinsic);

} // namespace nestsmith::primitives
