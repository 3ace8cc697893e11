#include "schedules/principles/rungs.h"

namespace nestsmith::principles {

/// B's tile lies transposed: its columns are rows. Stores and reads both go down a column of 32 words, and all
/// 32 lanes meet in one bank.
Schedule transposed(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = tile32(shape, dtype, target);
  s.transform_layout(s.block("B_shared"), "k, j -> j, k");
  return s;
}

} // namespace nestsmith::principles
