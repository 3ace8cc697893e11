#include "schedules/library/chosen_tiles.h"

#include "dsl/expr/error.h"
#include "schedules/grids.h"
#include "schedules/kernels.h"
#include "schedules/kernels/kernel_ranking.h"
#include "schedules/library/accesses.h"
#include "schedules/library/tile_knobs.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

namespace nestsmith::library {

namespace {

/// The sizes of the product; none if one of them is known only at launch.
std::optional<records::ProductSize> size_of(const Schedule &s, const Contraction &c) {
  auto extent = [&](Loop loop) { return as_int(find_loop(s.program().body, loop.var)->extent); };
  auto batch = c.batch ? extent(*c.batch) : 1, rows = extent(c.i), columns = extent(c.j), k = extent(c.k);
  if (!batch || !rows || !columns || !k)
    return std::nullopt;
  // The rows of the first operand stand for those along K, and the others for those along N.
  return records::ProductSize{
      {*rows, *columns, *k}, *batch, std::min(c.operands[1].aligned, c.aligned), c.operands[0].aligned};
}

/// A shape of tiles, and the part of the peak that its inner loop reaches if all multiprocessors have work.
struct Candidate {
  Grid warps, results;
  double efficiency;
};

/// A multiprocessor computes its tiles at the speed of the inner loop, and the last one ends when the
/// multiprocessor with the most tiles ends. Elements outside of the result cost as much as those inside.
double time_of(const Candidate &candidate, std::int64_t rows_of_tile, std::int64_t columns_of_tile,
               const records::ProductSize &size) {
  constexpr std::int64_t multiprocessors = 132; // of an H100 or H200; few GPUs have more
  auto parts = [](std::int64_t n, std::int64_t part) { return (n + part - 1) / part; };
  std::int64_t tiles =
      size.batch * parts(size.extents[0], rows_of_tile) * parts(size.extents[1], columns_of_tile);
  return static_cast<double>(parts(tiles, multiprocessors) * rows_of_tile * columns_of_tile) /
         candidate.efficiency;
}

/// `lanes`: of a warp along both sides, with `results` elements of each. The first candidate is for extents
/// that are known only at launch.
Candidate best_of(std::span<const Candidate> candidates, Grid lanes,
                  const std::optional<records::ProductSize> &size) {
  if (!size)
    return candidates.front();
  return *std::ranges::min_element(candidates, {}, [&](const Candidate &candidate) {
    return time_of(candidate, candidate.warps[0] * lanes[0] * candidate.results[0],
                   candidate.warps[1] * lanes[1] * candidate.results[1], *size);
  });
}

/// Efficiencies from `fast/gemm` and `tensor/tuned` on an H100.
constexpr Candidate matrix_candidates[] = {
    {{2, 2}, {32, 32}, 0.65}, {{2, 4}, {64, 64}, 1.0},  {{2, 2}, {64, 64}, 0.92}, {{2, 2}, {64, 32}, 0.8},
    {{2, 2}, {32, 64}, 0.8},  {{2, 2}, {16, 32}, 0.45}, {{2, 2}, {16, 16}, 0.3}};
constexpr Candidate register_candidates[] = {{{2, 2}, {8, 8}, 0.98}, {{4, 2}, {8, 8}, 1.0},
                                             {{2, 1}, {8, 8}, 0.9},  {{2, 2}, {4, 4}, 0.6},
                                             {{1, 1}, {8, 8}, 0.75}, {{1, 1}, {4, 4}, 0.4}};

MatrixTiles usual_matrix_tiles(const std::optional<records::ProductSize> &size, const Target &target) {
  Candidate best = best_of(matrix_candidates, {1, 1}, size);
  MatrixTiles tiles{.warps = best.warps, .results = best.results, .steps = 2};
  tiles.ahead = tiles.joined = tiles.late = tiles.snake = tiles.edges = true;
  tiles.stages = target.arch.has(Feature::cp_async) ? 3 : 1;
  return tiles;
}

RegisterTiles usual_register_tiles(const std::optional<records::ProductSize> &size, std::int64_t bytes) {
  RegisterTiles tiles;
  Candidate best = best_of(register_candidates, tiles.lanes, size);
  tiles.warps = best.warps;
  tiles.results = bytes > 4 ? Grid{4, 4} : best.results; // a thread has registers for 64 results of 4 bytes
  tiles.k = 8;
  return tiles;
}

/// The shape of a product of two matrices that are stored as the operands are.
Shape shape_of(const Contraction &c, const records::ProductSize &size) {
  Shape shape = {size.extents[0], size.extents[1], size.extents[2]};
  shape.transposed = {!c.operands[0].along_k, c.operands[1].along_k};
  return shape;
}

/// The tiles of a point of a table; none if the point has a value that is no candidate for this product.
std::optional<AnyTiles> tiles_of(const Schedule &s, const Contraction &c, bool units, const Shape &shape,
                                 const KnobValues &point) {
  Knobs knobs(point);
  try {
    if (!units)
      return choose_register_tiles(shape, block_of(s, c.sum).body.buffer->dtype, s.target(), knobs);
    MatrixTiles tiles = choose_matrix_tiles(shape, multiplied(s, c), s.target(), knobs);
    const bool whole = std::ranges::all_of(c.operands, [](const Operand &operand) {
      return operand.width * byte_size(operand.dtype) == 16 && !operand.computed;
    });
    if (tiles.load.warps == 1 && !whole) // one warp starts bulk copies, but copies no elements
      tiles.load.warps = 4;
    return tiles;
  } catch (const UserError &) {
    return std::nullopt;
  }
}

/// The dtype whose tables serve the product. Ring mode has u16 for f16 and bf16; other sums of 4 bytes take the
/// registers and the time of f32.
DType dtype_of_table(const Schedule &s, const Contraction &c, bool units) {
  DType sum = block_of(s, c.sum).body.buffer->dtype;
  if (!units)
    return byte_size(sum) == 4 ? DType::f32 : sum;
  DType dtype = multiplied(s, c);
  return dtype == DType::u16 ? DType::bf16 : dtype;
}

} // namespace

RegisterTiles usual_register_tiles(const Schedule &s, const Contraction &c) {
  return usual_register_tiles(size_of(s, c), byte_size(block_of(s, c.sum).body.buffer->dtype));
}

std::vector<AnyTiles> chosen_tiles(const Schedule &s, const Contraction &c, bool units) {
  std::optional<records::ProductSize> size = size_of(s, c);
  std::vector<AnyTiles> list;
  const char *rung = units ? "tensor/tuned" : "fast/gemm";
  const records::KernelModel *model =
      records::serving_model(kernel_tables(), rung, dtype_of_table(s, c, units), s.target(), rung);
  if (model && size && (units ? s.target().arch.has(Feature::cp_async) : true))
    for (const records::KernelChoice &choice : records::ranked(*model, *size, s.target())) {
      if (list.size() == records::most_attempts)
        break;
      if (auto tiles =
              tiles_of(s, c, units, shape_of(c, *size), records::point_of(model->table(), choice).knobs))
        list.push_back(*std::move(tiles));
    }
  list.push_back(units ? AnyTiles(usual_matrix_tiles(size, s.target())) : AnyTiles(usual_register_tiles(s, c)));
  return list;
}

} // namespace nestsmith::library
