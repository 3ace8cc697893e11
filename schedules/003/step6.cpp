#include "schedules/003/rungs.h"
#include "schedules/003/tiles.h"

namespace nestsmith::tutorial_003 {

/// The steps of a tile are written out 16 at a time.
Schedule step6(const Shape &shape, DType dtype, const Target &target) {
  return in_registers(shape, dtype, target, {.pipeline = true, .unroll = true});
}

} // namespace nestsmith::tutorial_003
