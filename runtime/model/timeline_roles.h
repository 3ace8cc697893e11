#pragma once
/// The warps of a time line that fill tiles. The model executes the code of the main role only, so their events
/// follow from the iterations of its main loop, and from the latency of a fill (runtime/model/slots.h).

#include "runtime/model/timeline.h"

#include <vector>

namespace nestsmith::model {

/// "warp 3", of a kernel with roles "warp 3, main role". `warp` counts the warps of the main role.
std::string name_of_warp(const kernel::Kernel &kernel, int warp);

/// The main loop of a block, as the time line contains it.
struct MainLoop {
  std::int64_t tiles = 1;    ///< executions of the loop: iterations of those around it
  std::int64_t executed = 0; ///< iterations of each
  double wanted = 0;         ///< iterations of each in the kernel
  /// For each block of the SM: the clock at which its last warp ends each iteration, of all executions.
  std::vector<std::vector<double>> ends;
};

/// Adds a track for each warp of the other roles. A fill begins when its slot is free, and is in flight for the
/// latency of memory. Before it, the warp waits for the slot. Nothing is added to a kernel without roles.
void add_roles(Timeline &line, const KernelAnalysis &analysis, const MainLoop &main);

} // namespace nestsmith::model
