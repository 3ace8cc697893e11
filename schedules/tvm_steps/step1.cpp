#include "schedules/tvm_steps/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::tvm_steps {

/// Binds i to blocks and j to threads. A row that is or may be longer than 1024 takes several blocks. The knob
/// `threads` chooses another limit.
Schedule step1(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  std::int64_t threads = knobs.choose("threads", {1024, 32, 64, 128, 256, 512});
  Schedule s(matmul(shape, dtype), target);
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  s.bind(i, Axis::block_x);
  if (!shape.stated && s.extent(j) <= threads) {
    s.bind(j, Axis::thread_x);
    return s;
  }
  auto [j_block, j_thread] = s.split(j, {infer, threads});
  s.bind(j_block, Axis::block_y);
  s.bind(j_thread, Axis::thread_x);
  return s;
}

} // namespace nestsmith::tvm_steps
