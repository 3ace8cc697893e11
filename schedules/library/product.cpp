#include "schedules/library/product.h"

#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

namespace nestsmith::library {

namespace {

/// Whether matrix instructions of the target multiply the terms. u16 stands in for f16 and bf16 in ring mode.
/// u32 stands in for f32, which is no such type.
bool has_instruction(const Block &sum, const Target &target) {
  auto loads = factors_of_product(sum);
  if (!loads || (*loads)[0]->buffer->dtype != (*loads)[1]->buffer->dtype)
    return false;
  DType dtype = (*loads)[0]->buffer->dtype;
  if (any_node(sum.body.value, [](const Expr &node) { return node.dtype() == DType::tf32; }))
    dtype = DType::tf32;
  if (dtype == DType::u32 ||
      (dtype != DType::u16 && std::ranges::find(matrix_dtypes, dtype) == matrix_dtypes.end()))
    return false;
  auto multiplies = [&](const Intrinsic *intrinsic) {
    return std::ranges::any_of(intrinsic->operands, [&](const nestsmith::Operand &operand) {
      return operand.formal->dtype == dtype && (!intrinsic->feature || target.arch.has(*intrinsic->feature));
    });
  };
  return std::ranges::any_of(find_intrinsics(instruction_for(dtype).name, sum.body.buffer->dtype), multiplies);
}

/// The extents of the product; none if one of them is known only at launch.
struct Extents {
  std::int64_t batch, rows, columns;
};

std::optional<Extents> extents_of(const Schedule &s, BlockRef sum) {
  Schedule copy = s;
  Contraction c = contraction(copy, sum, Scope::local);
  auto extent = [&](Loop loop) { return as_int(find_loop(copy.program().body, loop.var)->extent); };
  auto batch = c.batch ? extent(*c.batch) : 1, rows = extent(c.i), columns = extent(c.j);
  if (!batch || !rows || !columns)
    return std::nullopt;
  return Extents{*batch, *rows, *columns};
}

/// A shape of tiles, and the part of the peak that its inner loop reaches if all multiprocessors have work.
struct Candidate {
  Grid warps, results;
  double efficiency;
};

/// A multiprocessor computes its tiles at the speed of the inner loop, and the last one ends when the
/// multiprocessor with the most tiles ends. Elements outside of the result cost as much as those inside.
double time_of(const Candidate &candidate, std::int64_t rows_of_tile, std::int64_t columns_of_tile,
               const Extents &extents) {
  constexpr std::int64_t multiprocessors = 132; // of an H100 or H200; few GPUs have more
  auto parts = [](std::int64_t n, std::int64_t part) { return (n + part - 1) / part; };
  std::int64_t tiles =
      extents.batch * parts(extents.rows, rows_of_tile) * parts(extents.columns, columns_of_tile);
  return static_cast<double>(parts(tiles, multiprocessors) * rows_of_tile * columns_of_tile) /
         candidate.efficiency;
}

/// `lanes`: of a warp along both sides, with `results` elements of each. The first candidate is for extents
/// that are known only at launch.
Candidate best_of(std::span<const Candidate> candidates, Grid lanes, const std::optional<Extents> &extents) {
  if (!extents)
    return candidates.front();
  return *std::ranges::min_element(candidates, {}, [&](const Candidate &candidate) {
    return time_of(candidate, candidate.warps[0] * lanes[0] * candidate.results[0],
                   candidate.warps[1] * lanes[1] * candidate.results[1], *extents);
  });
}

/// Efficiencies from `fast/gemm` and `tensor/tuned` on an H100.
constexpr Candidate matrix_candidates[] = {
    {{2, 2}, {32, 32}, 0.65}, {{2, 4}, {64, 64}, 1.0},  {{2, 2}, {64, 64}, 0.92}, {{2, 2}, {64, 32}, 0.8},
    {{2, 2}, {32, 64}, 0.8},  {{2, 2}, {16, 32}, 0.45}, {{2, 2}, {16, 16}, 0.3}};
constexpr Candidate register_candidates[] = {{{2, 2}, {8, 8}, 0.98}, {{4, 2}, {8, 8}, 1.0},
                                             {{2, 1}, {8, 8}, 0.9},  {{2, 2}, {4, 4}, 0.6},
                                             {{1, 1}, {8, 8}, 0.75}, {{1, 1}, {4, 4}, 0.4}};

MatrixTiles matrix_tiles(const std::optional<Extents> &extents, const Target &target) {
  Candidate best = best_of(matrix_candidates, {1, 1}, extents);
  MatrixTiles tiles{.warps = best.warps, .results = best.results, .steps = 2};
  tiles.ahead = tiles.joined = tiles.late = tiles.snake = tiles.edges = true;
  tiles.stages = target.arch.has(Feature::cp_async) ? 3 : 1;
  return tiles;
}

RegisterTiles register_tiles(const std::optional<Extents> &extents, std::int64_t bytes) {
  RegisterTiles tiles;
  Candidate best = best_of(register_candidates, tiles.lanes, extents);
  tiles.warps = best.warps;
  tiles.results = bytes > 4 ? Grid{4, 4} : best.results; // a thread has registers for 64 results of 4 bytes
  tiles.k = 8;
  return tiles;
}

} // namespace

Product product(Schedule &s, BlockRef sum) {
  const Block *block = find_block(s.program().body, s.block(Schedule::name(sum)).id);
  std::optional<Extents> extents = extents_of(s, sum);
  if (has_instruction(*block, s.target()))
    return product(s, sum, matrix_tiles(extents, s.target()));
  return product(s, sum, register_tiles(extents, byte_size(block->body.buffer->dtype)));
}

} // namespace nestsmith::library
