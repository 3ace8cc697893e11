#include "schedules/fetch.h"
#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"

namespace nestsmith::mistake {

/// Step 5 of tvm_steps as printed: the copy of the results to C is the last of four parts of the pipeline over
/// k.
Schedule writeback_in_pipeline() {
  Schedule s(matmul({512, 512, 512}, DType::f32));
  auto C = s.block("C"), C_writeback = s.cache_write(C, Scope::local);
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, i_thread, i_elem] = s.split(i, {infer, 4, 8});
  auto [j_block, j_thread, j_elem] = s.split(j, {infer, 8, 4});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, i_elem, j_elem, k_inner});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C_writeback, thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(thread, Axis::thread_x);
  auto A_shared = fetch_tile(s, C, "A", k_outer, 32), B_shared = fetch_tile(s, C, "B", k_outer, 32);
  s.pipeline(k_outer, {{A_shared, 0, 0}, {B_shared, 0, 1}, {C, 1, 2}, {C_writeback, 2, 3}});
  return s;
}

} // namespace nestsmith::mistake
