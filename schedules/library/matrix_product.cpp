#include "schedules/library/accesses.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace nestsmith::library {

namespace {

/// All threads copy the tile, with `width` consecutive elements of a row per thread and step.
void fetch(Schedule &s, BlockRef tile, Loop at, const Operand &operand, std::int64_t threads,
           std::int64_t width) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  Loop row = loops[loops.size() - 2], column = loops.back();
  if (operand.k_last != operand.along_k) {
    s.reorder({column, row});
    std::swap(row, column);
  }
  auto [group, element] = s.split(column, {infer, width});
  auto [round, thread] = s.split(s.fuse(row, group), {infer, threads});
  s.bind(thread, Axis::thread_x);
  by_vectors(s, {round, element}, width > 1);
}

/// Loads the operand of the instructions of one step to the registers of the warp.
void load_fragment(Schedule &s, BlockRef fragment, bool is_a, const Operand &operand, Loop k_step,
                   const MatrixTiles &tiles, const Instruction &instruction) {
  auto loops = s.loops_below(fragment, k_step);
  Loop along = loops[loops.size() - 2], k = loops.back();
  if (!operand.k_last)
    std::swap(along, k);
  if (tiles.source != Source::ldmatrix || (instruction.width != 2 && !operand.k_last))
    return by_vectors(s, to_lanes(s, along, k, instruction.width),
                      operand.k_last && tiles.source != Source::global && instruction.width > 1);
  bool two = !is_a && s.extent(along) % 16 == 0;
  auto [tile, inside] = s.split(along, {infer, is_a || two ? 16 : 8});
  Loop first = is_a ? inside : k, second = is_a ? k : inside; // in the order of the indices of the intrinsic
  s.reorder({tile, first, second});
  std::string name = is_a ? "ldmatrix_a" : two ? "ldmatrix_b2" : "ldmatrix_b";
  s.tensorize(first, is_a != operand.k_last ? name + "_trans" : name);
  by_vectors(s, {tile}, false);
}

/// The type that the instruction multiplies: that of the operands, or tf32, to which the term rounds them.
DType multiplied(const Schedule &s, const Contraction &c) {
  const Block &sum = block_of(s, c.sum);
  bool rounded = any_node(sum.body.value, [](const Expr &node) { return node.dtype() == DType::tf32; });
  return rounded ? DType::tf32 : c.operands[0].dtype;
}

Product schedule_product(Schedule &s, BlockRef sum, const MatrixTiles &tiles) {
  Contraction c = contraction(s, sum, Scope::warp);
  Instruction instruction = instruction_for(multiplied(s, c));
  const BlockRef AB = c.sum;
  auto layout = [&](const std::string &text) { return c.batch ? with_batch(text) : text; };
  auto [i_block, i_warp, i_tile, i_inside] = s.split(c.i, {infer, tiles.warps[0], tiles.results[0] / 16, 16});
  auto [j_block, j_warp, j_tile, j_inside] = s.split(c.j, {infer, tiles.warps[1], tiles.results[1] / 8, 8});
  auto [k_outer, k_step, k_inside] = s.split(c.k, {infer, tiles.steps, instruction.k()});
  std::vector<Loop> order = {i_block, j_block, i_warp,   j_warp,   k_outer, k_step,
                             i_tile,  j_tile,  i_inside, j_inside, k_inside};
  if (c.batch)
    order.insert(order.begin(), *c.batch);
  s.reorder(order);
  if (block_of(s, AB).body.buffer->scope != Scope::warp)
    s.set_scope(AB, Scope::warp);
  s.transform_layout(AB, layout(Instruction::c_layout));
  auto warp = s.fuse(i_warp, j_warp);
  for (const BlockRef &result : c.results)
    s.reverse_compute_at(result, warp);
  auto grid = bind_grid(s, c.batch, i_block, j_block, tiles.group);
  s.bind(warp, Axis::warp);

  std::int64_t threads = lanes_per_warp * tiles.warps[0] * tiles.warps[1],
               bytes = byte_size(c.operands[0].dtype);
  std::int64_t depth = tiles.steps * instruction.k();
  std::vector<BlockRef> copies, fragments;
  bool async = tiles.stages > 1;
  for (std::size_t n : {0, 1}) {
    const Operand &operand = c.operands[n];
    std::int64_t side = tiles.tile(n);
    std::int64_t columns = operand.k_last ? depth : side;
    std::optional<Copy> tile;
    BlockRef fragment;
    if (tiles.source == Source::global) {
      fragment = copy_operand(s, AB, operand, Scope::warp).block;
    } else {
      tile = copy_operand(s, AB, operand, Scope::shared);
      fragment = s.cache_read(AB, s.name(tile->block), Scope::warp);
    }
    s.transform_layout(fragment, layout(n == 0 ? instruction.a_layout(!operand.k_last)
                                               : instruction.b_layout(operand.k_last)));
    s.compute_at(fragment, k_step);
    load_fragment(s, fragment, n == 0, operand, k_step, tiles, instruction);
    fragments.push_back(fragment);
    if (!tile)
      continue;
    std::int64_t width = std::min({tiles.width, tile->width, 16 / bytes});
    while (width > 1 && side * depth % (threads * width) != 0)
      width /= 2;
    if (width * bytes < 4) // no vector is shorter
      width = 1;
    fetch(s, tile->block, k_outer, operand, threads, width);
    if (tiles.swizzled)
      swizzle_rows(s, tile->block, columns, bytes);
    copies.push_back(tile->block);
    // No asynchronous copy is shorter either, none transposes, and none computes.
    async = async && width * bytes >= 4 && operand.k_last == operand.along_k && !operand.computed;
  }
  auto init = s.decompose_reduction(AB, k_outer);
  auto cleared = s.loops_below(init, warp);
  s.reorder({cleared[0], cleared[2], cleared[1], cleared[3]}); // rows, then columns
  by_vectors(s, to_lanes(s, s.fuse(cleared[0], cleared[2]), s.fuse(cleared[1], cleared[3]), 2), false);
  s.tensorize(i_inside, instruction.name);
  by_vectors(s, {k_step, i_tile, j_tile}, false);
  if (tiles.snake && s.extent(i_tile) > 1 && s.extent(j_tile) > 1)
    s.snake(i_tile, j_tile);
  bool ahead = tiles.ahead && tiles.steps > 1;
  if (ahead)
    s.pipeline(k_step, {{fragments[0], 0, 0}, {fragments[1], 0, 1}, {AB, 1, 2}});
  if (async) {
    std::int64_t last = tiles.stages - 1, copied = tiles.late ? 1 : 0, used = tiles.late ? 0 : 2;
    for (const BlockRef &copy : copies)
      s.async_copy(copy);
    s.pipeline(k_outer, {{copies[0], 0, copied},
                         {copies[1], 0, copied + 1},
                         {fragments[0], last, used},
                         {fragments[1], last, used},
                         {AB, last, used}});
    if (ahead && tiles.joined)
      s.join_pipelines(k_step);
  }
  for (const BlockRef &result : c.results) {
    auto out = s.loops_below(result, warp);
    by_vectors(s, to_lanes(s, out[out.size() - 2], out.back(), 2), c.width >= 2);
  }
  if (tiles.blocks > 0)
    s.launch_bounds(tiles.blocks);
  return {AB, c.results, copies, grid, warp, k_outer, k_step};
}

} // namespace

Product product(Schedule &s, BlockRef sum, const MatrixTiles &tiles) {
  Schedule copy = s;
  Product made = schedule_product(copy, sum, tiles);
  s = std::move(copy);
  return made;
}

} // namespace nestsmith::library
