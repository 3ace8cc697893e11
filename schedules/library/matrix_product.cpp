#include "schedules/fetch.h"
#include "schedules/library/accesses.h"
#include "schedules/library/attempt.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"
#include "schedules/library/row_stores.h"
#include "schedules/library/rows.h"
#include "schedules/library/split_sum.h"
#include "schedules/library/tile_numbers.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/intrinsic.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace nestsmith::library {

namespace {

bool is_transposed(const Operand &operand) { return operand.k_last != operand.along_k; }

/// All threads copy the tile, with `width` consecutive elements of a row per thread and step: in one access, if
/// `vectors` is set.
void fetch(Schedule &s, BlockRef tile, Loop at, const Operand &operand, std::int64_t threads,
           std::int64_t width, bool vectors) {
  s.compute_at(tile, at);
  auto loops = s.loops(tile);
  Loop row = loops[loops.size() - 2], column = loops.back();
  if (is_transposed(operand)) {
    s.reorder({column, row});
    std::swap(row, column);
  }
  auto [group, element] = s.split(column, {infer, width});
  auto [round, thread] = s.split(s.fuse(row, group), {infer, threads});
  s.bind(thread, Axis::thread_x);
  by_vectors(s, {round, element}, vectors);
}

/// The elements of a tile, and the threads that copy them.
struct Sharing {
  std::int64_t row; ///< elements that are neighbours in memory
  std::int64_t elements, threads, bytes;

  bool by_all() const { return elements % threads == 0; }
  /// The most elements, up to `most`, of which each thread copies the same number at a time. No vector is
  /// shorter than 4 bytes.
  std::int64_t width(std::int64_t most) const {
    while (most > 1 && (row % most != 0 || elements % (threads * most) != 0))
      most /= 2;
    return most * bytes < 4 ? 1 : most;
  }
};

/// The way of an operand to the fragments: to a tile by asynchronous copies, or through registers, or neither.
struct TileCopy {
  BlockRef tile;
  std::optional<BlockRef> registers;
  std::int64_t width = 1;           ///< elements that one access to global memory may take
  bool async = false, bulk = false; ///< by asynchronous copies of threads, or in bulk
  bool partial = false;             ///< a row may end within an access; then `async` is stated already
};

/// Copies the operand to a tile in each iteration of `at`: through registers, if `through` is set.
TileCopy copy_tile(Schedule &s, BlockRef reader, const Operand &operand, bool through) {
  if (!through || operand.is_matrix) {
    Copy copy = copy_operand(s, reader, operand, Scope::shared);
    if (!through)
      return {copy.block, std::nullopt, copy.width};
    return {copy.block, s.cache_read(copy.block, operand.buffer, Scope::local), copy.width};
  }
  Copy registers = copy_operand(s, reader, operand, Scope::local);
  return {s.cache_read(reader, s.name(registers.block), Scope::shared), registers.block, registers.width};
}

/// Asynchronous copies of `stages` - 1 tiles are in flight, while `used` compute. Other tiles are stored one
/// iteration before their use, and what goes through registers is loaded another one before, if there are as
/// many stages.
void overlap(Schedule &s, Loop k_outer, const std::vector<TileCopy> &copies, const std::vector<BlockRef> &used,
             std::int64_t stages, bool late) {
  bool async = std::ranges::any_of(copies, &TileCopy::async),
       registers = std::ranges::any_of(copies, [](const TileCopy &copy) { return copy.registers.has_value(); });
  std::int64_t last = (async ? stages : registers ? std::min<std::int64_t>(stages, 3) : 2) - 1, order = 0;
  std::vector<Stage> blocks;
  auto add = [&](BlockRef block, std::int64_t stage) { blocks.push_back({block, stage, order++}); };
  auto start = [&] {
    for (const TileCopy &copy : copies)
      if (copy.async)
        add(copy.tile, 0);
  };
  auto stored = [&] {
    for (const TileCopy &copy : copies)
      if (!copy.async)
        add(copy.tile, last - 1);
  };
  if (last > 1)
    stored();
  for (const TileCopy &copy : copies)
    if (copy.registers)
      add(*copy.registers, std::max<std::int64_t>(last - 2, 0));
  if (!late)
    start();
  std::int64_t order_of_used = order++;
  if (late)
    start();
  if (last == 1)
    stored();
  for (const BlockRef &block : used)
    blocks.push_back({block, last, order_of_used});
  s.pipeline(k_outer, blocks);
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

/// Throws UserError (illegal_schedule) if matrix units cannot read these tiles of the operands themselves.
void check_tiles(BlockRef sum, const MatrixTiles &tiles, const Contraction &c, std::int64_t k) {
  auto refuse = [&](const std::string &why) {
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::product: block {}: {}", Schedule::name(sum), why));
  };
  if (tiles.staged && tiles.results[1] % staged_columns != 0)
    refuse(fmt::format("staged results are written in rows of {} columns, got {} columns of a warp, expected a "
                       "multiple of {}",
                       staged_columns, tiles.results[1], staged_columns));
  if (tiles.load.warps > 0 && tiles.source == Source::global)
    refuse(fmt::format("got {} load warps and Source::global, but load warps fill tiles in shared memory; use "
                       "another source, or load.warps = 0",
                       tiles.load.warps));
  if (tiles.load.warps > 0 && tiles.stages < 2)
    refuse(fmt::format("got {} load warps and stages = {}, expected 2 stages or more: load warps fill a tile "
                       "while the other warps read another",
                       tiles.load.warps, tiles.stages));
  if (tiles.source != Source::tiles) {
    if (tiles.in_flight > 0)
      refuse("calls are in flight only with Source::tiles, expected in_flight = 0");
    return;
  }
  const auto [rows, columns] = tiles.results;
  if (rows != 16 || columns % 64 != 0 || columns < 64 || columns > 256 || tiles.warps[0] % 4 != 0)
    refuse(fmt::format("with Source::tiles, got {}x{} results of a warp and {} rows of warps, expected 16x64, "
                       "16x128, 16x192 or 16x256, and a multiple of 4 rows of warps",
                       rows, columns, tiles.warps[0]));
  if (tiles.in_flight > 0 && tiles.stages < tiles.in_flight + 2)
    refuse(fmt::format("with Source::tiles, got {} stages with the calls of {} iterations in flight, expected "
                       "at least {} stages",
                       tiles.stages, tiles.in_flight, tiles.in_flight + 2));
  for (const Operand &operand : c.operands) {
    const std::int64_t bytes = byte_size(operand.dtype), depth = tiles.steps * k;
    if ((bytes != 2 && operand.dtype != DType::u32) || operand.computed ||
        depth != columns_of_tile(operand.dtype) || !tiles.swizzled)
      refuse(fmt::format("with Source::tiles, the matrix units read {}, got elements of {} bytes, {} steps of "
                         "k{}, expected f16 or bf16 that is copied, and swizzled tiles of 4 steps",
                         operand.buffer, bytes, tiles.steps,
                         operand.computed ? ", computed from other operands" : ""));
  }
}

/// The layout in which matrix units read a tile themselves.
void lay_out_tile(Schedule &s, BlockRef tile, const Operand &operand, bool batch) {
  if (!operand.k_last) {
    const std::string layout = fmt::format("k, n -> n//{0}, k, n%{0}", columns_of_tile(operand.dtype));
    s.transform_layout(tile, batch ? with_batch(layout) : layout);
  }
  const Swizzle swizzle = swizzle_of_tiles(operand.dtype);
  s.swizzle(tile, swizzle.bits, swizzle.base, swizzle.shift);
}

/// Divides the loops of a tile with this layout into boxes of the columns that stay together. Returns the loop
/// over the boxes.
Loop box_columns(Schedule &s, BlockRef tile, DType dtype) {
  const std::vector<Loop> loops = s.loops(tile);
  const Loop &row = loops[loops.size() - 2];
  auto [part, column] = s.split<2>(loops.back(), {infer, columns_of_tile(dtype)});
  s.reorder({part, row, column});
  return part;
}

/// The name of the instruction that multiplies tiles of two operands.
std::string name_of_wgmma(std::int64_t columns, std::int64_t k, const std::array<Operand, 2> &operands) {
  return fmt::format("wgmma_m64n{}k{}{}{}", columns, k, operands[0].k_last ? "" : "_a_across",
                     operands[1].k_last ? "" : "_b_across");
}

/// The blocks of a cluster that copy parts of the tiles of B for each other; 1 if they cannot.
std::int64_t blocks_of_cluster(const Schedule &s, const Contraction &c, const MatrixTiles &tiles,
                               std::int64_t k) {
  const Operand &b = c.operands[1];
  const auto rows = as_int(find_loop(s.program().body, c.i.var)->extent);
  const std::int64_t side = tiles.tile(1), depth = tiles.steps * k,
                     boxes = b.k_last ? side : side / columns_of_tile(b.dtype); // which the blocks divide
  const bool may = tiles.cluster > 1 && tiles.load.bulk && tiles.source == Source::tiles && tiles.stages > 1 &&
                   s.target().arch.has(Feature::tma) && s.target().arch.has(Feature::clusters) && rows &&
                   !is_transposed(b) && b.in_bulk && boxes % tiles.cluster == 0 &&
                   may_copy_in_bulk(b.dtype, b.width, b.k_last ? side : depth);
  return may && (*rows + tiles.tile(0) - 1) / tiles.tile(0) % tiles.cluster == 0 ? tiles.cluster : 1;
}

/// Lets each block of a cluster execute a part of the loop, the outermost of a box, for all of them.
/// Returns the loop over one part.
Loop share_in_cluster(Schedule &s, Loop loop, std::int64_t blocks) {
  auto [part, rest] = s.split<2>(loop, {blocks, infer});
  s.bind(part, Axis::cluster);
  return rest;
}

bool has_stmatrix(const Schedule &s, DType dtype) {
  return s.target().arch.has(Feature::stmatrix) && !find_intrinsics("stmatrix", dtype).empty();
}

Product schedule_product(Schedule &s, BlockRef sum, const MatrixTiles &tiles) {
  const PartsOfSum parts{tiles.split_k, tiles.part};
  check_parts(sum, parts);
  const bool split = parts.several();
  const Block stated = block_of(s, sum);
  Contraction c = contraction(s, sum, split ? Scope::local : Scope::warp, tiles.apart);
  const DType of_operands = multiplied(s, c);
  if (!has_instruction(of_operands))
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("library::product: block {}: got operands of {}, but matrix units multiply f16, "
                    "bf16, i8, u8, and f32 that the term rounds to tf32; use RegisterTiles{}",
                    Schedule::name(sum), name(of_operands),
                    of_operands == DType::f32 ? ", or cast(DType::tf32, …) in the term" : ""));
  if (!factors_of_product(stated))
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("library::product: block {}: got the update {}, but matrix units add products of "
                    "two elements; use RegisterTiles",
                    Schedule::name(sum), to_string(stated.body.value)));
  Instruction instruction = instruction_for(of_operands);
  check_tiles(sum, tiles, c, instruction.k());
  const std::int64_t cluster = split ? 1 : blocks_of_cluster(s, c, tiles, instruction.k());
  const std::int64_t group =
      whole_group(s, c.i, tiles.tile(0) * cluster, std::max<std::int64_t>(1, tiles.group / cluster));
  BlockRef AB = c.sum;                       // what the warps multiply,
  std::vector<BlockRef> written = c.results; // and what they write
  const bool whole_rows = is_multiple(s, c.i, tiles.tile(0) * group),
             whole_columns = is_multiple(s, c.j, tiles.tile(1));
  auto layout = [&](const std::string &text) { return c.batch ? with_batch(text) : text; };
  auto [i_block, i_warp, i_tile, i_inside] = s.split(c.i, {infer, tiles.warps[0], tiles.results[0] / 16, 16});
  std::optional<Loop> of_cluster; // over its blocks
  if (cluster > 1) {
    auto [first, block] = s.split<2>(i_block, {infer, cluster});
    i_block = first;
    of_cluster = block;
  }
  const bool by_tiles = tiles.source == Source::tiles;
  const std::int64_t columns_of_call = by_tiles ? tiles.results[1] : 8;
  auto [j_block, j_warp, j_tile, j_inside] =
      s.split(c.j, {infer, tiles.warps[1], tiles.results[1] / columns_of_call, columns_of_call});
  const LoopsOfSum of_k = split_sum(s, c.k, parts, {tiles.steps, instruction.k()});
  const Loop k_outer = of_k.inside[0], k_step = of_k.inside[1], k_inside = of_k.inside[2];
  // The four warps of a call have consecutive rows.
  const auto [outer_warp, inner_warp] = by_tiles ? std::pair(j_warp, i_warp) : std::pair(i_warp, j_warp);
  std::vector<Loop> order = {i_block, j_block, outer_warp, inner_warp, k_outer, k_step,
                             i_tile,  j_tile,  i_inside,   j_inside,   k_inside};
  auto place = [&](Scope scope) {
    if (block_of(s, c.sum).body.buffer->scope != scope)
      s.set_scope(c.sum, scope);
  };
  std::int64_t stored = c.width,
               partial = c.width; // elements of one access to the results, and to parts of sums
  if (split) {
    place(Scope::local);
    AB = s.rfactor(*of_k.part);
    written = {s.cache_write(AB, Scope::warp)};
    partial = width_of_rows(s, written[0]);
    order.insert(order.begin() + 2, *of_k.part);
  }
  if (of_cluster)
    order.insert(order.begin() + 2, *of_cluster);
  if (c.batch)
    order.insert(order.begin(), *c.batch);
  s.reorder(order);
  if (!split)
    place(Scope::warp);
  s.transform_layout(AB, split ? "p, " + layout(Instruction::c_layout) : layout(Instruction::c_layout));
  auto in_bulk = [&](const BlockRef &result) {
    const Store &store = block_of(s, result).body;
    const DType dtype = store.buffer->dtype;
    // Not if rows and a batch are fused: a cache of them has no box that is computed by a loop over rows.
    const bool by_axes =
        std::ranges::all_of(store.indices, [](const Expr &index) { return index.as<Var>() != nullptr; });
    return tiles.bulk_stores && !split && by_axes && s.target().arch.has(Feature::tma) &&
           tiles.results[1] % columns_of_tile(dtype) == 0 &&
           may_copy_in_bulk(dtype, width_of_rows(s, result), tiles.results[1]);
  };
  struct Rows {
    BlockRef result, copy; ///< the copy to global memory in bulk, or that of the sum to shared memory
    bool bulk;
    std::optional<BlockRef> moved; ///< the copy to shared memory, of results in registers
  };
  std::vector<Rows> rows; // of what the warps write, through shared memory
  for (const BlockRef &result : tiles.staged ? written : std::vector<BlockRef>()) {
    const bool bulk = in_bulk(result);
    rows.push_back({result,
                    bulk ? s.cache_write(result, Scope::shared)
                         : s.cache_read(result, block_of(s, AB).body.buffer->name, Scope::shared),
                    bulk,
                    {}});
    if (bulk && whole_rows && whole_columns && has_stmatrix(s, block_of(s, result).body.buffer->dtype))
      rows.back().moved = s.cache_write(result, Scope::warp);
  }
  auto warp = s.fuse(outer_warp, inner_warp);
  for (const Rows &each : rows)
    if (!each.bulk)
      s.reverse_compute_at(each.copy, warp);
  for (const BlockRef &result : written)
    s.reverse_compute_at(result, warp);
  for (const auto &[result, copy, bulk, moved] : rows)
    if (bulk) {
      if (moved)
        s.reverse_compute_at(*moved, warp);
      s.reverse_compute_at(copy, warp);
      store_rows_in_bulk(s, result, moved, copy, warp);
    } else {
      write_rows(s, result, copy, warp, width_of_store(s, result, std::min<std::int64_t>(partial, 4)));
    }
  const Edges edges = edges_of(s, i_block, j_block, group, whole_rows, whole_columns);
  auto waves = tiles.persistent > 0 && !split
                   ? bind_waves(s, c.batch, i_block, j_block, group, tiles.persistent / cluster, true)
                   : std::nullopt;
  auto grid = waves ? std::vector{waves->block}
                    : bind_grid(s, c.batch, i_block, j_block, group, split || of_cluster ? 1 : 0);
  if (of_cluster)
    s.bind(*of_cluster, Axis::cluster);
  s.bind(warp, Axis::warp);

  std::int64_t loading = tiles.load.warps > 0 ? tiles.load.threads() : tiles.threads(),
               bytes = byte_size(c.operands[0].dtype);
  std::int64_t depth = tiles.steps * instruction.k();
  std::vector<TileCopy> copies;
  std::vector<BlockRef> fragments;
  std::vector<TileCopy> of_role; // their loops are bound to the threads of the role
  if (tiles.load.warps > 0) {
    for (const Operand &operand : c.operands)
      of_role.push_back(copy_tile(s, AB, operand, false));
    s.role({of_role[0].tile, of_role[1].tile}, tiles.load.warps, tiles.load.registers);
  }
  for (std::size_t n : {0, 1}) {
    const Operand &operand = c.operands[n];
    std::int64_t side = tiles.tile(n);
    std::int64_t columns = operand.k_last ? depth : side;
    std::optional<TileCopy> tile;
    BlockRef fragment;
    const Sharing sharing{operand.along_k ? depth : side, side * depth, loading, bytes};
    auto width_for = [&](std::int64_t allowed) {
      return sharing.width(std::min({tiles.width, allowed, 16 / bytes}));
    };
    // No asynchronous copy is shorter than 4 bytes, and none transposes.
    const bool async = tiles.stages > 1 && width_for(operand.async_width) * bytes >= 4 &&
                       !is_transposed(operand) && operand.async;
    if (tiles.source == Source::global) {
      fragment = copy_operand(s, AB, operand, Scope::warp).block;
    } else {
      tile = of_role.empty() ? copy_tile(s, AB, operand, tiles.stages > 1 && !async && sharing.by_all())
                             : of_role[n];
      tile->async = async;
      if (!by_tiles)
        fragment = s.cache_read(AB, s.name(tile->tile), Scope::warp);
    }
    if (!by_tiles) {
      s.transform_layout(fragment, layout(n == 0 ? instruction.a_layout(!operand.k_last)
                                                 : instruction.b_layout(operand.k_last)));
      s.compute_at(fragment, k_step);
      load_fragment(s, fragment, n == 0, operand, k_step, tiles, instruction);
      fragments.push_back(fragment);
    }
    if (!tile)
      continue;
    std::int64_t width = width_for(async ? operand.async_width : tile->width);
    const bool by_columns = by_tiles && !operand.k_last; // in the layout of `lay_out_tile`
    const bool bulk = tiles.load.bulk && async && operand.in_bulk &&
                      may_copy_in_bulk(operand.dtype, tile->width, by_columns ? depth : side);
    if (bulk) {
      tile->bulk = true;
      s.compute_at(tile->tile, k_outer);
      const std::vector<Loop> own = s.loops_below(tile->tile, k_outer);
      Loop outer = by_columns ? box_columns(s, tile->tile, operand.dtype) : own[own.size() - 2];
      if (of_cluster && n == 1)
        outer = share_in_cluster(s, outer, cluster);
      if (by_columns)
        by_vectors(s, {outer}, false);
    } else if (tile->registers) { // which collect elements that are loaded one by one, so that stores are
                                  // vectors
      std::int64_t stored = std::max(width, sharing.width(4 / bytes));
      fetch(s, tile->tile, k_outer, operand, loading, stored, stored > 1 && !is_transposed(operand));
      fetch(s, *tile->registers, k_outer, operand, loading, stored, width > 1);
    } else {
      tile->partial = async && width > tile->width;
      if (tile->partial) // only the vectors of asynchronous copies may be partial
        s.async_copy(tile->tile);
      fetch(s, tile->tile, k_outer, operand, loading, width, width > 1);
    }
    if (by_tiles)
      lay_out_tile(s, tile->tile, operand, c.batch.has_value());
    else if (tiles.swizzled)
      swizzle_rows(s, tile->tile, columns, bytes);
    copies.push_back(*tile);
  }
  auto init = s.decompose_reduction(AB, k_outer);
  auto cleared = s.loops_below(init, warp);
  s.reorder({cleared[0], cleared[2], cleared[1], cleared[3]}); // rows, then columns
  by_vectors(s, to_lanes(s, s.fuse(cleared[0], cleared[2]), s.fuse(cleared[1], cleared[3]), 2), false);
  s.tensorize(i_inside,
              by_tiles ? name_of_wgmma(columns_of_call, instruction.k(), c.operands) : instruction.name);
  by_vectors(s, {k_step, i_tile, j_tile}, false);
  if (tiles.snake && s.extent(i_tile) > 1 && s.extent(j_tile) > 1)
    s.snake(i_tile, j_tile);
  bool ahead = tiles.ahead && tiles.steps > 1 && !by_tiles;
  if (ahead)
    s.pipeline(k_step, {{fragments[0], 0, 0}, {fragments[1], 0, 1}, {AB, 1, 2}});
  if (tiles.stages > 1 && !copies.empty()) {
    for (const TileCopy &copy : copies)
      if (copy.bulk)
        s.bulk_copy(copy.tile);
      else if (copy.async && !copy.partial)
        s.async_copy(copy.tile);
    std::vector<BlockRef> used = fragments;
    used.push_back(AB);
    overlap(s, k_outer, copies, used, tiles.stages - tiles.in_flight, tiles.late);
    if (tiles.in_flight > 0)
      s.in_flight(AB, tiles.in_flight);
    if (ahead && tiles.joined)
      s.join_pipelines(k_step);
  }
  if (!tiles.staged) // else row_stores.h has scheduled them
    for (const BlockRef &result : written) {
      auto out = s.loops_below(result, warp);
      const bool vectors = width_of_store(s, result, std::min<std::int64_t>(partial, 2)) == 2;
      const std::vector<Loop> of_thread = to_lanes(s, out[out.size() - 2], out.back(), 2);
      by_vectors(s, read_ahead(s, result, of_thread, vectors), vectors);
    }
  partial = std::min<std::int64_t>(partial, 4);
  stored = std::min<std::int64_t>(stored, 4);
  if (split && tiles.two_kernels)
    add_parts_apart(s, c, *of_k.part, partial, stored);
  else if (split)
    add_parts(s, c, grid.back(), *of_k.part, tiles.threads(), tiles.tile(1), partial, stored);
  if (tiles.edges && !waves && !of_cluster)
    partition_edges(s, grid, edges);
  if (waves && waves->partial)
    s.skip_tiles(waves->wave);
  if (tiles.blocks > 0)
    s.launch_bounds(tiles.blocks);
  if (tiles.early && !s.program().launches_early)
    s.launch_early();
  std::vector<BlockRef> tiles_of_k;
  for (const TileCopy &copy : copies)
    tiles_of_k.push_back(copy.tile);
  return {c.sum, c.results, tiles_of_k, grid, warp, k_outer, k_step};
}

} // namespace

Product product(Schedule &s, BlockRef sum, const MatrixTiles &tiles) {
  check_numbers(sum, tiles);
  if (std::optional<Product> made = product_with_tail(s, sum, tiles))
    return *std::move(made);
  Product made;
  change(s, [&](Schedule &copy) { made = schedule_product(copy, sum, tiles); });
  return made;
}

} // namespace nestsmith::library
