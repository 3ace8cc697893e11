#include "schedules/fetch.h"
#include "schedules/ladder/rungs.h"
#include "schedules/workloads.h"

#include <utility>

namespace nestsmith::ladder {

namespace {

constexpr std::int64_t threads = 256;
constexpr std::int64_t half = 2, elements = 4; ///< of the rows, and of the columns, of a lane

/// Unrolls all loops of a thread's part. If `vectors` is set, vectorizes the innermost one.
void write_out(Schedule &s, const std::vector<Loop> &loops, bool vectors) {
  for (const Loop &loop : loops)
    if (vectors && loop.var == loops.back().var)
      s.vectorize(loop);
    else
      s.unroll(loop);
}

/// Copies the tile of one operand. Returns whether it is copied asynchronously.
bool fetch(Schedule &s, BlockRef tile, const std::string &operand, Loop k_outer, bool vectors, bool async) {
  if (async)
    return fetch_async(s, tile, operand, k_outer, threads, vectors);
  fetch_through_registers(s, tile, operand, k_outer, threads, vectors);
  return false;
}

/// Whether an SM has enough shared memory for two blocks with two stages of tiles of this depth.
bool fits_twice(std::int64_t bk, const std::vector<std::int64_t> &warps, const std::vector<std::int64_t> &lanes,
                DType dtype, const Target &target) {
  std::int64_t rows = half * elements * (warps[0] * lanes[0] + warps[1] * lanes[1]) + 4; // 4 of padding
  return 2 * (2 * bk * rows * byte_size(dtype) + target.shared_bytes_reserved) <= target.shared_bytes_per_sm;
}

/// The tiles of `warps` and `async`. With asynchronous copies, the tiles of the iterations up to `stages - 1`
/// ahead are in flight.
Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs, bool async) {
  auto warp_grid = knobs.factors("warps", {4, 2}), lane_grid = knobs.factors("lanes", {4, 8});
  std::int64_t bk = async && fits_twice(16, warp_grid, lane_grid, dtype, target)
                        ? knobs.choose("bk", {16, 8, 32})
                        : knobs.choose("bk", {8, 16, 32});
  std::optional<std::int64_t> stages;
  if (async)
    stages = knobs.choose("stages", {2, 3, 4});
  Schedule s(gemm(shape, dtype), target);
  bool vectors = !vector_variant(shape, dtype);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_half, i_warp, i_lane, i_elem] =
      s.split(i, {infer, half, warp_grid[0], lane_grid[0], elements});
  auto [j_block, j_half, j_warp, j_lane, j_elem] =
      s.split(j, {infer, half, warp_grid[1], lane_grid[1], elements});
  auto [k_outer, k_inner] = s.split(k, {infer, bk});
  s.reorder(
      {i_block, j_block, i_warp, j_warp, i_lane, j_lane, k_outer, k_inner, i_half, i_elem, j_half, j_elem});
  auto thread = s.fuse(s.fuse(s.fuse(i_warp, j_warp), i_lane), j_lane);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  std::vector<Stage> copies, uses;
  bool all_async = true;
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    auto fragment = s.cache_read(AB, s.name(tile), Scope::local);
    s.compute_at(fragment, k_inner);
    all_async &= fetch(s, tile, operand, k_outer, vectors, async);
    auto loops = s.loops_below(fragment, k_inner);
    std::erase_if(loops, [&](const Loop &loop) { return s.extent(loop) == 1; });
    bool contiguous = !async || operand[0] == 'B' || byte_size(dtype) >= 4;
    write_out(s, loops, contiguous); // rows of tiles are aligned for any shape
    copies.push_back({tile, 0, static_cast<std::int64_t>(copies.size())});
    uses.push_back({fragment, 0, 2});
  }
  if (async) {
    uses.push_back({AB, 0, 2});
    for (Stage use : uses) {
      use.stage = all_async ? *stages - 1 : 1;
      copies.push_back(use);
    }
    s.pipeline(k_outer, copies);
  } else {
    s.double_buffer(k_outer);
  }
  write_out(s, {k_inner, i_half, i_elem, j_half, j_elem}, false);
  write_out(s, s.loops_below(C, thread), vectors);
  if (!shape.is_multiple(2, bk))
    s.partition(k_outer);
  for (const auto &[loop, extent] : {std::pair{i_block, 0U}, {j_block, 1U}})
    if (!shape.is_multiple(extent, half * warp_grid[extent] * lane_grid[extent] * elements))
      s.partition(loop);
  if (!shape.stated) // index arithmetic in sizes takes too many registers for two blocks
    s.launch_bounds(knobs.choose("blocks", {2, 1}));
  return s;
}

} // namespace

/// Tiles of 128 x 128 in 8 warps of 32 x 64. A warp is 4 x 8 lanes. A lane has 4 + 4 rows and 4 + 4 columns,
/// half a tile apart, so that neighbouring lanes access neighbouring words in each 128-bit read of shared
/// memory. Knobs choose other grids of warps and lanes, and the depth of a tile.
Schedule warps(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return warp_tiles(shape, dtype, target, knobs, false);
}

/// The same tiles, of twice the depth, copied asynchronously: the tiles of the next iteration are in flight
/// while these are used, and no register holds them.
Schedule async(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return warp_tiles(shape, dtype, target, knobs, true);
}

} // namespace nestsmith::ladder
