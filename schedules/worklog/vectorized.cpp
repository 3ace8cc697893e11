#include "schedules/variant.h"
#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

/// Rows of A have K elements, those of B and C have N.
std::optional<Variant> vectorized_variant(const Shape &shape, DType) {
  return scalar_unless_multiples(shape, {{"N", 1}, {"K", 2}}, 4);
}

/// Kernel 6: kernel 5 with 128-bit accesses. A is transposed on its way into shared memory. The two halves of
/// each thread's columns of B are 64 apart there, so that no bank is accessed twice at a time.
Schedule vectorized(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  bool vectors = !vectorized_variant(shape, dtype);
  vector_tiles(s, {.results = 8, .k = 8, .vectors = vectors}, "k, j -> k, j//4%2, j//8, j%4");
  return s;
}

} // namespace nestsmith::worklog
