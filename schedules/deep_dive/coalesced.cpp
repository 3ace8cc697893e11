#include "schedules/deep_dive/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::deep_dive {

/// The same, but neighbouring threads compute neighbouring elements of a row: a warp reads one element of A and
/// 32 neighbouring elements of B.
Schedule coalesced(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  std::int64_t threads = knobs.choose("threads", {256, 32, 64, 128, 512, 1024});
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto element = s.fuse(i, j);
  s.reverse_compute_at(C, element);
  auto [block, thread] = s.split(element, {infer, threads});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

} // namespace nestsmith::deep_dive
