#include "schedules/principles/rungs.h"
#include "schedules/workloads.h"

#include <string>

namespace nestsmith::principles {

namespace {

/// One thread for each element, 128 in a block.
void one_thread_each(Schedule &s, const std::string &block) {
  auto [i] = s.loops<1>(s.block(block));
  auto [outer, inner] = s.split(i, {infer, 128});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
}

} // namespace

/// A kernel for each step of a chain, on few elements: the host takes longer to enqueue a kernel than the GPU
/// to execute it.
Schedule launches(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(relu_steps(shape, dtype), target);
  for (int n = 1; n < steps_of_chain; ++n)
    one_thread_each(s, "t" + std::to_string(n));
  one_thread_each(s, "y");
  return s;
}

/// The whole chain in one kernel: one launch.
Schedule one_launch(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(relu_steps(shape, dtype), target);
  for (int n = 1; n < steps_of_chain; ++n)
    s.compute_inline(s.block("t" + std::to_string(n)));
  one_thread_each(s, "y");
  return s;
}

} // namespace nestsmith::principles
