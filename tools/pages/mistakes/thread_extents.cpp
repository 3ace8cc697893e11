#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"

namespace nestsmith::mistake {

/// Step 3 of tvm_steps as printed: 4 threads along x compute, and 128 iterations of the fetch are bound to
/// them.
Schedule thread_extents() {
  Schedule s(matmul({512, 512, 512}, DType::f32));
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, i_thread, i_elem] = s.split(i, {infer, 4, 8});
  auto [j_block, j_thread, j_elem] = s.split(j, {infer, 8, 4});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, i_elem, j_elem, k_inner});
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.bind(j_thread, Axis::thread_y);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(C, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    auto [f_ty, f_tx] = s.split(s.fuse(loops[loops.size() - 2], loops.back()), {8, infer});
    s.bind(f_tx, Axis::thread_x);
    s.bind(f_ty, Axis::thread_y);
  }
  return s;
}

} // namespace nestsmith::mistake
