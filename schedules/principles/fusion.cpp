#include "schedules/principles/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::principles {

namespace {

/// One thread for each element, 256 in a block.
void spread(Schedule &s, const char *block) {
  auto [i] = s.loops<1>(s.block(block));
  auto [outer, inner] = s.split(i, {infer, 256});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
}

} // namespace

/// Two kernels: x + 1 is written to global memory and read back, four accesses for each element.
Schedule unfused(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(shifted_relu(shape, dtype), target);
  spread(s, "t");
  spread(s, "y");
  return s;
}

/// One kernel: x + 1 stays in a register, two accesses for each element.
Schedule fused(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(shifted_relu(shape, dtype), target);
  s.compute_inline(s.block("t"));
  spread(s, "y");
  return s;
}

} // namespace nestsmith::principles
