#include "schedules/003/rungs.h"
#include "schedules/003/tiles.h"

namespace nestsmith::tutorial_003 {

/// The tiles of the next iteration are fetched while this one computes: two buffers, one barrier. The post puts
/// the write-back into the pipelined loop, as a third stage, where it would store partial sums; it stands after
/// the loop.
Schedule step5(const Shape &shape, DType dtype, const Target &target) {
  return in_registers(shape, dtype, target, {.pipeline = true});
}

} // namespace nestsmith::tutorial_003
