#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"

namespace nestsmith::tvm_steps {

/// Fetches the tiles of the next iteration while this one computes: two buffers, one barrier. The post makes
/// the write-back a third stage of the pipelined loop, which would store partial sums. Here it follows the
/// loop.
Schedule step5(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return in_registers(shape, dtype, target, knobs, {.pipeline = true});
}

} // namespace nestsmith::tvm_steps
