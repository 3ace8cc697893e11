#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"

namespace nestsmith::tvm_steps {

/// The results are collected in registers with cache_write and written back with float4. The accumulators are
/// registers because their loops are unrolled.
Schedule step4(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return in_registers(shape, dtype, target, knobs, {});
}

} // namespace nestsmith::tvm_steps
