#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"

namespace nestsmith::tvm_steps {

/// The tiles of the next iteration are fetched while this one computes: two buffers, one barrier. The post puts
/// the write-back into the pipelined loop, as a third stage, where it would store partial sums; it stands after
/// the loop.
Schedule step5(const Shape &shape, DType dtype, const Target &target) {
  return in_registers(shape, dtype, target, {.pipeline = true});
}

} // namespace nestsmith::tvm_steps
