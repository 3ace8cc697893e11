#include "schedules/library/rows.h"

#include "dsl/expr/error.h"
#include "schedules/even_tail.h"
#include "schedules/grids.h"
#include "schedules/library/accesses.h"
#include "schedules/library/attempt.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::library {

std::array<BlockRef, 2> cut_rows(Schedule &schedule, BlockRef sum, std::int64_t row) {
  Schedule s = schedule;
  const Contraction c = contraction(s, sum, Scope::global);
  if (c.batch)
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::cut_rows: block {} has a batch, {}, outside of its rows, expected a "
                                "product of two matrices; fuse the batch with the rows, or bind it",
                                Schedule::name(sum), Schedule::name(*c.batch)));
  for (const BlockRef &result : c.results)
    s.reverse_compute_at(result, c.i);
  std::array<BlockRef, 2> sums;
  auto parts = s.cut(c.i, {row});
  for (std::size_t n = 0; n < 2; ++n) {
    sums[n] = s.blocks_below(parts[n]).front();
    for (const Loop &loop : s.fission(parts[n]))
      s.axes_from_loops(s.blocks_below(loop).front());
  }
  schedule = std::move(s);
  return sums;
}

/// The extent of a tile along k.
static std::int64_t depth_of(const Schedule &, const Contraction &, const RegisterTiles &tiles) {
  return tiles.k;
}

static std::int64_t depth_of(const Schedule &s, const Contraction &c, const MatrixTiles &tiles) {
  return tiles.steps * instruction_for(multiplied(s, c)).k();
}

static double terms_of(const RegisterTiles &) { return terms_of_a_part; }
static double terms_of(const MatrixTiles &) { return terms_of_a_part_by_units; }

/// Unequal parts need one loop for all tiles, as large loops do that blocks execute side by side. Kernels with
/// roles share it.
static PartsOfTail parts_of(const RegisterTiles &tiles) {
  return tiles.load.warps > 0 ? PartsOfTail::unequal_too : PartsOfTail::equal;
}
static PartsOfTail parts_of(const MatrixTiles &) { return PartsOfTail::equal; }
static void set_parts(RegisterTiles &tiles, const EvenTail &tail) {
  tiles.split_k = tail.parts;
  tiles.tiles_of_part = tail.of_part;
}
static void set_parts(MatrixTiles &tiles, const EvenTail &tail) { tiles.split_k = tail.parts; }

/// The blocks of a shared launch form no clusters, and no unit stores the rows of a part of the results.
static void leave_to_whole_products(RegisterTiles &) {}
static void leave_to_whole_products(MatrixTiles &tiles) {
  tiles.cluster = 1;
  tiles.bulk_stores = false;
}

/// The loops of the helpers and of the others execute side by side, and multiprocessors share a cache of
/// instructions, which does not hold two large loops (docs/gpu.md). So a large loop of the helpers gets half of
/// the steps of k.
static void shorten_loop(RegisterTiles &tiles) {
  constexpr std::int64_t bytes_of_instruction = 16, large = 24 << 10;
  const std::int64_t half = tiles.k / 2;
  if (tiles.results[0] * tiles.results[1] * tiles.k * bytes_of_instruction > large && half % 4 == 0)
    tiles.k = half;
}
static void shorten_loop(MatrixTiles &) {} // a call of matrix units is one instruction

/// The tiles of a part of the rows, of which the GPU computes `places` at one time.
template <class Tiles> static Tiles tiles_of_rows(Tiles tiles, std::int64_t places, const Target &target) {
  leave_to_whole_products(tiles);
  tiles.blocks = std::max(tiles.blocks, places / multiprocessors(target));
  return tiles;
}

struct Sizes {
  Extents extents, tile;
};

/// None if the extents are not known, if there is a batch, or if the sum is a parameter.
template <class Tiles>
static std::optional<Sizes> sizes_of(const Schedule &schedule, BlockRef sum, const Tiles &tiles) {
  if (block_of(schedule, sum).body.buffer->role != Role::temporary)
    return std::nullopt;
  Schedule s = schedule;
  const Contraction c = contraction(s, sum, Scope::global);
  auto extent_of = [&](const Loop &loop) { return as_int(find_loop(s.program().body, loop.var)->extent); };
  const auto m = extent_of(c.i), n = extent_of(c.j), k = extent_of(c.k);
  if (!m || !n || !k || c.batch)
    return std::nullopt;
  return Sizes{{*m, *n, *k}, {tiles.tile(0), tiles.tile(1), depth_of(s, c, tiles)}};
}

/// None if there is no tail with these parts, or if a directive refuses it, such as for a masked sum, whose
/// blocks leave out other tiles of k.
template <class Tiles>
static std::optional<Product> with_parts(Schedule &schedule, BlockRef sum, const Tiles &tiles,
                                         const Sizes &sizes, PartsOfTail parts) {
  const auto tail = even_tail(sizes.extents, sizes.tile, tiles.even_places, terms_of(tiles), parts);
  Product made;
  const bool fits = tail && is_changed(schedule, [&](Schedule &s) {
                      auto [whole, rest] = cut_rows(s, sum, tail->whole_rows * tiles.tile(0));
                      Tiles of_part = tiles_of_rows(tiles, tiles.even_places, s.target());
                      of_part.even_places = 0;
                      made = product(s, whole, of_part);
                      set_parts(of_part, *tail);
                      s.share_launch(product(s, rest, of_part).blocks.front());
                    });
  return fits ? std::optional(std::move(made)) : std::nullopt;
}

template <class Tiles>
static std::optional<Product> with_even_tail(Schedule &schedule, BlockRef sum, const Tiles &tiles) {
  if (tiles.even_places <= 0 || tiles.split_k != 1 || !tiles.part.empty())
    return std::nullopt;
  const std::optional<Sizes> sizes = sizes_of(schedule, sum, tiles);
  if (!sizes)
    return std::nullopt;
  if (auto made = with_parts(schedule, sum, tiles, *sizes, parts_of(tiles)))
    return made;
  return with_parts(schedule, sum, tiles, *sizes, PartsOfTail::equal);
}

template <class Tiles>
static std::optional<Product> with_helped_tail(Schedule &schedule, BlockRef sum, const Tiles &tiles) {
  if (tiles.helped_places <= 0 || tiles.split_k != 1 || !tiles.part.empty() ||
      !schedule.target().arch.has(Feature::griddepcontrol))
    return std::nullopt;
  const std::optional<Sizes> sizes = sizes_of(schedule, sum, tiles);
  const auto tail =
      sizes ? helped_tail(sizes->extents, sizes->tile, tiles.helped_places) : std::optional<HelpedTail>();
  if (!tail)
    return std::nullopt;
  Product made;
  change(schedule, [&](Schedule &s) {
    auto [whole, rest] = cut_rows(s, sum, tail->whole_rows * tiles.tile(0));
    const BlockRef helped = s.cut_sum(contraction(s, rest, Scope::global).k, tail->own * sizes->tile[2]);
    Tiles of_part = tiles_of_rows(tiles, tiles.helped_places, s.target());
    of_part.helped_places = 0;
    of_part.early = true;
    Tiles of_helpers = of_part;
    of_helpers.apart = true;
    of_helpers.persistent = tail->helpers;
    shorten_loop(of_helpers);
    product(s, helped, of_helpers);
    made = product(s, whole, of_part);
    s.share_launch(product(s, rest, of_part).blocks.front());
  });
  return made;
}

template <class Tiles> static std::optional<Product> with_tail(Schedule &s, BlockRef sum, const Tiles &tiles) {
  if (std::optional<Product> made = with_helped_tail(s, sum, tiles))
    return made;
  return with_even_tail(s, sum, tiles);
}

std::optional<Product> product_with_tail(Schedule &s, BlockRef sum, const RegisterTiles &tiles) {
  return with_tail(s, sum, tiles);
}

std::optional<Product> product_with_tail(Schedule &s, BlockRef sum, const MatrixTiles &tiles) {
  return with_tail(s, sum, tiles);
}

} // namespace nestsmith::library
