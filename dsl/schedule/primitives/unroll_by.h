#pragma once
#include "dsl/schedule/primitives/primitive.h"

#include <cstdint>

namespace nestsmith::primitives {

/// unroll_by(k, 4): the CUDA compiler writes 4 copies of the body one after the other, and the loop repeats
/// them. The compiler can then issue the loads of 4 iterations together. The loop stays serial, so its extent
/// may be of any size and need not be a multiple of 4.
///
///     for k < n: S     =>     for k < n unrolled by 4: S
///
/// Requires [unroll_by.serial]: k is a serial loop. It may be pipelined or partitioned.
/// Requires [unroll_by.once]: k is not yet unrolled by a number.
/// Requires [unroll_by.factor]: the number is from 2 to 1024.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive unroll_by;

} // namespace nestsmith::primitives
