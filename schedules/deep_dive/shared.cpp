#include "schedules/deep_dive/rungs.h"
#include "schedules/fetch.h"
#include "schedules/workloads.h"

namespace nestsmith::deep_dive {

/// A block computes a 32 x 32 tile of C from tiles of A and B that it keeps in shared memory: each element
/// is fetched once for 32 uses. The knob `block_size` chooses the side of the tiles.
Schedule shared(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  std::int64_t tile = knobs.choose("block_size", {32, 16, 8});
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_outer, i_inner] = s.split(i, {infer, tile});
  auto [j_outer, j_inner] = s.split(j, {infer, tile});
  auto [k_outer, k_inner] = s.split(k, {infer, tile});
  s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer, k_inner});
  auto thread = s.fuse(i_inner, j_inner);
  s.reverse_compute_at(C, thread);
  s.bind(i_outer, Axis::block_y);
  s.bind(j_outer, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  fetch_tile(s, AB, "A", k_outer, tile * tile);
  fetch_tile(s, AB, "B", k_outer, tile * tile);
  s.unroll(k_inner);
  s.unroll_by(k_outer, 4);
  return s;
}

} // namespace nestsmith::deep_dive
