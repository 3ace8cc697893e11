#include "schedules/principles/rungs.h"

namespace nestsmith::principles {

/// The transposed tile with the words of each row permuted, so that a column falls into 32 banks and no word is
/// wasted.
Schedule swizzled(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = transposed(shape, dtype, target);
  s.swizzle(s.block("B_shared"), 5, 0, 5);
  return s;
}

} // namespace nestsmith::principles
