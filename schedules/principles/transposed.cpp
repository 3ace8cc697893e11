#include "schedules/principles/rungs.h"

namespace nestsmith::principles {

/// The tile of B is transposed: its columns are stored as rows. Stores and reads both go down a column of 32
/// words, so all 32 lanes access one bank.
Schedule transposed(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = tile32(shape, dtype, target);
  s.transform_layout(s.block("B_shared"), "k, j -> j, k");
  return s;
}

} // namespace nestsmith::principles
