#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// fuse(i, j): fuses two nested loops into one.
///
///     for i < m: for j < n: S     =>     for i_j < m*n: S with i = i_j // n, j = i_j % n
///
/// Requires [fuse.serial]: i and j are serial loops.
/// Requires [fuse.nested]: j is the only statement in the body of i.
/// Requires [fuse.extent]: the product of the extents does not exceed 2^60.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive fuse;

} // namespace nestsmith::primitives
