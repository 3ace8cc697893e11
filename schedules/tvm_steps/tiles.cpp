#include "schedules/tvm_steps/tiles.h"

#include "schedules/choices.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"

namespace nestsmith::tvm_steps {

namespace {

/// Distributes the elements of a tile to threads_j x threads_i threads: rounds, threads.y, threads.x, and four
/// elements of a row each if vectors are proved legal.
void fetch(Schedule &s, BlockRef block, Loop k_outer, const Tile &tile, bool vectors) {
  s.compute_at(block, k_outer);
  auto loops = s.loops(block);
  Loop element = s.fuse(loops[loops.size() - 2], loops.back());
  auto [round, y, x, lane] = s.split(element, {infer, tile.threads_j, tile.threads_i, vectors ? 4 : 1});
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

Tile choose_tile(Knobs &knobs, TileUse use, DType dtype, const Target &target) {
  std::vector<std::int64_t> rows = {8, 2, 4}, columns = {4, 2, 8};
  if (use.in_registers)
    columns = {4, 2};
  auto [threads_i, results_i, threads_j, results_j, k] = choose_fitting<5>(
      knobs,
      {Choice{"threads_i", {4, 8, 16}},
       {"results_i", rows},
       {"threads_j", {8, 4, 16}},
       {"results_j", columns},
       {"bk", {32, 8, 16, 64}}},
      [&](std::span<const std::int64_t> x) {
        std::int64_t threads = x[0] * x[2], a = x[0] * x[1] * x[4], b = x[2] * x[3] * x[4];
        return !use.shared || (a % (threads * use.width) == 0 && b % (threads * use.width) == 0 &&
                               fit_in_shared((a + b) * use.buffers, dtype, target));
      });
  return {threads_i, results_i, threads_j, results_j, k};
}

Schedule in_registers(const Shape &shape, DType dtype, const Target &target, Knobs &knobs, Steps steps) {
  Schedule s(matmul(shape, dtype), target); // refuses shapes that are no product
  bool vectors = !vector_variant(shape, dtype);
  Tile tile = choose_tile(
      knobs,
      {.shared = true, .width = vectors ? 4 : 1, .buffers = steps.pipeline ? 2 : 1, .in_registers = true},
      dtype, target);
  auto C = s.block("C"), C_writeback = s.cache_write(C, Scope::local);
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, i_thread, i_elem] = s.split(i, {infer, tile.threads_i, tile.results_i});
  auto [j_block, j_thread, j_elem] = s.split(j, {infer, tile.threads_j, tile.results_j});
  auto [k_outer, k_inner] = s.split(k, {infer, tile.k});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, i_elem, j_elem, k_inner});
  s.reverse_compute_at(C_writeback, j_thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.bind(j_thread, Axis::thread_y);
  auto A_shared = s.cache_read(C, "A", Scope::shared), B_shared = s.cache_read(C, "B", Scope::shared);
  for (const BlockRef &operand : {A_shared, B_shared})
    fetch(s, operand, k_outer, tile, vectors);
  if (steps.pipeline)
    s.pipeline(k_outer, {{A_shared, 0, 0}, {B_shared, 0, 1}, {C, 1, 2}});
  if (steps.unroll) {
    std::vector<std::int64_t> factors = {16, 4, 8, 32};
    std::erase_if(factors, [&](std::int64_t factor) { return tile.k % factor != 0; });
    s.unroll(s.split(k_inner, {infer, knobs.choose("unroll", factors)})[1]);
  }
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
