#include "schedules/fast/rungs.h"
#include "schedules/fetch.h"
#include "schedules/grids.h"
#include "schedules/ladder/rungs.h"
#include "schedules/workloads.h"

#include <numeric>
#include <string>
#include <vector>

namespace nestsmith::fast {

namespace {

constexpr std::int64_t elements = 4; ///< consecutive rows, or columns, of one 128-bit access

/// The candidates with `one` before the others: the first candidate is the default.
template <class T> std::vector<T> first(const T &one, std::vector<T> candidates) {
  std::erase(candidates, one);
  candidates.insert(candidates.begin(), one);
  return candidates;
}

/// The knobs. A tile has warps * lanes * results rows, and columns.
struct GemmKnobs {
  GemmKnobs(Knobs &knobs, const Shape &shape, DType dtype, const Target &target);
  std::int64_t threads() const { return warps[0] * warps[1] * lanes[0] * lanes[1]; }
  std::int64_t tile(std::size_t n) const { return warps[n] * lanes[n] * results[n]; }
  std::vector<std::int64_t> blocks(const Target &target, DType dtype, std::int64_t usual) const;

  Grid warps, lanes, results;
  bool zigzag, async, prefetch, fragments, columns, snake;
  std::int64_t bk, group, stages, split_k;
};

/// Candidates for the number of blocks that share a tile. Each block has at least two tiles along k.
std::vector<std::int64_t> parts_of_k(const Shape &shape, std::int64_t bk) {
  std::vector<std::int64_t> candidates = {1, 2, 4, 8, 16, 32, 64};
  std::erase_if(candidates, [&](std::int64_t n) { return n > 1 && (shape.stated || 2 * n * bk > shape[2]); });
  return candidates;
}

/// Elements of less than 4 bytes are too narrow to be transposed by asynchronous copies.
bool may_copy_async(DType dtype, const Target &target) {
  return byte_size(dtype) >= 4 && target.arch.has(Feature::cp_async);
}

GemmKnobs::GemmKnobs(Knobs &knobs, const Shape &shape, DType dtype, const Target &target)
    : warps(choose_grid(knobs, "warps",
                        first<std::string>(shape.stated ? "4x2" : "2x2", {"2x2", "4x2", "2x4", "1x1", "1x2",
                                                                          "2x1", "1x4", "4x1", "1x8", "8x1"}))),
      lanes(choose_grid(knobs, "lanes", {"4x8", "8x4", "2x16", "16x2"})),
      results(choose_grid(knobs, "results", {"8x8", "4x4", "4x8", "8x4", "8x12", "12x8", "8x16", "16x8"})),
      zigzag(knobs.flag("zigzag", true)), async(may_copy_async(dtype, target) && knobs.flag("async")),
      prefetch(async || knobs.flag("prefetch", true)), fragments(knobs.flag("fragments")),
      columns(knobs.flag("columns")), snake(knobs.flag("snake")), bk(knobs.choose("bk", {16, 8, 32})),
      group(knobs.choose("group", {1, 4, 8})), stages(async      ? knobs.choose("stages", {3, 2, 4})
                                                      : prefetch ? 2
                                                                 : 1),
      split_k(1) {
  if (std::vector<std::int64_t> parts = parts_of_k(shape, bk); parts.size() > 1)
    split_k = knobs.choose("split_k", parts);
}

/// Candidates for the number of blocks on an SM, for which the SM has enough registers and shared memory, the
/// usual one first. 0 states no number. A thread also needs registers for its results and for the operands, and
/// an SM has 65536 registers.
std::vector<std::int64_t> GemmKnobs::blocks(const Target &target, DType dtype, std::int64_t usual) const {
  std::int64_t registers = threads() * (results[0] * results[1] + 24);
  std::int64_t row = (tile(0) + 31) / 32 * 32 + 4 + tile(1), tiles = stages * bk * row;
  std::int64_t shared = tiles * byte_size(dtype) + target.shared_bytes_reserved;
  std::vector<std::int64_t> candidates = first<std::int64_t>(usual, {3, 2, 0, 1, 4, 5, 6, 8});
  std::erase_if(candidates, [&](std::int64_t n) {
    return n * registers > 65536 || n * shared > target.shared_bytes_per_sm;
  });
  return candidates;
}

void unroll_all(Schedule &s, const std::vector<Loop> &loops) {
  for (const Loop &loop : loops)
    s.unroll(loop);
}

/// Unrolls the loops, and vectorizes the last one.
void by_vectors(Schedule &s, std::vector<Loop> loops, bool vectors) {
  std::erase_if(loops, [&](const Loop &loop) { return s.extent(loop) == 1; });
  if (vectors) {
    s.vectorize(loops.back());
    loops.pop_back();
  }
  unroll_all(s, loops);
}

/// The last of the blocks that share a tile adds their parts of AB, and computes C from the sum. A thread takes
/// groups of 4 columns, `columns` consecutive threads take consecutive groups of a row.
void add_parts(Schedule &s, Loop tile, Loop part, std::int64_t threads, std::int64_t columns, bool vectors) {
  auto AB = s.block("AB"), C = s.block("C");
  s.reverse_compute_at(AB, tile);
  s.bind(part, Axis::block_z);
  s.last_block(part);
  std::vector<Loop> below = s.loops_below(AB, tile);
  Loop k = below[2];
  auto [i_step, i_thread] = s.split(below[0], {infer, threads / columns});
  auto [j_step, j_thread, element] = s.split(below[1], {infer, columns, elements});
  s.reorder({i_step, j_step, i_thread, j_thread, k, element});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(thread, Axis::thread_x);
  s.unroll(k);
  by_vectors(s, {element}, vectors);
  by_vectors(s, s.loops_below(C, thread), vectors);
}

} // namespace

/// Register tiles with 128-bit accesses. A thread has groups of 4 rows and groups of 4 columns. The lanes of a
/// warp are a grid, in rows or in a zigzag: then the two lowest bits of the lane number count rows and columns,
/// and each 128-bit read of shared memory takes two clocks instead of four. If `split_k` is more than 1,
/// this number of blocks shares a tile, and each multiplies a part of k.
Schedule gemm(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Schedule s(nestsmith::gemm(shape, dtype), target); // refuses shapes that are no product
  GemmKnobs choice(knobs, shape, dtype, target);
  const auto &[warps, lanes, results, zigzag, async, prefetch, fragments, by_columns, snake, bk, group, stages,
               split_k] = choice;
  std::int64_t low = zigzag ? 2 : 1;
  bool vectors = !ladder::vector_variant(shape, dtype);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_group, i_warp, i_high, i_low, i_elem] =
      s.split(i, {infer, results[0] / elements, warps[0], lanes[0] / low, low, elements});
  auto [j_block, j_group, j_warp, j_high, j_low, j_elem] =
      s.split(j, {infer, results[1] / elements, warps[1], lanes[1] / low, low, elements});
  std::vector<std::int64_t> depths = {infer, bk};
  if (split_k > 1)
    depths.insert(depths.begin(), split_k);
  std::vector<Loop> of_k = s.split(k, depths);
  Loop part = of_k.front(), k_outer = *(of_k.end() - 2), k_inner = of_k.back();
  BlockRef product = AB, written = C; // what the threads multiply, and what they write
  std::vector<Loop> order = {i_block, j_block, i_warp,  j_warp,  i_high, j_high,  i_low,
                             j_low,   k_outer, k_inner, i_group, i_elem, j_group, j_elem};
  if (split_k > 1) {
    product = s.rfactor(part);
    written = s.cache_write(product, Scope::local);
    order.insert(order.begin() + 2, part);
  }
  s.reorder(order);
  std::vector<Loop> results_of_thread = {i_group, i_elem, j_group, j_elem};
  if (by_columns)
    s.reorder(results_of_thread = {j_group, j_elem, i_group, i_elem});
  auto thread = i_warp;
  for (const Loop &loop : {j_warp, i_high, j_high, i_low, j_low})
    thread = s.fuse(thread, loop);
  s.reverse_compute_at(written, thread);
  auto tiles = bind_tiles(s, i_block, j_block, group);
  s.bind(thread, Axis::thread_x);
  std::vector<BlockRef> copies, tiles_of_k;
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(product, operand, Scope::shared);
    auto fragment = s.cache_read(product, s.name(tile), Scope::local);
    s.compute_at(fragment, k_inner);
    bool by_four = choice.tile(operand[0] == 'B') * bk % (4 * choice.threads()) == 0;
    if (async)
      fetch_async(s, tile, operand, k_outer, choice.threads(), dtype, vectors && by_four);
    else
      fetch_through_registers(s, tile, operand, k_outer, choice.threads(), vectors && by_four);
    by_vectors(s, s.loops_below(fragment, k_inner), true);
    copies.push_back(fragment);
    tiles_of_k.push_back(tile);
  }
  s.unroll(k_inner);
  unroll_all(s, results_of_thread);
  if (snake) // the operands that one row or column used last are the first ones of the next
    for (std::size_t inner : {2, 3})
      s.snake(results_of_thread[1], results_of_thread[inner]);
  if (fragments) // loads the operands of the next k while this one is used
    s.pipeline(k_inner, {{copies[0], 0, 0}, {copies[1], 0, 1}, {product, 1, 2}});
  bool joined = async && fragments && knobs.flag("joined"); // also loads the first operands of the next tile
  bool spread = joined && knobs.flag("spread");             // starts a part of the copies in each step of k
  if (async)
    s.pipeline(k_outer, {{tiles_of_k[0], 0, spread ? 1 : 0},
                         {tiles_of_k[1], 0, spread ? 2 : 1},
                         {copies[0], stages - 1, spread ? 0 : 2},
                         {copies[1], stages - 1, spread ? 0 : 2},
                         {product, stages - 1, spread ? 0 : 2}});
  else if (prefetch)
    s.double_buffer(k_outer);
  if (joined)
    s.join_pipelines(k_inner);
  if (spread)
    for (const BlockRef &tile : tiles_of_k)
      s.spread(s.loops_below(tile, k_outer)[0]);
  by_vectors(s, s.loops_below(written, thread), vectors);
  if (split_k > 1)
    add_parts(s, tiles.back(), part, choice.threads(), std::gcd(choice.tile(1) / elements, choice.threads()),
              vectors);
  // The last tile of k gets code of its own.
  if ((prefetch || (split_k == 1 && !shape.is_multiple(2, bk))) &&
      knobs.flag("last_k", shape.stated.has_value()))
    s.partition(k_outer);
  bool rows = shape.is_multiple(0, choice.tile(0) * group), columns = shape.is_multiple(1, choice.tile(1));
  if (!rows || (group > 1 && !columns))
    s.partition(tiles.front());
  if (group == 1 && !columns)
    s.partition(tiles.back());
  std::int64_t usual = !vectors ? 0 : shape.stated ? 2 : 3; // addresses take many registers
  if (std::int64_t blocks = knobs.choose("blocks", choice.blocks(target, dtype, usual)))
    s.launch_bounds(blocks);
  return s;
}

} // namespace nestsmith::fast
