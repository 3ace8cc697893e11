#include "schedules/principles/rungs.h"

namespace nestsmith::principles {

/// The transposed tile with rows of 33 words, so that a column falls into 32 banks.
Schedule padded(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = transposed(shape, dtype, target);
  s.storage_align(s.block("B_shared"), 0, 32, 1);
  return s;
}

} // namespace nestsmith::principles
