#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

namespace {

/// Kernel 6 with another layout of the tile of B.
Schedule with_layout(const Shape &shape, DType dtype, const Target &target, const char *b_layout) {
  Schedule s(gemm(shape, dtype), target);
  bool vectors = !vectorized_variant(shape, dtype);
  vector_tiles(s, {.results = 8, .k = 8, .vectors = vectors, .b_by_four = false}, b_layout);
  return s;
}

} // namespace

/// Kernel 7: the columns of B's tile that a thread reads in turn are 16 words apart, and those that
/// neighbouring threads read at a time are neighbours. No bank is accessed twice, but a read has one word
/// instead of four.
Schedule linearized(const Shape &shape, DType dtype, const Target &target) {
  return with_layout(shape, dtype, target, "k, j -> k, j%8, j//8");
}

/// Kernel 8: B's tile has 5 more columns, so rows of 133 words. The lanes of a warp read one row, so their
/// banks remain the same, and rows are no longer aligned for 128-bit accesses.
Schedule extra_columns(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = with_layout(shape, dtype, target, "k, j -> k, j");
  s.storage_align(s.block("B_shared"), 0, 128, 5);
  return s;
}

} // namespace nestsmith::worklog
