#include "schedules/principles/rungs.h"
#include "schedules/principles/vectors.h"
#include "schedules/workloads.h"

namespace nestsmith::principles {

/// Two kernels: x + 1 is written to global memory and read back, four accesses for each element.
Schedule unfused(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(shifted_relu(shape, dtype), target);
  one_thread_an_element(s, "t");
  one_thread_an_element(s, "y");
  return s;
}

/// One kernel: x + 1 stays in a register, two accesses for each element.
Schedule fused(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(shifted_relu(shape, dtype), target);
  s.compute_inline(s.block("t"));
  one_thread_an_element(s, "y");
  return s;
}

} // namespace nestsmith::principles
