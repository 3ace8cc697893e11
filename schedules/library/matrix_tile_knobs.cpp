#include "schedules/library/tile_knobs.h"

#include "schedules/even_tail.h"
#include "schedules/grids.h"
#include "schedules/kernels/kernel_choice.h"
#include "schedules/library/fragments.h"
#include "schedules/library/row_stores.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"

#include <algorithm>
#include <string>

namespace nestsmith::library {

bool is_small(const Shape &shape) {
  return shape.stated || shape.size() != 3 || shape[0] * shape[1] < 2048 * 2048;
}

std::int64_t rows_of_tiles(const Shape &shape, const MatrixTiles &tiles, std::int64_t most) {
  if (shape.stated || shape.size() != 3) // `product` refuses other shapes
    return 1;
  return std::clamp<std::int64_t>((shape[0] - 1) / tiles.tile(0) + 1, 1, most);
}

std::optional<Variant> matrix_variant(const Shape &shape, DType dtype) {
  const std::int64_t fewest =
      std::max<std::int64_t>(2, 4 / byte_size(dtype)); // no vector is shorter than 4 bytes
  std::vector<RowOf> rows = {rows_of_a(shape, fewest), rows_of_b(shape, fewest)};
  if (rows[0].extent == rows[1].extent)
    rows = {{"A and B", rows[0].axis, rows[0].extent, fewest}};
  for (RowOf &row : rows)
    row.may_end_inside = true;
  return narrow_unless_multiples(shape, rows, 16 / byte_size(dtype));
}

static std::vector<std::int64_t> numbers_of_parts(const Shape &shape, std::int64_t depth) {
  std::vector<std::int64_t> numbers = {1};
  for (const std::int64_t n : records::choice::parts_of_sums)
    if (shape.stated || (shape.size() == 3 && 2 * n * depth <= shape[2]))
      numbers.push_back(n);
  if (shape.stated && shape.size() == 3)
    numbers.push_back(0);
  return numbers;
}

template <class Tiles>
static void choose_parts_of(Tiles &tiles, const Shape &shape, std::int64_t depth, Knobs &knobs) {
  if (const std::vector<std::int64_t> numbers = numbers_of_parts(shape, depth); numbers.size() > 1)
    tiles.split_k = knobs.choose("split_k", numbers);
  if (tiles.split_k == 0) {
    tiles.split_k = 1;
    tiles.part = size_of_part;
  }
  if (tiles.split_k > 1 || !tiles.part.empty())
    tiles.two_kernels = knobs.flag("two_kernels");
}

void choose_parts(RegisterTiles &tiles, const Shape &shape, std::int64_t depth, Knobs &knobs) {
  choose_parts_of(tiles, shape, depth, knobs);
}

void choose_parts(MatrixTiles &tiles, const Shape &shape, std::int64_t depth, Knobs &knobs) {
  choose_parts_of(tiles, shape, depth, knobs);
}

Shape with_size_of_part(const Shape &shape, const std::string &part, const std::array<std::int64_t, 3> &tile,
                        const Target &target) {
  namespace choice = records::choice;
  if (part.empty() || shape.size() != 3)
    return shape;
  const std::int64_t blocks = choice::tiles_of(std::array<long long, 3>{shape[0], shape[1], shape[2]}.data(),
                                               std::array<long long, 3>{tile[0], tile[1], tile[2]}.data()),
                     parts = shape.parts_of_run > 0
                                 ? shape.parts_of_run
                                 : std::max<std::int64_t>(1, 2 * multiprocessors(target) / blocks),
                     least = choice::shallowest_part * tile[2], most = shape.stated.value_or(Size{}).max;
  Shape result = shape;
  result.part = Size{.min = least,
                     .max = std::max(least, (most + tile[2] - 1) / tile[2] * tile[2]),
                     .multiple_of = tile[2],
                     .usual = choice::terms_of_part(shape[2], tile[2], parts)};
  return result;
}

namespace {

/// The bytes of the tiles of both operands, of one stage.
std::int64_t bytes_of_stage(const MatrixTiles &tiles, DType dtype) {
  const std::int64_t k = tiles.steps * instruction_for(dtype).k();
  return (tiles.tile(0) + tiles.tile(1)) * k * byte_size(dtype);
}

/// The numbers of stages of `candidates` whose tiles fit in shared memory.
std::vector<std::int64_t> stages_that_fit(const MatrixTiles &tiles, DType dtype, const Target &target,
                                          std::vector<std::int64_t> candidates) {
  const std::int64_t stage = bytes_of_stage(tiles, dtype);
  std::erase_if(candidates, [&](std::int64_t n) { return n > 1 && n * stage > target.shared_bytes_per_block; });
  return candidates;
}

/// The bytes of shared memory of a block with roles: tiles, events and, unless 0, rows of results.
std::int64_t bytes_with_roles(const MatrixTiles &tiles, DType dtype, std::int64_t columns_of_rows) {
  return tiles.stages * (bytes_of_stage(tiles, dtype) + 16) +
         tiles.tile(0) * tiles.warps[1] * columns_of_rows * 4;
}

/// Whether there is room for rows of results in shared memory, which have the memory of the tiles if there are
/// no roles.
bool may_stage(const MatrixTiles &tiles, DType dtype, const Target &target, bool roles) {
  return tiles.results[1] % staged_columns == 0 &&
         (!roles || bytes_with_roles(tiles, dtype, staged_columns) <= target.shared_bytes_per_block);
}

/// Candidates for the blocks with roles on a multiprocessor that share its registers alike, if they fit. 0: one
/// block, whose warps move registers.
std::vector<std::int64_t> blocks_with_roles(const MatrixTiles &tiles, DType dtype, const Target &target) {
  std::vector<std::int64_t> candidates = {0};
  const std::int64_t bytes = bytes_with_roles(tiles, dtype, tiles.staged ? staged_columns : 0);
  for (std::int64_t blocks : {2, 3})
    if (blocks * (bytes + target.shared_bytes_reserved) <= target.shared_bytes_per_sm)
      candidates.push_back(blocks); // too few registers are refused by an obligation
  return candidates;
}

using Words = std::vector<std::string>;

/// The candidates, and those for few rows or columns that they do not have yet.
Words with_narrow(Words candidates, const Words &narrow) {
  for (const std::string &word : narrow)
    if (std::ranges::find(candidates, word) == candidates.end())
      candidates.push_back(word);
  return candidates;
}

/// Whether rows of A or B allow no vectors of 4 bytes, which are the shortest.
bool has_single_elements(const Shape &shape, DType dtype) {
  std::int64_t fewest = 4 / byte_size(dtype);
  return shape.size() == 3 && (!shape.is_multiple(rows_of_a(shape).extent, fewest) ||
                               !shape.is_multiple(rows_of_b(shape).extent, fewest));
}

/// The thread blocks that a GPU executes at one time: as many as are stated, or for which a multiprocessor has
/// the registers and the shared memory.
std::int64_t places_of(const MatrixTiles &tiles, DType dtype, const Target &target) {
  constexpr std::int64_t registers = 65536,
                         others = 64; // of a multiprocessor; of a thread, besides its results
  const std::int64_t shared = tiles.stages * bytes_of_stage(tiles, dtype) + target.shared_bytes_reserved,
                     of_a_thread = tiles.results[0] * tiles.results[1] / 32 + others;
  const std::int64_t fit =
      std::min(target.shared_bytes_per_sm / shared, registers / (of_a_thread * tiles.threads()));
  return multiprocessors(target) * (tiles.blocks > 0 ? tiles.blocks : std::max<std::int64_t>(1, fit));
}

/// Whether the target has matrix units that read their tiles themselves, for these operands. In ring mode, u32
/// stands for the operands, and loads for the instruction.
bool has_wgmma(DType dtype, const Target &target) {
  return target.arch.has(Feature::wgmma) &&
         (dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::u32);
}

/// MatrixTiles that matrix units read themselves.
MatrixTiles choose_tiles_of_units(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  const bool small = is_small(shape);
  MatrixTiles tiles = {.steps = 4, .source = Source::tiles};
  tiles.warps = choose_grid(knobs, "warps",
                            small ? Words{"4x1", "8x1", "4x2", "8x2", "16x1", "12x1"}
                                  : Words{"8x1", "4x1", "4x2", "8x2", "16x1", "12x1"});
  // Tiles of 128 columns are faster than those of 64 if they still occupy most multiprocessors.
  const std::int64_t rows = 16 * tiles.warps[0], columns = 128 * tiles.warps[1];
  const bool fills =
      small && !shape.stated && shape.size() == 3 &&
      2 * ((shape[0] + rows - 1) / rows) * ((shape[1] + columns - 1) / columns) > multiprocessors(target);
  tiles.results = choose_grid(knobs, "results",
                              fills   ? Words{"16x128", "16x64", "16x192", "16x256"}
                              : small ? Words{"16x64", "16x128", "16x192", "16x256"}
                                      : Words{"16x256", "16x128", "16x192", "16x64"});
  // A slot is held for one or two steps. Small tiles are used faster than memory answers, so they need more
  // slots.
  tiles.stages = knobs.choose("stages", stages_that_fit(tiles, dtype, target, {4, 3, 2, 5, 1, 6, 8}));
  if (tiles.stages > 2)
    tiles.in_flight = knobs.flag("in_flight", true) ? 1 : 0;
  tiles.late = tiles.stages > 1 && knobs.flag("late", true);
  return tiles;
}

/// MatrixTiles from which warps load the operands of their matrix units.
MatrixTiles choose_tiles_of_warps(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  MatrixTiles tiles;
  const bool small = is_small(shape);
  // Elements that are loaded one by one wait in a register each. So larger tiles would be spilled.
  bool single = !small && has_single_elements(shape, dtype);
  tiles.warps = choose_grid(
      knobs, "warps",
      with_narrow(small ? Words{"2x2", "2x4", "4x2", "1x4", "4x4"} : Words{"2x4", "2x2", "4x2", "1x4", "4x4"},
                  {"4x1", "1x8", "8x1", "1x2", "2x1", "1x1"}));
  tiles.results = choose_grid(
      knobs, "results",
      with_narrow(small    ? Words{"32x32", "64x32", "64x64", "32x64", "16x32", "16x16"}
                  : single ? Words{"64x32", "64x64", "32x32", "32x64", "64x128", "128x64"}
                           : Words{"64x64", "64x32", "32x32", "32x64", "64x128", "128x64"},
                  {"64x128", "128x64", "16x32", "16x64", "32x16", "64x16", "16x16", "64x8", "32x8"}));
  tiles.steps = small || single ? knobs.choose("steps", {2, 1, 4, 8}) : knobs.choose("steps", {4, 1, 2, 8});
  tiles.source = knobs.flag("ldmatrix", true) ? Source::ldmatrix : Source::shared;
  tiles.swizzled = knobs.flag("swizzled", true);
  tiles.stages = knobs.choose("stages", stages_that_fit(tiles, dtype, target, {3, 2, 4, 5, 1}));
  tiles.ahead = knobs.flag("ahead", true);
  tiles.joined = tiles.ahead && tiles.stages > 1 && tiles.steps > 1 && knobs.flag("joined", true);
  tiles.late = tiles.stages > 1 && knobs.flag("late", true);
  tiles.snake = knobs.flag("snake", true);
  return tiles;
}

} // namespace

MatrixTiles choose_matrix_tiles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                                MatrixSteps steps) {
  const bool narrow = shape.size() == 3 && matrix_variant(shape, dtype).has_value();
  const bool of_units = steps.of_units || (has_wgmma(dtype, target) && knobs.flag("wgmma"));
  MatrixTiles tiles = of_units ? choose_tiles_of_units(shape, dtype, target, knobs)
                               : choose_tiles_of_warps(shape, dtype, target, knobs);
  tiles.group = rows_of_tiles(shape, tiles,
                              steps.bulk_stores ? knobs.choose("group", {16, 8, 1, 4})
                                                : knobs.choose("group", {8, 1, 4, 16}));
  if (shape.size() == 3) // without an effect if all tiles are whole
    tiles.edges = knobs.flag("edges", narrow);
  if (of_units && !steps.of_units && target.arch.has(Feature::setmaxnreg) && knobs.flag("roles"))
    steps = {.roles = true, .bulk = true, .stores = true}; // all steps of the tutorial at once
  if (may_stage(tiles, dtype, target, steps.roles))
    tiles.staged = knobs.flag("staged", steps.stores);
  if (steps.roles) {
    tiles.load = {4, target.arch.has(Feature::setmaxnreg) ? 40 : 0,
                  target.arch.has(Feature::tma) && knobs.flag("bulk", steps.bulk)};
    if (target.arch.has(Feature::setmaxnreg))
      tiles.blocks = knobs.choose("blocks", blocks_with_roles(tiles, dtype, target));
    if (tiles.blocks > 0)
      tiles.load = {tiles.load.bulk && !matrix_variant(shape, dtype) ? 1 : 4, 0, tiles.load.bulk};
    if (knobs.flag("persistent", steps.stores))
      tiles.persistent = multiprocessors(target) * std::max<std::int64_t>(1, tiles.blocks);
    tiles.early = target.arch.has(Feature::griddepcontrol) && knobs.flag("early");
    if (tiles.staged && target.arch.has(Feature::tma))
      tiles.bulk_stores = knobs.flag("bulk_stores", steps.bulk_stores);
    if (tiles.load.bulk && of_units && target.arch.has(Feature::clusters))
      tiles.cluster = steps.clusters ? knobs.choose("cluster", {2, 1}) : knobs.choose("cluster", {1, 2});
  } else {
    tiles.blocks = knobs.choose("blocks", {0, 1, 2, 3});
  }
  choose_parts(tiles, shape, tiles.steps * instruction_for(dtype).k(), knobs);
  if (!steps.persistent && !shape.stated && shape.size() == 3 && tiles.split_k == 1 && !tiles.bulk_stores) {
    const Extents extents = {shape[0], shape[1], shape[2]},
                  tile = {tiles.tile(0), tiles.tile(1), tiles.steps * instruction_for(dtype).k()};
    const std::int64_t sms = multiprocessors(target), blocks = std::max<std::int64_t>(1, tiles.blocks);
    tiles.even_places = sms * choose_even(knobs, extents, tile, target, terms_of_a_part_by_units,
                                          steps.roles ? blocks : most_resident_blocks);
    if (steps.roles && tiles.even_places == 0 && choose_helped(knobs, extents, tile, target, sms * blocks))
      tiles.helped_places = sms * blocks;
  }
  if (steps.persistent)
    tiles.persistent = places_of(tiles, dtype, target);
  return tiles;
}

} // namespace nestsmith::library
