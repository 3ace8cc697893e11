#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// spread(i): the iterations of i, in a nest of a pipelined loop, are spread over the steps of the joined loop
/// (join_pipelines) of that pipeline.
///
///     for k < n pipelined:                          for j < m - 1:
///       for i < c unrolled: A_shared                  F of k, j + 1
///       for j < m pipelined joined:          =>       if (j < c) iteration j of i, for a later k
///         F: … A_shared …                             P of k, j
///         P: … F …                                  …
///
/// In a product, a thread copies c parts of a tile. If all copies start in one step, they delay the loads of
/// operands from shared memory. With more iterations than steps, a step executes several. With less than half
/// as many, it executes one in every second step, and so on.
///
/// Requires [spread.unrolled]: i is unrolled, so that the kernel has no conditions on j at run time, and it is
///   not pipelined, not spread and never backwards.
/// Requires [spread.nest]: i is the outermost loop of a nest of a pipelined loop.
/// Requires [spread.joined]: a nest of this pipeline with an earlier order is a joined loop.
/// Requires [spread.order]: no nest with an order between those of the joined loop and of i writes what a block
///   below i accesses, or reads what it writes. Such a nest executes whole in the last of these steps, or its
///   parts alternate with those of i.
/// Ensures: every iteration executes once, in ascending order, and before the last steps of the joined loop.
extern const Primitive spread;

} // namespace nestsmith::primitives
