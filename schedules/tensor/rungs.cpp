#include "schedules/tensor/rungs.h"

#include "schedules/even_tail.h"
#include "schedules/grids.h"
#include "schedules/library/row_stores.h"
#include "schedules/tensor/tiles.h"
#include "schedules/variant.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>

namespace nestsmith::tensor {

namespace {

/// 16 warps, one instruction each for a step of k: 64 x 32 results.
Tiles sixteen_warps() {
  return {.warps = {4, 4}, .results = {16, 8}, .steps = 2, .source = Source::shared, .swizzled = false};
}

Tiles by_ldmatrix() {
  Tiles tiles = sixteen_warps();
  tiles.source = Source::ldmatrix;
  return tiles;
}

Tiles without_conflicts() {
  Tiles tiles = by_ldmatrix();
  tiles.swizzled = true;
  return tiles;
}

/// A small result needs small tiles, so that there are enough blocks for all SMs. A size that is known only at
/// launch may be small.
bool is_small(const Shape &shape) {
  return shape.stated || shape.size() != 3 || shape[0] * shape[1] < 2048 * 2048;
}

Tiles large_warps(const Shape &shape) {
  Tiles tiles = without_conflicts();
  tiles.warps = is_small(shape) ? Grid{2, 2} : Grid{2, 4};
  tiles.results = is_small(shape) ? Grid{64, 32} : Grid{64, 64};
  return tiles;
}

Tiles in_flight(const Shape &shape, std::int64_t stages) {
  Tiles tiles = large_warps(shape);
  tiles.stages = stages;
  return tiles;
}

Tiles with_ahead(const Shape &shape) {
  Tiles tiles = in_flight(shape, 3);
  tiles.ahead = true;
  return tiles;
}

Tiles with_joined(const Shape &shape) {
  Tiles tiles = with_ahead(shape);
  tiles.joined = true;
  return tiles;
}

/// The largest group of at most `most` tiles that has no more rows of tiles than the result. If M is known only
/// at launch, 1: the blocks of a group that begins in the last rows would need guards.
std::int64_t rows_of_tiles(const Shape &shape, const Tiles &tiles, std::int64_t most) {
  if (shape.stated || shape.size() != 3) // `product` refuses other shapes
    return 1;
  return std::clamp<std::int64_t>((shape[0] - 1) / tiles.tile(0) + 1, 1, most);
}

/// The bytes of the tiles of both operands, of one stage.
std::int64_t bytes_of_stage(const Tiles &tiles, DType dtype) {
  const std::int64_t k = tiles.steps * instruction_for(dtype).k();
  return (tiles.tile(0) + tiles.tile(1)) * k * byte_size(dtype);
}

/// Candidates for the number of stages, for which the tiles fit in shared memory; 3 first, if it fits.
std::vector<std::int64_t> stages_that_fit(const Tiles &tiles, DType dtype, const Target &target) {
  const std::int64_t stage = bytes_of_stage(tiles, dtype);
  std::vector<std::int64_t> candidates = {3, 2, 4, 5, 1};
  std::erase_if(candidates, [&](std::int64_t n) { return n > 1 && n * stage > target.shared_bytes_per_block; });
  return candidates;
}

/// The bytes of shared memory of a block with roles: tiles, events and, unless 0, rows of results.
std::int64_t bytes_with_roles(const Tiles &tiles, DType dtype, std::int64_t columns_of_rows) {
  return tiles.stages * (bytes_of_stage(tiles, dtype) + 16) +
         tiles.tile(0) * tiles.warps[1] * columns_of_rows * 4;
}

/// Whether there is room for rows of results in shared memory, which have the memory of the tiles if there are
/// no roles.
bool may_stage(const Tiles &tiles, DType dtype, const Target &target, bool roles) {
  return tiles.results[1] % library::staged_columns == 0 &&
         (!roles || bytes_with_roles(tiles, dtype, library::staged_columns) <= target.shared_bytes_per_block);
}

/// Candidates for the blocks with roles on a multiprocessor that share its registers alike, if they fit. 0: one
/// block, whose warps move registers.
std::vector<std::int64_t> blocks_with_roles(const Tiles &tiles, DType dtype, const Target &target) {
  std::vector<std::int64_t> candidates = {0};
  const std::int64_t bytes = bytes_with_roles(tiles, dtype, tiles.staged ? library::staged_columns : 0);
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
std::int64_t places_of(const Tiles &tiles, DType dtype, const Target &target) {
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

/// Tiles that matrix units read themselves.
Tiles choose_tiles_of_units(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  const bool small = is_small(shape);
  Tiles tiles = {.steps = 4, .source = Source::tiles};
  tiles.warps = choose_grid(knobs, "warps",
                            small ? Words{"4x1", "8x1", "4x2", "8x2", "16x1", "12x1"}
                                  : Words{"8x1", "4x1", "4x2", "8x2", "16x1", "12x1"});
  tiles.results = choose_grid(knobs, "results",
                              small ? Words{"16x64", "16x128", "16x192", "16x256"}
                                    : Words{"16x256", "16x128", "16x192", "16x64"});
  std::vector<std::int64_t> stages = stages_that_fit(tiles, dtype, target);
  std::ranges::stable_partition(stages, [](std::int64_t n) { return n == 4; });
  tiles.stages = knobs.choose("stages", stages);
  if (tiles.stages > 2)
    tiles.in_flight = knobs.flag("in_flight", true) ? 1 : 0;
  tiles.late = tiles.stages > 1 && knobs.flag("late", true);
  return tiles;
}

/// Tiles from which warps load the operands of their matrix units.
Tiles choose_tiles_of_warps(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Tiles tiles;
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
  tiles.stages = knobs.choose("stages", stages_that_fit(tiles, dtype, target));
  tiles.ahead = knobs.flag("ahead", true);
  tiles.joined = tiles.ahead && tiles.stages > 1 && tiles.steps > 1 && knobs.flag("joined", true);
  tiles.late = tiles.stages > 1 && knobs.flag("late", true);
  tiles.snake = knobs.flag("snake", true);
  return tiles;
}

struct Choice {
  bool persistent = false; ///< with as many blocks as the GPU executes at one time
  bool of_units = false;   ///< always with tiles that matrix units read themselves
  bool roles = false;      ///< four warps fill the tiles
  bool bulk = false;       ///< one of their threads starts bulk copies, if the target has them
  bool stores = false;     ///< blocks compute tiles in waves, and write whole rows of them
  bool clusters = false;   ///< two blocks form a cluster, and copy halves of tiles for each other
};

Schedule chosen(const Shape &shape, DType dtype, const Target &target, Knobs &knobs, Choice choice = {}) {
  const bool narrow = shape.size() == 3 && variant(shape, dtype).has_value();
  const bool of_units = choice.of_units || (has_wgmma(dtype, target) && knobs.flag("wgmma"));
  Tiles tiles = of_units ? choose_tiles_of_units(shape, dtype, target, knobs)
                         : choose_tiles_of_warps(shape, dtype, target, knobs);
  tiles.group = rows_of_tiles(shape, tiles, knobs.choose("group", {8, 1, 4, 16}));
  if (shape.size() == 3) // without an effect if all tiles are whole
    tiles.edges = knobs.flag("edges", narrow);
  if (of_units && !choice.of_units && target.arch.has(Feature::setmaxnreg) && knobs.flag("roles"))
    choice = {.roles = true, .bulk = true, .stores = true}; // all steps of the tutorial at once
  if (may_stage(tiles, dtype, target, choice.roles))
    tiles.staged = knobs.flag("staged", choice.stores);
  if (choice.roles) {
    tiles.load = {4, target.arch.has(Feature::setmaxnreg) ? 40 : 0,
                  target.arch.has(Feature::tma) && knobs.flag("bulk", choice.bulk)};
    if (target.arch.has(Feature::setmaxnreg))
      tiles.blocks = knobs.choose("blocks", blocks_with_roles(tiles, dtype, target));
    if (tiles.blocks > 0)
      tiles.load = {tiles.load.bulk && !variant(shape, dtype) ? 1 : 4, 0, tiles.load.bulk};
    if (knobs.flag("persistent", choice.stores))
      tiles.persistent = multiprocessors(target) * std::max<std::int64_t>(1, tiles.blocks);
    tiles.early = target.arch.has(Feature::griddepcontrol) && knobs.flag("early");
    if (tiles.staged && target.arch.has(Feature::tma))
      tiles.bulk_stores = knobs.flag("bulk_stores");
    if (tiles.load.bulk && of_units && target.arch.has(Feature::clusters))
      tiles.cluster = choice.clusters ? knobs.choose("cluster", {2, 1}) : knobs.choose("cluster", {1, 2});
  } else {
    tiles.blocks = knobs.choose("blocks", {0, 1, 2, 3});
  }
  if (std::vector<std::int64_t> parts = parts_of_k(shape, tiles.steps * instruction_for(dtype).k());
      parts.size() > 1)
    tiles.split_k = knobs.choose("split_k", parts);
  if (shape.stated)
    tiles.tiles_of_part = knobs.choose("tiles_of_part", tiles_of_parts);
  if (tiles.split_k > 1 || tiles.tiles_of_part > 0)
    tiles.two_kernels = knobs.flag("two_kernels");
  if (!choice.persistent && !shape.stated && shape.size() == 3 && tiles.split_k == 1) {
    const std::int64_t even =
        choose_even(knobs, {shape[0], shape[1], shape[2]},
                    {tiles.tile(0), tiles.tile(1), tiles.steps * instruction_for(dtype).k()}, target,
                    terms_of_a_part_by_units,
                    choice.roles ? std::max<std::int64_t>(1, tiles.blocks) : most_resident_blocks);
    tiles.even_places = even * multiprocessors(target);
  }
  if (choice.persistent)
    tiles.persistent = places_of(tiles, dtype, target);
  return product(shape, dtype, target, tiles);
}

/// Points with tiles of all useful sizes: those that tables of an H100 or an H200 kept, and others like them.
std::vector<std::string> points_of_tuned() {
  std::vector<std::string> points;
  auto add = [&](const char *warps, const char *results, int steps, int stages) {
    points.push_back(fmt::format("warps={},results={},steps={},stages={},blocks=0,edges=true", warps, results,
                                 steps, stages));
  };
  for (const char *warps : {"2x4", "2x2"})
    add(warps, "64x64", 2, 3);
  for (const char *warps : {"2x4", "2x2", "1x4"})
    add(warps, "64x32", 4, 3);
  add("2x2", "32x64", 4, 3);
  for (const char *warps : {"4x2", "2x2"})
    add(warps, "32x32", 4, 3);
  for (const char *warps : {"2x2", "2x4"})
    add(warps, "64x32", 2, 4);
  add("2x1", "16x64", 4, 4);
  for (const char *warps : {"2x2", "4x1"})
    add(warps, "16x32", 4, 4);
  add("1x4", "16x16", 4, 4);

  auto add_of_units = [&](const char *warps, const char *results, const char *others, int stages = 4) {
    points.push_back(
        fmt::format("wgmma=true,{}warps={},results={},stages={},edges=true", others, warps, results, stages));
  };
  for (const char *results : {"16x256", "16x192", "16x128", "16x64"})
    add_of_units("8x1", results, "");
  for (const char *results : {"16x256", "16x128", "16x64"})
    add_of_units("4x1", results, "");
  add_of_units("16x1", "16x128", "");
  add_of_units("4x2", "16x128", "");

  // Blocks of tiles that take a time like that of a launch begin before the launch before them ends.
  const char *const roles = "roles=true,", *const early = "roles=true,early=true,";
  for (const char *results : {"16x256", "16x192", "16x128", "16x64"})
    add_of_units("8x1", results, early);
  for (const char *results : {"16x256", "16x128", "16x64"})
    add_of_units("4x1", results, early);
  for (const char *results : {"16x128", "16x64"})
    add_of_units("16x1", results, early);
  add_of_units("8x1", "16x256", roles);
  add_of_units("16x1", "16x128", roles);

  // While one block writes its results, another one multiplies.
  const char *const two = "roles=true,early=true,blocks=2,", *const three = "roles=true,early=true,blocks=3,";
  add_of_units("8x1", "16x128", two, 3);
  add_of_units("8x1", "16x64", two);
  add_of_units("4x1", "16x128", two);
  add_of_units("4x1", "16x64", three);
  return points;
}

} // namespace

KernelSpace tuned_kernels() {
  return {.tile = [](const KnobValues &knobs, DType dtype) -> std::array<std::int64_t, 3> {
            Grid warps = grid_of(knobs.at("warps")), results = grid_of(knobs.at("results"));
            const auto steps = knobs.find("steps"); // of tiles that the units read: 4
            return {warps[0] * results[0], warps[1] * results[1],
                    (steps == knobs.end() ? 4 : std::stoll(steps->second)) * instruction_for(dtype).k()};
          },
          .parts = "split_k",
          .with_parts = {"", "two_kernels=true"},
          .even = "even",
          .points = points_of_tuned()};
}

Schedule mma(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, {.warps = {1, 8}, .source = Source::global, .swizzled = false});
}

Schedule shared(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, sixteen_warps());
}

Schedule ldmatrix(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, by_ldmatrix());
}

Schedule swizzled(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, without_conflicts());
}

Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, large_warps(shape));
}

Schedule async2(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, in_flight(shape, 2));
}

Schedule async3(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, in_flight(shape, 3));
}

Schedule async4(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, in_flight(shape, 4));
}

Schedule ahead(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, with_ahead(shape));
}

Schedule joined(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, with_joined(shape));
}

Schedule grouped(const Shape &shape, DType dtype, const Target &target) {
  Tiles tiles = with_joined(shape);
  tiles.group = rows_of_tiles(shape, tiles, 8);
  return product(shape, dtype, target, tiles);
}

Schedule tuned(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return chosen(shape, dtype, target, knobs);
}

Schedule persistent(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return chosen(shape, dtype, target, knobs, {.persistent = true});
}

Schedule nt(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return tuned(with_b_transposed(shape), dtype, target, knobs);
}

Schedule wgmma(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  if (!target.arch.has(Feature::wgmma) && dtype != DType::u32)
    return nt(shape, dtype, target, knobs);
  return chosen(with_b_transposed(shape), dtype, target, knobs, {.of_units = true});
}

/// Four warps fill the tiles of `wgmma`, or of `nt`.
static Schedule with_roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs, Choice choice) {
  choice.of_units = target.arch.has(Feature::wgmma) || dtype == DType::u32;
  choice.roles = true;
  return chosen(with_b_transposed(shape), dtype, target, knobs, choice);
}

Schedule roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return with_roles(shape, dtype, target, knobs, {});
}

Schedule bulk(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return with_roles(shape, dtype, target, knobs, {.bulk = true});
}

Schedule stores(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return with_roles(shape, dtype, target, knobs, {.bulk = true, .stores = true});
}

Schedule clusters(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return with_roles(shape, dtype, target, knobs, {.bulk = true, .stores = true, .clusters = true});
}

} // namespace nestsmith::tensor
