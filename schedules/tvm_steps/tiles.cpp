#include "schedules/tvm_steps/tiles.h"

#include "schedules/variant.h"
#include "schedules/workloads.h"

namespace nestsmith::tvm_steps {

namespace {

/// Distributes the 32 x 32 elements of a tile to 8 x 4 threads: rounds, threads.y, threads.x, and four elements
/// of a row each if vectors are proved legal.
void fetch(Schedule &s, BlockRef block, Loop k_outer, bool vectors) {
  s.compute_at(block, k_outer);
  auto loops = s.loops(block);
  Loop element = s.fuse(loops[loops.size() - 2], loops.back());
  auto [round, y, x, lane] = s.split(element, {infer, 8, 4, vectors ? 4 : 1});
  s.bind(y, Axis::thread_y);
  s.bind(x, Axis::thread_x);
  s.unroll(round);
  if (vectors)
    s.vectorize(lane);
}

} // namespace

std::optional<Variant> vector_variant(const Shape &shape, DType) {
  return scalar_unless_multiples(shape, {{"N", 1}, {"K", 2}}, 4);
}

Schedule in_registers(const Shape &shape, DType dtype, const Target &target, Steps steps) {
  Schedule s(matmul(shape, dtype), target);
  bool vectors = !vector_variant(shape, dtype);
  auto C = s.block("C"), C_writeback = s.cache_write(C, Scope::local);
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, i_thread, i_elem] = s.split(i, {infer, 4, 8});
  auto [j_block, j_thread, j_elem] = s.split(j, {infer, 8, 4});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, i_elem, j_elem, k_inner});
  s.reverse_compute_at(C_writeback, j_thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.bind(j_thread, Axis::thread_y);
  auto A_shared = s.cache_read(C, "A", Scope::shared), B_shared = s.cache_read(C, "B", Scope::shared);
  for (const BlockRef &tile : {A_shared, B_shared})
    fetch(s, tile, k_outer, vectors);
  if (steps.pipeline)
    s.pipeline(k_outer, {{A_shared, 0, 0}, {B_shared, 0, 1}, {C, 1, 2}});
  if (steps.unroll)
    s.unroll(s.split(k_inner, {infer, 16})[1]);
  s.unroll(i_elem);
  s.unroll(j_elem);
  auto results = s.loops_below(C_writeback, j_thread);
  s.unroll(results[0]);
  if (vectors)
    s.vectorize(results[1]);
  else
    s.unroll(results[1]);
  return s;
}

} // namespace nestsmith::tvm_steps
