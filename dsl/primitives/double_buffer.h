#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// double_buffer(k): a pipeline of two stages, in which the tiles of the next iteration are fetched while the
/// loop computes on those of this one.
///
///     for k < n:                             A_shared of 0
///       A_shared: … A …                      for k < n:
///       AB: … A_shared …              =>       if (k + 1 < n) A_shared of k + 1
///                                              AB of k
///
/// Nests that read a shared tile of another nest are stage 1, all others stage 0. What fills a tile from
/// registers runs last in each step, and what loads those registers first.
///
/// Requires [double_buffer.serial]: k is a serial or unrolled loop and not yet pipelined.
/// Requires [double_buffer.tiles]: a nest below k writes a shared tile that another one reads.
/// Ensures: the sequential meaning is unchanged; the kernel has one barrier an iteration.
void double_buffer(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
