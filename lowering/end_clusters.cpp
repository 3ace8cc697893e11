#include "lowering/hazards.h"
#include "lowering/unit.h"

namespace nestsmith::kernel {

/// A thread block that has ended has no shared memory. Warps of the other blocks of its cluster arrive at its
/// events when they free slots, until the last tile is read. So no block ends before all of them. What other
/// blocks copy to its tiles, it awaits itself: if no slot is freed, no barrier is needed.
void end_clusters(Unit &unit) {
  Kernel &kernel = unit.kernel();
  const OfProgram of_program(kernel);
  Barrier barrier{SyncScope::cluster};
  for (std::size_t n = 0; n < kernel.channels.size(); ++n) // one tile stands for the events of its channel
    if (kernel.frees_in_cluster(n))
      barrier.hazards.push_back({Hazard::Kind::end_after_write, of_program(tiles_to_cluster(kernel, n).at(0))});
  if (!barrier.hazards.empty())
    kernel.body = make_seq({kernel.body, make(std::move(barrier))});
}

} // namespace nestsmith::kernel
