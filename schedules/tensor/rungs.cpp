#include "schedules/tensor/rungs.h"

#include "schedules/grids.h"
#include "schedules/library/tile_knobs.h"
#include "schedules/tensor/tiles.h"
#include "schedules/workloads.h"

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

Tiles large_warps(const Shape &shape) {
  Tiles tiles = without_conflicts();
  tiles.warps = library::is_small(shape) ? Grid{2, 2} : Grid{2, 4};
  tiles.results = library::is_small(shape) ? Grid{64, 32} : Grid{64, 64};
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

using library::MatrixSteps;

Schedule schedule_of_knobs(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                           MatrixSteps steps = {}) {
  return product(shape, dtype, target, library::choose_matrix_tiles(shape, dtype, target, knobs, steps));
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
  // Small tiles wait for memory: the units need 0.07 to 0.13 us for a step, and memory answers in 0.4 us.
  add_of_units("8x1", "16x128", early, 6);
  add_of_units("8x1", "16x64", early, 8);
  add_of_units("4x1", "16x128", early, 8);
  add_of_units("4x1", "16x64", early, 6);
  add_of_units("8x1", "16x256", roles);
  add_of_units("16x1", "16x128", roles);

  // While one block writes its results, another one multiplies.
  const char *const two = "roles=true,early=true,blocks=2,", *const three = "roles=true,early=true,blocks=3,";
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
  tiles.group = library::rows_of_tiles(shape, tiles, 8);
  return product(shape, dtype, target, tiles);
}

Schedule tuned(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return schedule_of_knobs(shape, dtype, target, knobs);
}

Schedule persistent(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return schedule_of_knobs(shape, dtype, target, knobs, {.persistent = true});
}

Schedule nt(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return tuned(with_b_transposed(shape), dtype, target, knobs);
}

Schedule wgmma(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  if (!target.arch.has(Feature::wgmma) && dtype != DType::u32)
    return nt(shape, dtype, target, knobs);
  return schedule_of_knobs(with_b_transposed(shape), dtype, target, knobs, {.of_units = true});
}

/// Four warps fill the tiles of `wgmma`, or of `nt`.
static Tiles tiles_with_roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                              MatrixSteps steps) {
  steps.of_units = target.arch.has(Feature::wgmma) || dtype == DType::u32;
  steps.roles = true;
  return library::choose_matrix_tiles(with_b_transposed(shape), dtype, target, knobs, steps);
}

static Schedule with_roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                           MatrixSteps steps) {
  return product(with_b_transposed(shape), dtype, target, tiles_with_roles(shape, dtype, target, knobs, steps));
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

Schedule layer(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  const Tiles tiles =
      tiles_with_roles(shape, dtype, target, knobs, {.bulk = true, .stores = true, .bulk_stores = true});
  Schedule s(linear(with_size_of_part(shape, dtype, target, tiles), dtype), target);
  library::product(s, s.block("AB"), tiles);
  return s;
}

Schedule clusters(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return with_roles(shape, dtype, target, knobs, {.bulk = true, .stores = true, .clusters = true});
}

} // namespace nestsmith::tensor
