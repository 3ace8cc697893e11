#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// double_buffer(k): a pipeline of two stages, which fetches the tiles of the next iteration while the loop
/// computes on those of the current one.
///
///     for k < n:                             A_shared of 0
///       A_shared: … A …                      for k < n:
///       AB: … A_shared …              =>       if (k + 1 < n) A_shared of k + 1
///                                              AB of k
///
/// Nests that read a shared tile of another nest are stage 1, and so are nests that read local results of stage
/// 1. All others are stage 0. In each step, nests of stage 0 that fill a tile from registers execute last, and
/// all other nests of stage 0 first.
///
/// Requires [double_buffer.serial]: k is a serial or unrolled loop and not yet pipelined.
/// Requires [double_buffer.tiles]: a nest below k writes a shared tile that another nest reads.
/// Ensures: the sequential meaning is unchanged; the kernel has one barrier per iteration.
void double_buffer(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
