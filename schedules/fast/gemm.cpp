#include "schedules/fast/rungs.h"
#include "schedules/grids.h"
#include "schedules/library/fragments.h"
#include "schedules/library/tile_knobs.h"
#include "schedules/tensor/rungs.h"
#include "schedules/tensor/tiles.h"
#include "schedules/workloads.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace nestsmith::fast {

std::optional<Variant> variant(const Shape &shape, DType dtype) {
  return library::register_variant(shape, dtype);
}

static Schedule scheduled(const Shape &shape, DType dtype, const Target &target,
                          const library::RegisterTiles &tiles) {
  const Shape with_part =
      library::with_size_of_part(shape, tiles.part, {tiles.tile(0), tiles.tile(1), tiles.k}, target);
  Schedule s(nestsmith::gemm(with_part, dtype), target);
  library::product(s, s.block("AB"), tiles);
  return s;
}

/// Register tiles with 128-bit accesses, by `library::product`. If `split_k` is more than 1, this number of
/// blocks shares a tile, and each multiplies a part of k.
static Schedule gemm_of_blocks(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                               bool persistent) {
  nestsmith::gemm(shape, dtype); // refuses shapes that are no product
  return scheduled(shape, dtype, target,
                   library::choose_register_tiles(shape, dtype, target, knobs, persistent));
}

Schedule gemm(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  return gemm_of_blocks(shape, dtype, target, knobs, false);
}

Schedule roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  nestsmith::gemm(shape, dtype); // refuses shapes that are no product
  return scheduled(shape, dtype, target,
                   library::choose_register_tiles_with_roles(shape, dtype, target, knobs));
}

namespace {

/// Points with tiles of all useful sizes. A tile that is small has many blocks on a multiprocessor, which hide
/// the latency of each other. A large one reads less, and hides the latency by copies in flight. Of the ways to
/// bring a tile, the list has the fastest ones of an H100.
std::vector<std::string> points_of_gemm() {
  struct Way {
    const char *knobs;
    std::vector<const char *> tiles; ///< "warps results"
  };
  const std::vector<Way> ways = {
      {"prefetch=true,fragments=true,snake=true,last_k=true,bk=16",
       {"1x1 4x4", "1x2 4x4", "2x1 4x4", "2x2 4x4", "4x1 4x4", "1x4 4x4", "4x2 4x4", "4x2 4x8", "2x2 8x4"}},
      {"prefetch=true,snake=true,last_k=true,columns=true,bk=32", {"2x1 4x4"}},
      {"async=true,fragments=true,joined=true,spread=true,snake=true,last_k=true,stages=3,bk=32",
       {"2x2 4x4", "1x4 4x4"}},
      {"async=true,fragments=true,joined=true,spread=true,snake=true,last_k=true,stages=3,columns=true,bk=16",
       {"2x1 4x8", "4x1 4x8", "2x2 4x8", "4x2 4x8", "2x4 4x8"}},
      {"async=true,fragments=true,joined=true,spread=true,snake=true,last_k=true,stages=3,bk=16",
       {"2x1 8x4", "1x4 8x4", "2x2 8x4", "4x2 8x4"}},
      {"async=true,fragments=true,joined=true,spread=true,snake=true,last_k=true,stages=3,columns=true,bk=16,"
       "group=4",
       {"1x2 8x8", "2x1 8x8", "2x2 8x8", "4x1 8x8", "1x4 8x8", "4x2 8x8", "2x4 8x8"}},
      {"prefetch=true,fragments=true,columns=true,snake=true,last_k=true,bk=8,group=4",
       {"2x2 8x8", "4x1 8x8", "2x2 8x12"}},
      {"prefetch=true,fragments=true,snake=true,last_k=true,bk=8,group=4", {"2x2 12x8", "4x2 12x8"}},
      {"async=true,fragments=true,joined=true,spread=true,snake=true,last_k=true,stages=3,bk=16,group=4,blocks="
       "1",
       {"2x4 16x8"}},
      {"async=true,fragments=true,joined=true,spread=true,snake=true,last_k=true,stages=4,columns=true,bk=16,"
       "group=4,"
       "blocks=1",
       {"4x2 8x16"}},
  };
  std::vector<std::string> points;
  for (const auto &[knobs, tiles] : ways)
    for (const std::string tile : tiles)
      points.push_back(
          fmt::format("warps={},results={},lanes=4x8,{}", tile.substr(0, 3), tile.substr(4), knobs));
  // Four warps fill the tiles, in a target whose warps move registers. Blocks of tiles that take a time like
  // that of a launch begin before the launch before them ends.
  auto add_with_roles = [&](const char *warps, const char *results, const char *more = "") {
    points.push_back(fmt::format("roles=true,warps={},results={},stages=4,bulk=true{}", warps, results, more));
  };
  for (const char *warps : {"2x4", "4x2"})
    add_with_roles(warps, "16x8");
  add_with_roles("4x2", "16x8", ",group=1"); // tiles at the edges have code of their own
  add_with_roles("2x2", "16x8", ",early=true");
  for (const char *warps : {"4x2", "2x4", "2x2"})
    add_with_roles(warps, "8x8", ",early=true");
  return points;
}

} // namespace

/// Ring mode (u32) stands for f32.
static bool is_multiplied_by_matrix_units(DType dtype) {
  return dtype != DType::u32 &&
         std::ranges::find(library::matrix_dtypes, dtype) != library::matrix_dtypes.end();
}

Schedule best(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  bool units = is_multiplied_by_matrix_units(dtype) && target.arch.has(Feature::cp_async);
  return units ? tensor::tuned(shape, dtype, target, knobs) : gemm(shape, dtype, target, knobs);
}

Schedule persistent(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  bool units = is_multiplied_by_matrix_units(dtype) && target.arch.has(Feature::cp_async);
  return units ? tensor::persistent(shape, dtype, target, knobs)
               : gemm_of_blocks(shape, dtype, target, knobs, true);
}

std::optional<Variant> best_variant(const Shape &shape, DType dtype) {
  return is_multiplied_by_matrix_units(dtype) ? tensor::variant(shape, dtype) : variant(shape, dtype);
}

KernelSpace gemm_kernels() {
  return {
      .tile = [](const KnobValues &knobs, DType) -> std::array<std::int64_t, 3> {
        auto grid = [&](const char *knob) { return grid_of(knobs.at(knob)); };
        Grid warps = grid("warps"), results = grid("results");
        const Grid lanes = knobs.contains("lanes") ? grid("lanes") : Grid{4, 8}; // with roles
        return {warps[0] * lanes[0] * results[0], warps[1] * lanes[1] * results[1], std::stoll(knobs.at("bk"))};
      },
      .parts = "split_k",
      .even = "even",
      .points = points_of_gemm()};
}

} // namespace nestsmith::fast
