#include "schedules/tensor/tiles.h"

#include "dsl/expr/error.h"
#include "schedules/grids.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"

#include <bit>
#include <fmt/format.h>

namespace nestsmith::tensor {

namespace {

/// "k%8//2", "k%4": the group of `width` elements along k that a lane holds.
std::string group_of_lane(std::int64_t width) {
  return width == 1 ? "k%4" : fmt::format("k%{}//{}", 4 * width, width);
}

void unroll_all(Schedule &s, const std::vector<Loop> &loops) {
  for (const Loop &loop : loops)
    if (s.extent(loop) > 1)
      s.unroll(loop);
}

/// Unrolls the loops, and vectorizes the last one.
void by_vectors(Schedule &s, std::vector<Loop> loops, bool vectors) {
  if (vectors && s.extent(loops.back()) > 1) {
    s.vectorize(loops.back());
    loops.pop_back();
  }
  unroll_all(s, loops);
}

/// All threads copy the tile, with `width` consecutive elements of a row per thread and step.
void fetch(Schedule &s, BlockRef tile, Loop at, std::int64_t threads, std::int64_t width) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  auto [group, element] = s.split(loops.back(), {infer, width});
  auto [round, thread] = s.split(s.fuse(loops[loops.size() - 2], group), {infer, threads});
  s.bind(thread, Axis::thread_x);
  by_vectors(s, {round, element}, true);
}

/// Loads the operand of the instructions of one step to the registers of the warp.
void load_fragment(Schedule &s, BlockRef fragment, char operand, Loop k_step, const Tiles &tiles,
                   const Instruction &instruction) {
  auto loops = s.loops_below(fragment, k_step);
  bool a = operand == 'A', along_k = a || tiles.b_transposed; // k is the last dimension
  const Loop &along = loops[along_k ? 0 : 1], &k = loops[along_k ? 1 : 0];
  if (tiles.source != Source::ldmatrix || (instruction.width != 2 && !along_k))
    return by_vectors(s, to_lanes(s, along, k, instruction.width), along_k && tiles.source != Source::global);
  bool two = !a && s.extent(along) % 16 == 0;
  auto [tile, inside] = s.split(along, {infer, a || two ? 16 : 8});
  Loop first = a ? inside : k, second = a ? k : inside; // in the order of the indices of the intrinsic
  s.reorder({tile, first, second});
  std::string name = a ? "ldmatrix_a" : two ? "ldmatrix_b2" : "ldmatrix_b";
  s.tensorize(first, !a && along_k ? name + "_trans" : name);
  unroll_all(s, {tile});
}

} // namespace

Instruction instruction_for(DType dtype) {
  switch (dtype) {
  case DType::f16:
  case DType::bf16:
  case DType::u16:
    return {"mma_m16n8k16", 2};
  case DType::tf32:
  case DType::u32:
    return {"mma_m16n8k8", 1};
  case DType::i8:
  case DType::u8:
    return {"mma_m16n8k32", 4};
  default:
    throw UserError(ExitCode::usage,
                    fmt::format("got the dtype {}, but matrix instructions multiply f16, bf16, tf32, i8 and "
                                "u8, and u32 stands in for tf32 in ring mode; use "
                                "--dtype f16",
                                name(dtype)));
  }
}

std::string Instruction::a_layout() const {
  return fmt::format("i, k -> i%8*4 + {}, i//16, k//{}, k%{}//{}, i%16//8{}", group_of_lane(width), 8 * width,
                     8 * width, 4 * width, width == 1 ? "" : fmt::format(", k%{}", width));
}

std::string Instruction::b_layout(bool transposed) const {
  return fmt::format("{} -> j%8*4 + {}, k//{}, j//8, k%{}//{}{}", transposed ? "j, k" : "k, j",
                     group_of_lane(width), 8 * width, 8 * width, 4 * width,
                     width == 1 ? "" : fmt::format(", k%{}", width));
}

std::vector<Loop> to_lanes(Schedule &s, Loop row, Loop column, std::int64_t width) {
  auto [row_tile, row_lane] = s.split(row, {infer, 8});
  auto [column_tile, column_lane, element] = s.split(column, {infer, 4, width});
  s.reorder({row_lane, column_lane, row_tile, column_tile, element});
  s.bind(s.fuse(row_lane, column_lane), Axis::lane);
  return {row_tile, column_tile, element};
}

void swizzle_rows(Schedule &s, BlockRef tile, std::int64_t columns, std::int64_t bytes) {
  auto bits_of = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
  };
  std::int64_t base = bits_of(16 / bytes), chunks = bits_of(columns * bytes / 16),
               bits = std::min<std::int64_t>(chunks, 3);
  // 8 groups fill all banks, so rows shorter than that share them.
  if (bits > 0)
    s.swizzle(tile, bits, base, std::max<std::int64_t>(chunks, 3));
}

std::optional<Variant> variant_nt(const Shape &shape, DType dtype) {
  return scalar_unless_multiples(shape, {{"K", 2}}, 16 / byte_size(dtype));
}

std::optional<Variant> variant(const Shape &shape, DType dtype) {
  return scalar_unless_multiples(shape, {{"K", 2}, {"N", 1}}, 16 / byte_size(dtype));
}

Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles) {
  Instruction instruction = instruction_for(dtype);
  Schedule s(gemm(shape, dtype, {.b = tiles.b_transposed}), target);
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_warp, i_tile, i_inside] = s.split(i, {infer, tiles.warps[0], tiles.results[0] / 16, 16});
  auto [j_block, j_warp, j_tile, j_inside] = s.split(j, {infer, tiles.warps[1], tiles.results[1] / 8, 8});
  auto [k_outer, k_step, k_inside] = s.split(k, {infer, tiles.steps, instruction.k()});
  s.reorder({i_block, j_block, i_warp, j_warp, k_outer, k_step, i_tile, j_tile, i_inside, j_inside, k_inside});
  s.set_scope(AB, Scope::warp);
  s.transform_layout(AB, Instruction::c_layout);
  auto warp = s.fuse(i_warp, j_warp);
  s.reverse_compute_at(C, warp);
  bind_tiles(s, i_block, j_block, tiles.group);
  s.bind(warp, Axis::warp);

  std::int64_t threads = lanes_per_warp * tiles.warps[0] * tiles.warps[1], bytes = byte_size(dtype);
  std::int64_t depth = tiles.steps * instruction.k();
  std::vector<BlockRef> copies, fragments;
  bool async = tiles.stages > 1;
  for (char operand : {'A', 'B'}) {
    std::string source(1, operand);
    bool a = operand == 'A', along_k = a || tiles.b_transposed;
    std::int64_t side = tiles.tile(a ? 0 : 1);
    std::int64_t columns = along_k ? depth : side, rows = along_k ? side : depth;
    std::optional<BlockRef> tile;
    if (tiles.source != Source::global) {
      tile = s.cache_read(AB, source, Scope::shared);
      source = s.name(*tile);
    }
    auto fragment = s.cache_read(AB, source, Scope::warp);
    s.transform_layout(fragment, a ? instruction.a_layout() : instruction.b_layout(tiles.b_transposed));
    s.compute_at(fragment, k_step);
    load_fragment(s, fragment, operand, k_step, tiles, instruction);
    fragments.push_back(fragment);
    if (!tile)
      continue;
    std::int64_t width = (tiles.b_transposed ? variant_nt : variant)(shape, dtype) ? 1 : 16 / bytes;
    while (width > 1 && rows * columns % (threads * width) != 0)
      width /= 2;
    fetch(s, *tile, k_outer, threads, width);
    if (tiles.swizzled)
      swizzle_rows(s, *tile, columns, bytes);
    copies.push_back(*tile);
    async = async && width * bytes >= 4; // no asynchronous copy is shorter
  }
  auto init = s.decompose_reduction(AB, k_outer);
  auto cleared = s.loops_below(init, warp);
  s.reorder({cleared[0], cleared[2], cleared[1], cleared[3]}); // rows, then columns
  unroll_all(s, to_lanes(s, s.fuse(cleared[0], cleared[2]), s.fuse(cleared[1], cleared[3]), 2));
  s.tensorize(i_inside, instruction.name);
  unroll_all(s, {k_step, i_tile, j_tile});
  if (tiles.snake)
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
  auto out = s.loops_below(C, warp);
  by_vectors(s, to_lanes(s, out[0], out[1], 2), shape.is_multiple(1, 2));
  return s;
}

} // namespace nestsmith::tensor
