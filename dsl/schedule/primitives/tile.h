#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// tile(i, j, {ti, tj}): tiles two loops of one nest.
///
///     for i < m: for j < n: S     =>     for i_outer < ceil(m/ti): for j_outer < ceil(n/tj):
///                                          for i_inner < ti: for j_inner < tj: S
///
/// The result is the same as with two splits and a reorder. If any of these steps is refused, the schedule is
/// unchanged.
///
/// Requires [tile.factors]: there are two factors.
/// Requires [tile.split]: i and j satisfy the requirements of split: each is serial, each factor is 1 or more,
///   and if a factor does not divide the extent, the loop is the outermost part of an axis of every block
///   below.
/// Requires [tile.nest]: i and j are two loops of one nest, and no other statement is between them.
/// Requires [tile.order]: accesses to an element of a parameter keep their order, as reorder requires it.
/// Ensures: every iteration executes once; the order of a summation may change.
extern const Primitive tile;

} // namespace nestsmith::primitives
