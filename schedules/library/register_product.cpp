#include "schedules/library/accesses.h"
#include "schedules/library/attempt.h"
#include "schedules/library/contraction.h"
#include "schedules/library/packing.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"
#include "schedules/library/row_stores.h"
#include "schedules/library/rows.h"
#include "schedules/library/split_sum.h"
#include "schedules/library/tile_numbers.h"

#include "dsl/expr/error.h"
#include "schedules/fetch.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::library {

namespace {

constexpr std::int64_t elements = 4; ///< rows, or columns, of one access to a tile

void check(BlockRef sum, const RegisterTiles &tiles) {
  auto refuse = [&](const std::string &why) {
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::product: block {}: {}", Schedule::name(sum), why));
  };
  check_parts(sum, {tiles.split_k, tiles.part, tiles.groups_of_parts, tiles.tiles_of_part});
  if (tiles.groups_of_parts > 1 && tiles.two_kernels)
    refuse(fmt::format("got groups_of_parts = {} and two_kernels, expected 1 group with two_kernels",
                       tiles.groups_of_parts));
}

/// The tile of an operand in shared memory, and its elements in registers on the way there.
struct Tile {
  BlockRef shared;
  std::optional<BlockRef> registers;
  std::int64_t width = 1;
};

Tile tile_of(Schedule &s, BlockRef reader, const Operand &operand, bool through_registers) {
  if (operand.is_matrix || !through_registers) {
    Copy copy = copy_operand(s, reader, operand, Scope::shared);
    return {copy.block, std::nullopt, copy.width};
  }
  Copy registers = copy_operand(s, reader, operand, Scope::local);
  return {s.cache_read(reader, s.name(registers.block), Scope::shared), registers.block, registers.width};
}

/// A group has 4 columns for each lane of a row. Lane l has the columns 4*l to 4*l + 3, which it reads and
/// writes at once. If an access takes `width` elements only, it has the columns width*l to width*(l + 1) - 1,
/// and those that are `lanes` * `width` columns further on: so the lanes of a row write neighbours in each
/// access.
struct Columns {
  std::int64_t lanes, width;
  Loop block, group, warp, high, low;
  std::vector<Loop> of_lane;

  /// Stores the columns of a lane as neighbours in the tile of the second operand, so that it reads them at
  /// once.
  void store_by_lanes(Schedule &s, BlockRef tile) const {
    if (width == elements)
      return;
    const std::string before = block_of(s, tile).body.buffer->shape.size() > 2 ? "b, k, " : "k, ";
    std::string map = fmt::format("{0}j -> {0}j//{1}, j%{2}//{3}, j//{2}%{4}", before, lanes * elements,
                                  lanes * width, width, elements / width);
    if (width > 1)
      map += fmt::format(", j%{}", width);
    s.transform_layout(tile, map);
  }
};

Columns split_columns(Schedule &s, Loop j, const RegisterTiles &tiles, std::int64_t low, std::int64_t width) {
  const std::int64_t lanes = tiles.lanes[1], groups = tiles.results[1] / elements, warps = tiles.warps[1];
  std::vector<std::int64_t> factors = {infer, groups, warps};
  if (width < elements)
    factors.push_back(elements / width);
  factors.insert(factors.end(), {lanes / low, low});
  if (width > 1)
    factors.push_back(width);
  const std::vector<Loop> loops = s.split(j, factors);
  const auto after = loops.begin() + (width < elements ? 4 : 3); // the loops over lanes
  std::vector<Loop> of_lane(loops.begin() + 3, after);
  of_lane.insert(of_lane.end(), after + 2, loops.end());
  return {lanes, width, loops[0], loops[1], loops[2], after[0], after[1], of_lane};
}

/// Whether one access takes all `elements` of a lane.
bool fits_access(DType dtype) { return byte_size(dtype) * elements <= 16; }

/// The loops over the elements that a lane reads from a tile, of which the last one has those of one access.
/// `neighbours`: as many consecutive elements of the operand are neighbours in the tile, at least.
std::vector<Loop> by_accesses(Schedule &s, std::vector<Loop> loops, DType dtype, std::int64_t neighbours) {
  std::erase_if(loops, [&](const Loop &loop) { return s.extent(loop) == 1; });
  const bool by_lanes = neighbours < elements; // the tile is stored so
  while (by_lanes && loops.size() > 1 && s.extent(loops.back()) < elements) {
    const Loop inner = loops.back();
    loops.pop_back();
    loops.back() = s.fuse(loops.back(), inner);
  }
  // The elements of a single lane are neighbours, more than one access takes.
  const bool several = by_lanes || (!loops.empty() && s.extent(loops.back()) * byte_size(dtype) > 16);
  return several ? split_last(s, loops, elements) : loops;
}

/// Where copies of elements are placed.
struct Places {
  Loop thread, k_outer, k_inner;
};

/// Copies what the terms read besides the operands: to a tile in shared memory, if it has elements for k and
/// for rows or columns; otherwise to the registers of each thread, once for each k or once for all.
void copy_other(Schedule &s, BlockRef product, const Other &other, const Places &at,
                const RegisterTiles &tiles) {
  if (other.of_k && other.of_rows != other.of_columns) {
    BlockRef tile = s.reindex_cache_read(product, other.buffer, Scope::shared);
    BlockRef fragment = s.cache_read(product, s.name(tile), Scope::local);
    s.compute_at(fragment, at.k_inner);
    fetch_tile(s, tile, at.k_outer, tiles.threads());
    by_vectors(s, s.loops_below(fragment, at.k_inner), false);
    return;
  }
  const Loop place = other.of_k ? at.k_inner : at.thread;
  BlockRef copy = s.reindex_cache_read(product, other.buffer, Scope::local);
  s.compute_at(copy, place);
  by_vectors(s, s.loops_below(copy, place), false);
}

/// Gives the last iteration code of its own, unless it has the same code as the others.
void partition_last(Schedule &s, Loop loop) {
  Schedule trial = s;
  try {
    trial.partition(loop);
    s = std::move(trial);
  } catch (const ScheduleError &error) {
    if (error.requirement() != "partition.guarded")
      throw;
  }
}

/// Thread blocks leave out the tiles past the end of the last part, which is shorter.
void skip_past_end(Schedule &s, BlockRef sum, Loop k, std::int64_t tiles_of_part) {
  try {
    s.skip_tiles(k);
  } catch (const ScheduleError &error) {
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("library::product: block {}: got tiles_of_part = {}, but blocks cannot leave out the "
                    "tiles past the end of the last part; leave tiles_of_part out\n{}",
                    Schedule::name(sum), tiles_of_part, error.what()));
  }
}

/// Spreads the rounds of the copies of a tile, if there are any: the loop around all others.
void spread_copies(Schedule &s, const std::vector<Loop> &loops) {
  const auto rounds = std::ranges::find_if(
      loops, [&](const Loop &loop) { return find_loop(s.program().body, loop.var)->is<Unrolled>(); });
  if (rounds == loops.end())
    return;
  if (rounds != loops.begin())
    s.reorder({*rounds, loops.front()});
  s.spread(*rounds);
}

/// The threads that copy the tiles.
std::int64_t copying_threads(const RegisterTiles &tiles) {
  return tiles.load.warps > 0 ? tiles.load.threads() : tiles.threads();
}

/// The guards at the ends of tiles.
enum class Guards : std::uint8_t {
  none,  ///< the tiles of a sum of products are filled with zeros past their ends
  kept,  ///< other terms, such as a distance, keep theirs, and so do threads that copy no element
  scalar ///< tiles are loaded one element at a time, when they are needed: a directive refused the other way
};

/// The neighbours of a row that a lane has (`Columns`): as many as one access takes, if it is one of `stored`
/// elements to the results or, in a product in parts, of up to `widest` elements to the parts. It is all 4
/// where guards might end between others, where copies of the tile of the second operand are wider, and where
/// that tile has other conflicts: because it is stored by k, or for another number of lanes than 1, 2, 4 and 8.
std::int64_t neighbours_of_lane(const Schedule &s, const Contraction &c, const RegisterTiles &tiles,
                                Guards guards, std::int64_t widest, std::int64_t stored, bool in_parts,
                                bool async) {
  constexpr std::int64_t most_lanes = 8;
  if (guards != Guards::none)
    return elements;
  std::int64_t width = stored;
  if (in_parts)
    for (width = fits_access(block_of(s, c.sum).body.buffer->dtype) ? widest : 1; !is_multiple(s, c.j, width);)
      width /= 2;
  const Operand &second = c.operands[1];
  if (!fits_access(second.dtype)) // a lane reads single elements, in any order
    return width;
  const std::int64_t copied = tiles.load.bulk ? second.width : std::min(widest, second.width_for(async));
  return second.k_last || copied > width || most_lanes % tiles.lanes[1] != 0 ? elements : width;
}

/// The elements of rows that a thread has at a time: at most half of its results, so that those and the
/// elements that they update take no more registers than the multiplication.
std::int64_t rows_in_flight(const Grid &results) {
  constexpr std::int64_t most = 32;
  return std::min(most, results[0] * results[1] / 2);
}

Product schedule_product(Schedule &s, BlockRef sum, const RegisterTiles &tiles, Guards guards) {
  Contraction c = contraction(s, sum, Scope::local, tiles.apart);
  check(sum, tiles);
  const auto &[warps, lanes, results, zigzag, async_wanted, prefetch, fragments, joined, spread, copy_steps,
               columns, snake, last_k, bk, most_group, stages, split_k, size_of_part, tiles_of_part,
               two_kernels, groups_of_parts, blocks, width, persistent, even_places, helped_places, load, early,
               apart, packed, staged_wanted] = tiles;
  const PartsOfSum parts{split_k, size_of_part, groups_of_parts, tiles_of_part};
  const bool split = parts.several(), in_groups = groups_of_parts > 1;
  const bool guarded = guards == Guards::scalar;
  // Vectors need whole tiles, and tiles with guards are not loaded ahead.
  auto is_vector_of = [&](DType dtype) { return !guarded && fits_access(dtype); };
  const DType dtype = block_of(s, sum).body.buffer->dtype;
  const std::int64_t widest = width >= elements ? elements
                              : width >= 2      ? 2
                                                : 1,
                     stored = is_vector_of(dtype) ? std::min(widest, c.width) : 1;
  std::int64_t partial = stored; // elements of one access to the parts of the sum, if there are any
  // Elements of less than 4 bytes are too narrow to be transposed by asynchronous copies.
  const bool async = async_wanted && c.others.empty() && s.target().arch.has(Feature::cp_async) &&
                     std::ranges::all_of(c.operands, [](const Operand &operand) {
                       return byte_size(operand.dtype) >= 4 && operand.async;
                     });
  if (async && stages < 2)
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("library::product: block {}: got stages = {} with asynchronous copies, expected 2 "
                    "tiles in flight or more; use async = false for one tile",
                    Schedule::name(sum), stages));
  const std::int64_t low = zigzag ? 2 : 1;
  const bool all_sizes = !known_extent(s, c.i) || !known_extent(s, c.j);
  const std::int64_t group = whole_group(s, c.i, tiles.tile(0), most_group);
  const bool whole_rows = is_multiple(s, c.i, tiles.tile(0) * group),
             whole_columns = is_multiple(s, c.j, tiles.tile(1));
  // A partial wave guards the rows, and the guard must not end inside of a vector.
  const bool whole_vectors = is_multiple(s, c.i, elements);
  if (block_of(s, sum).body.buffer->scope == Scope::global)
    s.set_scope(c.sum, Scope::local);
  auto [i_block, i_group, i_warp, i_high, i_low, i_elem] =
      s.split(c.i, {infer, results[0] / elements, warps[0], lanes[0] / low, low, elements});
  const bool staged = staged_wanted && stored < elements && guards == Guards::none && fits_access(dtype) &&
                      !split && persistent == 0 && load.warps == 0 && has_rows(s, c);
  const std::int64_t neighbours =
      staged ? elements : neighbours_of_lane(s, c, tiles, guards, widest, stored, split, async);
  const Columns j = split_columns(s, c.j, tiles, low, neighbours);
  const Loop j_block = j.block, j_group = j.group, j_warp = j.warp, j_high = j.high, j_low = j.low;
  const LoopsOfSum of_k = split_sum(s, c.k, parts, {bk});
  const Loop k_outer = of_k.inside[0], k_inner = of_k.inside[1];
  BlockRef product = c.sum;                  // what the threads multiply,
  std::vector<BlockRef> written = c.results; // and what they write
  const std::vector<Loop> rows_of_thread = {i_group, i_elem},
                          columns_of_thread = concatenated({{j_group}, j.of_lane});
  std::vector<Loop> order =
      concatenated({{i_block, j_block, i_warp, j_warp, i_high, j_high, i_low, j_low, k_outer, k_inner},
                    rows_of_thread,
                    columns_of_thread});
  Contraction group_sums = c; // of the parts of a group
  if (in_groups) {
    group_sums.sum = s.rfactor(*of_k.group);
    product = group_sums.sum;
  }
  if (split) {
    product = s.rfactor(*of_k.part);
    if (in_groups)
      group_sums.results = {s.cache_write(group_sums.sum, Scope::local)};
    written = {s.cache_write(product, Scope::local)};
    partial = is_vector_of(dtype) ? std::min({widest, width_of_rows(s, written[0]), j.width}) : 1;
    order.insert(order.begin() + 2, *of_k.part);
    if (in_groups)
      order.insert(order.begin() + 2, *of_k.group);
  }
  if (staged) {
    written = {s.cache_write(c.sum, Scope::local)};
    s.set_scope(written[0], Scope::shared);
  }
  if (c.batch)
    order.insert(order.begin(), *c.batch);
  s.reorder(order);
  const auto &[outer_results, inner_results] =
      columns ? std::pair(columns_of_thread, rows_of_thread) : std::pair(rows_of_thread, columns_of_thread);
  const std::vector<Loop> results_of_thread = concatenated({outer_results, inner_results});
  if (columns)
    s.reorder(results_of_thread);
  auto thread = i_warp;
  for (const Loop &loop : {j_warp, i_high, j_high, i_low, j_low})
    thread = s.fuse(thread, loop);
  for (const BlockRef &result : staged ? std::vector<BlockRef>() : written)
    s.reverse_compute_at(result, thread);
  const Edges edges = edges_of(s, i_block, j_block, group, whole_rows, whole_columns);
  auto waves = persistent > 0 && !split
                   ? bind_waves(s, c.batch, i_block, j_block, group, persistent, whole_vectors)
                   : std::nullopt;
  auto grid = waves ? std::vector{waves->block}
                    : bind_grid(s, c.batch, i_block, j_block, group, (split ? 1 : 0) + (in_groups ? 1 : 0));
  s.bind(thread, Axis::thread_x);
  std::vector<BlockRef> copies, tiles_of_k;
  bool in_flight = async;
  std::vector<Tile> of_role; // their loops are bound to the threads of the role
  if (async && load.warps > 0) {
    for (const Operand &operand : c.operands)
      of_role.push_back(tile_of(s, product, operand, false));
    s.role({of_role[0].shared, of_role[1].shared}, load.warps, load.registers);
  }
  const std::int64_t loading = of_role.empty() ? tiles.threads() : load.threads();
  for (std::size_t side : {0, 1}) {
    const Operand &operand = c.operands[side];
    const bool by_all = tiles.tile(side) * bk % loading == 0, // else a thread may have no element
        through_registers = !async && !guarded && by_all;
    Tile tile = of_role.empty() ? tile_of(s, product, operand, through_registers) : of_role[side];
    auto fragment = s.cache_read(product, s.name(tile.shared), Scope::local);
    s.compute_at(fragment, k_inner);
    const std::int64_t allowed = async ? operand.async_width : tile.width;
    std::int64_t most = is_vector_of(operand.dtype) ? std::min(widest, allowed) : 1;
    if (most * byte_size(operand.dtype) < 4 || tiles.tile(side) * bk % (most * loading) != 0)
      most = 1; // no vector is shorter than 4 bytes
    TileFetch fetch{.by_k = operand.k_last,
                    .across = operand.k_last != operand.along_k,
                    .width = most,
                    .partial = most > tile.width,
                    .groups = spread ? copy_steps : 0};
    const bool by_k = fetch.by_k && byte_size(operand.dtype) >= 4;
    if (side == 1 && is_vector_of(operand.dtype))
      j.store_by_lanes(s, tile.shared);
    if (async && load.bulk && operand.in_bulk && !by_k &&
        may_copy_in_bulk(operand.dtype, tile.width, tiles.tile(side))) {
      fetch_in_bulk(s, tile.shared, k_outer);
    } else if (async) {
      in_flight = fetch_async(s, tile.shared, k_outer, loading, fetch) && in_flight;
    } else if (!through_registers) {
      fetch_tile(s, tile.shared, k_outer, tiles.threads(), fetch.across);
    } else {
      BlockRef registers =
          tile.registers ? *tile.registers : s.cache_read(tile.shared, operand.buffer, Scope::local);
      fetch_through_registers(s, tile.shared, registers, k_outer, tiles.threads(), fetch);
    }
    const bool vectors = is_vector_of(operand.dtype);
    std::vector<Loop> of_fragment = s.loops_below(fragment, k_inner);
    if (vectors)
      of_fragment = by_accesses(s, of_fragment, operand.dtype, side == 1 ? j.width : elements);
    by_vectors(s, of_fragment, vectors);
    copies.push_back(fragment);
    tiles_of_k.push_back(tile.shared);
  }
  for (const Other &other : c.others)
    copy_other(s, product, other, {thread, k_outer, k_inner}, tiles);
  s.unroll(k_inner);
  for (const Loop &loop : results_of_thread)
    s.unroll(loop);
  if (snake) // the operands that one row or column used last are the first ones of the next
    for (const Loop &inner : inner_results)
      s.snake(outer_results.back(), inner);
  if (fragments && c.others.empty()) // loads the operands of the next k while this one is used
    s.pipeline(k_inner, {{copies[0], 0, 0}, {copies[1], 0, 1}, {product, 1, 2}});
  const bool joins = in_flight && joined && fragments && c.others.empty(), spreads = joins && spread;
  if (in_flight)
    s.pipeline(k_outer, {{tiles_of_k[0], 0, spreads ? 1 : 0},
                         {tiles_of_k[1], 0, spreads ? 2 : 1},
                         {copies[0], stages - 1, spreads ? 0 : 2},
                         {copies[1], stages - 1, spreads ? 0 : 2},
                         {product, stages - 1, spreads ? 0 : 2}});
  else if (prefetch && !guarded)
    s.double_buffer(k_outer);
  if (joins)
    s.join_pipelines(k_inner);
  if (spreads)
    for (const BlockRef &tile : tiles_of_k)
      spread_copies(s, s.loops_below(tile, k_outer));
  if (staged)
    store_rows(s, c, written[0], grid.back(), thread,
               {tiles.threads(), tiles.tile(1), stored, rows_in_flight(results)});
  else
    for (const BlockRef &result : written)
      store_result(s, result, thread, partial);
  if (split && two_kernels)
    add_parts_apart(s, c, *of_k.part, partial, stored);
  else if (in_groups)
    add_groups(s, group_sums, *of_k.group, *of_k.part, tiles.threads(), tiles.tile(1), partial);
  if (split && !two_kernels)
    add_parts(s, c, grid.back(), in_groups ? *of_k.group : *of_k.part, tiles.threads(), tiles.tile(1), partial,
              stored);
  if (last_k)
    partition_last(s, k_outer);
  if (of_k.shorter)
    skip_past_end(s, sum, k_outer, tiles_of_part);
  // With one loop over all tiles, tiles of many blocks would get the code of the edges. Two copies of the loop
  // over k, which blocks execute at the same time, evict each other from the cache of instructions. With roles,
  // full and partial tiles share the loop. Otherwise, guards take less time than the second copy if most tiles
  // are partial, and so do the masks of asynchronous copies in a kernel for all sizes.
  const bool one_copy = of_role.empty() && (!edges.few || (all_sizes && async));
  if (grid.size() > 1 && !one_copy)
    partition_edges(s, grid, edges);
  if (waves && waves->partial)
    s.skip_tiles(waves->wave);
  if (blocks > 0 &&
      c.others.empty()) // other elements take registers, which the number of blocks does not count
    s.launch_bounds(blocks);
  if (early && !s.program().launches_early)
    s.launch_early();
  return {c.sum, c.results, tiles_of_k, grid, thread, k_outer, k_inner};
}

} // namespace

Product product(Schedule &s, BlockRef sum, const RegisterTiles &tiles) {
  check_numbers(sum, tiles);
  Product made;
  if (tiles.packed) {
    RegisterTiles of_packed = tiles;
    of_packed.packed = false;
    const bool is_packed = tiles.load.bulk && is_changed(s, [&](Schedule &copy) {
                             pack_operands(copy, sum);
                             made = product(copy, sum, of_packed);
                           });
    return is_packed ? made : product(s, sum, of_packed); // which says why, if it is refused, too
  }
  if (std::optional<Product> with_tail = product_with_tail(s, sum, tiles))
    return *std::move(with_tail);
  // Guards at the ends may differ between the lanes of a vector. None is left of a product, unless threads that
  // copy no element need it.
  const auto is_whole = [&](std::size_t side) {
    return tiles.tile(side) * tiles.k % copying_threads(tiles) == 0;
  };
  const bool filled = factors_of_product(block_of(s, sum)) && is_whole(0) && is_whole(1);
  try {
    change(s, [&](Schedule &copy) {
      made = schedule_product(copy, sum, tiles, filled ? Guards::none : Guards::kept);
    });
  } catch (const UserError &) {
    if (tiles.staged) { // the sums may need more shared memory than a block has
      RegisterTiles by_lanes = tiles;
      by_lanes.staged = false;
      return product(s, sum, by_lanes);
    }
    if (filled ||
        !is_changed(s, [&](Schedule &copy) { made = schedule_product(copy, sum, tiles, Guards::scalar); }))
      throw;
  }
  return made;
}

} // namespace nestsmith::library
