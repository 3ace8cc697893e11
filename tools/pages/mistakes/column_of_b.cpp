#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"

namespace nestsmith::mistake {

/// The shared kernel of transposed as printed, TILESZ 32: neighbouring threads fetch neighbouring rows of B,
/// which is stored N x K, and read them so from shared memory.
Schedule column_of_b() {
  Schedule s(accumulate_nt({64, 64, 64}, DType::f32));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 32});
  auto [j_block, j_thread] = s.split(j, {infer, 32});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread});
  s.reverse_compute_at(C, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    bool along_rows = operand[0] == 'A';
    s.bind(loops[loops.size() - 2], along_rows ? Axis::thread_y : Axis::thread_x);
    s.bind(loops.back(), along_rows ? Axis::thread_x : Axis::thread_y);
  }
  return s;
}

} // namespace nestsmith::mistake
