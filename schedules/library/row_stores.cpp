#include "schedules/library/row_stores.h"

#include "schedules/library/accesses.h"
#include "schedules/library/fragments.h"
#include "schedules/library/parts.h"

#include "dsl/ir/intrinsic.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::library {

namespace {

struct PartOfRows {
  Loop part, row, column;
};

/// Splits the rows of a nest below `warp` into parts of so many columns, one after the other.
PartOfRows in_parts(Schedule &s, BlockRef block, Loop warp, std::int64_t columns) {
  auto nest = s.loops_below(block, warp);
  const Loop &row = nest[nest.size() - 2];
  auto [part, column] = s.split(nest.back(), {infer, columns});
  s.reorder({part, row, column});
  return {part, row, column};
}

/// The nest of a block below `part`, spread over the lanes, 2 columns each.
std::vector<Loop> spread(Schedule &s, BlockRef block, Loop part) {
  auto nest = s.loops_below(block, part);
  return to_lanes(s, nest[nest.size() - 2], nest.back(), 2);
}

/// Whether the block reads an array in global memory whose columns are neighbours, so that it can read two at
/// once.
bool reads_pairs(const Schedule &s, BlockRef result) {
  const Block &block = block_of(s, result);
  const Bounds bounds = bounds_of(block);
  const auto column = std::ranges::find_if(block.iters, [&](const IterVar &iter) {
    const Var *last = block.body.indices.back().as<Var>();
    return last && iter.var == *last;
  });
  return column != block.iters.end() && std::ranges::any_of(loads_of(block), [&](const Load *access) {
           return access->buffer->scope == Scope::global &&
                  width_of(access->buffer, access->indices, access->mask, *column, 2, bounds) == 2;
         });
}

/// The nest of a block below `part`, which copies registers to shared memory, as calls of `stmatrix`.
void store_matrices(Schedule &s, BlockRef block, Loop part) {
  auto nest = s.loops_below(block, part);
  auto [i_tile, i] = s.split<2>(nest[nest.size() - 2], {infer, 16});
  auto [j_tile, j] = s.split<2>(nest.back(), {infer, 16});
  s.reorder({i_tile, j_tile, i, j});
  by_vectors(s, {i_tile, j_tile}, false);
  s.tensorize(i, "stmatrix");
}

} // namespace

void write_rows(Schedule &s, BlockRef result, BlockRef staged, Loop warp, std::int64_t width) {
  const auto [part, row, column] = in_parts(s, result, warp, staged_columns);
  s.compute_at(staged, part);
  by_vectors(s, spread(s, staged, part), true);
  auto [group, element] = s.split(column, {infer, width});
  auto [step, lane] = s.split(s.fuse(row, group), {infer, 32});
  s.bind(lane, Axis::lane);
  s.reorder({lane, step}); // `read_ahead` takes the loops of a thread
  // 4 rows of 8 bytes fill all banks.
  s.swizzle(staged, 2, 3, 2);
  by_vectors(s, read_ahead(s, result, {step, element}, width > 1), width > 1);
  by_vectors(s, {part}, false);
}

void store_rows_in_bulk(Schedule &s, BlockRef result, std::optional<BlockRef> moved, BlockRef copy, Loop warp) {
  const BufferNode &array = *block_of(s, copy).body.buffer;
  const DType dtype = array.dtype;
  const std::int64_t columns = 128 / byte_size(dtype);
  std::string outer; // dimensions
  for (std::size_t d = 2; d < array.shape.size(); ++d)
    outer += fmt::format("b{}, ", d);
  const BlockRef written = moved.value_or(result); // to shared memory
  const Loop part = in_parts(s, copy, warp, columns).part;
  if (moved)
    s.compute_at(*moved, part);
  s.compute_at(result, part);
  const bool vectors = !moved || reads_pairs(s, result); // registers have no vectors
  by_vectors(s, read_ahead(s, result, spread(s, result, part), vectors), vectors);
  if (moved) {
    s.transform_layout(result, fmt::format("{0}i, j -> i%8*4 + j%8//2, {0}i//16, j//16, "
                                           "j//8%2*4 + i//8%2*2 + j%2",
                                           outer));
    store_matrices(s, *moved, part);
  }
  // The rows of warps side by side are those of boxes one after the other.
  s.transform_layout(written, fmt::format("{0}i, j -> {0}j//{1}, i, j%{1}", outer, columns));
  Swizzle swizzle = swizzle_of_tiles(dtype);
  s.swizzle(written, swizzle.bits, swizzle.base, swizzle.shift);
  s.bulk_copy(copy);
  by_vectors(s, {part}, false);
}

bool has_rows(const Schedule &s, const Contraction &c) {
  const Buffer &sum = block_of(s, c.sum).body.buffer;
  return std::ranges::all_of(c.results, [&](const BlockRef &handle) {
    const Block &result = block_of(s, handle);
    const Var *column = neighbours(result.body.indices, result.iters, bounds_of(result));
    return column && std::ranges::all_of(loads_of(result), [&](const Load *access) {
             const Var *last = access->buffer == sum ? access->indices.back().as<Var>() : column;
             return last && *last == *column;
           });
  });
}

Loop store_rows(Schedule &s, const Contraction &c, BlockRef staged, Loop tile, Loop thread,
                const RowShares &shares) {
  constexpr std::int64_t of_banks = 32, neighbours = 4;
  const Buffer sums = block_of(s, staged).body.buffer;
  const BlockRef moved = s.cache_read(c.results.front(), sums->name, Scope::local);
  for (std::size_t n = 1; n < c.results.size(); ++n)
    s.share_cache(c.results[n], moved);
  s.reverse_compute_at(staged, thread);
  s.reverse_compute_at(moved, tile);
  const std::vector<Loop> below = s.loops_below(moved, tile);
  const RowsOfThreads rows = share_rows(s, below[below.size() - 2], below.back(), {}, shares);
  for (const BlockRef &result : c.results)
    s.reverse_compute_at(result, rows.thread);
  s.bind(rows.thread, Axis::thread_x);
  s.unroll(rows.row);
  by_vectors(s, {rows.element}, shares.neighbours > 1);
  store_result(s, staged, thread, neighbours);
  // The rows of 4 lanes in a zigzag begin at other banks.
  s.storage_align(staged, static_cast<int>(sums->shape.size()) - 2, of_banks, neighbours);
  for (const BlockRef &result : c.results)
    store_result(s, result, rows.thread, shares.neighbours);
  return rows.thread;
}

} // namespace nestsmith::library
