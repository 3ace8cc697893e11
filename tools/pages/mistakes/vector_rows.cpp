#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"

namespace nestsmith::mistake {

/// Step 4 of tvm_steps as printed: the results are copied to C with vectors of 4 rows, not of 4 columns.
Schedule vector_rows() {
  Schedule s(matmul({512, 512, 512}, DType::f32));
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, i_thread, i_elem] = s.split(i, {infer, 4, 8});
  auto [j_block, j_thread, j_elem] = s.split(j, {infer, 8, 4});
  s.reorder({i_block, j_block, i_thread, j_thread, k, i_elem, j_elem});
  auto writeback = s.cache_write(C, Scope::local);
  s.reverse_compute_at(writeback, j_thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.bind(j_thread, Axis::thread_y);
  auto loops = s.loops_below(writeback, j_thread);
  auto [rows, four_rows] = s.split(loops[0], {infer, 4});
  s.reorder({rows, loops[1], four_rows});
  s.vectorize(four_rows);
  return s;
}

} // namespace nestsmith::mistake
