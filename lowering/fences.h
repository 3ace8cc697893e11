#pragma once
/// Fences between the ordinary accesses of threads to shared memory, and those of units that access it by
/// themselves: the matrix units, which read tiles, and the unit of bulk copies, which writes and reads them.
/// Events and barriers alone do not order the two kinds (PTX ISA, "Async proxy").

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Inserts a fence
///   - before each barrier that orders ordinary writes before reads of matrix units or bulk stores;
///   - after each await of such writes by another role: the warps that fill a tile do not know when their
///   copies
///     arrive;
///   - before each signal that frees a tile for a bulk copy after ordinary reads.
/// The kernel must have flat offsets and calls.
void add_fences(Kernel &kernel);

/// Whether threads themselves read a tile of the channel. If not, only matrix units do, whose reads a wait
/// completes before the slot is freed.
bool is_read_by_threads(const Kernel &kernel, const Channel &channel);

} // namespace nestsmith::kernel
