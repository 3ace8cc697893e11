#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"

namespace nestsmith::tvm_steps {

/// Unrolls the steps of a tile, 16 at a time.
Schedule step6(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return in_registers(shape, dtype, target, knobs, {.pipeline = true, .unroll = true});
}

} // namespace nestsmith::tvm_steps
