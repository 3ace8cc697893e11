#include "schedules/deep_dive/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::deep_dive {

/// One thread for each element, 256 in a block. Neighbouring threads walk down a column, so the 32 lanes
/// of a warp read 32 rows of A.
Schedule naive(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  std::int64_t threads = knobs.choose("threads", {256, 32, 64, 128, 512, 1024});
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  s.reorder({j, i});
  auto element = s.fuse(j, i);
  s.reverse_compute_at(C, element);
  auto [block, thread] = s.split(element, {infer, threads});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

} // namespace nestsmith::deep_dive
