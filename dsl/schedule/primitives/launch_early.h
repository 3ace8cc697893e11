#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// launch_early(): a kernel may start while the one before it in its stream ends (programmatic dependent
/// launch). Its thread blocks take the places of those that have ended, and prepare what needs no memory: they
/// start the events of their channels, and compute their indices. Before the first access to global memory, all
/// threads wait until the kernel before has ended and its results are visible.
///
///     kernel 1: ======tail==                kernel 1: ======tail==
///     kernel 2:             start======  =>  kernel 2:      start  ======
///
/// Each kernel of the schedule does so, also one that follows a kernel of another schedule or program in the
/// stream. A kernel that was not launched so does not wait, since nothing can run beside it.
///
/// The second kernel of a schedule waits later, if it has work that does not need the first one: before it
/// reads an array that the first one writes, or writes one that the first one uses. Until then, both kernels
/// execute, if the GPU has places for the thread blocks of both (`cut_sum`). The same is true of each kernel
/// that follows one that waited first.
///
/// Requires [launch_early.feature]: the target has `griddepcontrol`.
/// Requires [launch_early.once]: the directive is stated once.
/// Ensures: the sequential meaning and every result are unchanged.
extern const Primitive launch_early;

} // namespace nestsmith::primitives
