#include "schedules/004/rungs.h"

namespace nestsmith::tutorial_004 {

/// The transposed tile with each row's words permuted: a column falls into 32 banks, and no word is wasted.
Schedule swizzled(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = transposed(shape, dtype, target);
  s.swizzle(s.block("B_shared"), 5, 0, 5);
  return s;
}

} // namespace nestsmith::tutorial_004
