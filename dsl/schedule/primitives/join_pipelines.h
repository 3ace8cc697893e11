#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// join_pipelines(j): the steps of the pipelined loop j and of the pipelined loop around it become one
/// sequence. Without this, j starts again with its prologue in each iteration of the outer loop.
///
///     for k < n pipelined:                  …; F of 0, 0
///       A_shared: …                         for k < n:
///       for j < m pipelined:                  A_shared of a later iteration
///         F: … A_shared …             =>      for j < m - 1: F of k, j + 1; P of k, j
///         P: … F …                            if (k + 1 < n) F of k + 1, 0
///                                             P of k, m - 1
///
/// In a product, F loads the operands of the next step into registers, and P multiplies: the first operands of
/// the next tile are loaded before this tile ends.
///
/// A nest of the outer pipeline with a later order than the nest of j executes in the last iteration of the
/// loop j < m - 1, between F and P. So the copies to A_shared can start after the loads of this step.
///
/// Requires [join_pipelines.nested]: j is unrolled and pipelined, is not yet joined, and is directly below a
///   pipelined loop.
/// Requires [join_pipelines.last]: in the outer pipeline, the nest of j has a later stage than all others.
/// Requires [join_pipelines.between]: a nest with a later order than the nest of j does not write what j
///   accesses, and does not read what j writes, except for temporaries in shared memory that only the outer
///   loop uses.
/// Requires [join_pipelines.steps]: j has more iterations than the number of its stages - 1, and a multiple of
///   the number of copies of each of its registers.
/// Requires [join_pipelines.early]: the blocks of j before its last stage write temporaries in registers that
///   only j uses. They read temporaries of j, temporaries that an earlier stage of the outer loop writes, and
///   memory that no block of the nest writes.
/// Ensures: the sequential meaning and every result of the kernel are unchanged.
extern const Primitive join_pipelines;

} // namespace nestsmith::primitives
