#include "schedules/principles/rungs.h"
#include "schedules/principles/vectors.h"
#include "schedules/workloads.h"

#include <string>

namespace nestsmith::principles {

namespace {

constexpr std::int64_t threads = 128; ///< of a block: the steps have few elements

} // namespace

/// A kernel for each step of a chain, on few elements: the host takes longer to enqueue a kernel than the GPU
/// to execute it.
Schedule launches(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(relu_steps(shape, dtype), target);
  for (int n = 1; n < steps_of_chain; ++n)
    one_thread_an_element(s, "t" + std::to_string(n), threads);
  one_thread_an_element(s, "y", threads);
  return s;
}

/// The whole chain in one kernel: one launch.
Schedule one_launch(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(relu_steps(shape, dtype), target);
  for (int n = 1; n < steps_of_chain; ++n)
    s.compute_inline(s.block("t" + std::to_string(n)));
  one_thread_an_element(s, "y", threads);
  return s;
}

} // namespace nestsmith::principles
