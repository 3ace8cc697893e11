#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// double_buffer(k): pipelines k in two stages: the kernel fetches the tiles of the next iteration while it
/// computes with the tiles of the current iteration.
///
///     for k < n:                             A_shared of 0
///       A_shared: … A …                      for k < n:
///       AB: … A_shared …              =>       if (k + 1 < n) A_shared of k + 1
///                                              AB of k
///
/// A nest is in stage 1 if it reads a shared tile that another nest writes, or if it reads local results of a
/// nest in stage 1. All other nests are in stage 0. In each step of the pipeline, the nests of stage 0 that
/// fill a shared tile from registers execute last. All other nests of stage 0 execute before stage 1.
///
/// Requires [double_buffer.serial]: k is a serial or unrolled loop that is not yet pipelined.
/// Requires [double_buffer.tiles]: a nest below k writes a shared tile that another nest reads.
/// Ensures: the sequential meaning is unchanged; the kernel has one barrier per iteration.
extern const Primitive double_buffer;

} // namespace nestsmith::primitives
