#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// tile(i, j, {ti, tj}): two loops of one nest become tiles, and loops inside of a tile.
///
///     for i < m: for j < n: S     =>     for i_outer < ceil(m/ti): for j_outer < ceil(n/tj):
///                                          for i_inner < ti: for j_inner < tj: S
///
/// One directive for two splits and a reorder; it holds what they require, or the schedule stays as it was.
///
/// Requires [tile.factors]: two factors.
/// Requires [tile.split]: i and j can be split by them: each is serial, each factor at least 1, and where one
///   does not divide, its loop is the outermost part of an axis of every block below.
/// Requires [tile.nest]: i and j are two loops of one nest in which no other statement stands between them.
/// Ensures: every iteration runs once; a reduction may be summed in another order.
std::vector<Loop> tile(Schedule &schedule, Loop i, Loop j, std::vector<std::int64_t> factors);

} // namespace nestsmith::primitives
