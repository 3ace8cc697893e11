#include "schedules/library/rows.h"

#include "dsl/expr/error.h"
#include "schedules/library/accesses.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"

#include <algorithm>
#include <cmath>
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

/// The time, in times of a whole tile, after which places that begin at two times have executed `count` pieces
/// of `length`: `late` places begin one unit after the others.
static double end_of(std::int64_t count, double length, std::int64_t places, std::int64_t late) {
  double low = 0, high = 1 + length * static_cast<double>(count);
  for (int n = 0; n < 50; ++n) {
    double end = (low + high) / 2;
    auto done = [&](double time) { return time < 0 ? 0.0 : std::floor(time / length + 1e-9); };
    bool enough = static_cast<double>(places - late) * done(end) + static_cast<double>(late) * done(end - 1) >=
                  static_cast<double>(count);
    (enough ? high : low) = end;
  }
  return std::max(high, late > 0 ? 1.0 : 0.0);
}

std::optional<EvenTail> even_tail(const Extents &extents, const Extents &tile, std::int64_t places,
                                  double terms) {
  constexpr std::int64_t most_parts = 16, fewest_tiles = 4;
  constexpr double gain = 0.02;   // less than this is not worth another nest
  constexpr double of_a_part = 1; // time of the start of a part, in tiles of k
  if (std::ranges::min(extents) < 1 || std::ranges::min(tile) < 1 || places < 1)
    return std::nullopt; // no product
  auto count = [&](std::size_t side) { return (extents[side] + tile[side] - 1) / tile[side]; };
  const std::int64_t rows = count(0), columns = count(1), k_tiles = count(2), tiles = rows * columns;
  double best = std::ceil(static_cast<double>(tiles) / static_cast<double>(places)) * (1 - gain);
  std::optional<EvenTail> found;
  const std::int64_t most_rows = (2 * places + columns - 1) / columns; // two waves of tiles at most are a tail
  for (std::int64_t whole = std::max<std::int64_t>(1, rows - most_rows); whole < rows; ++whole) {
    const std::int64_t before = whole * columns / places, late = whole * columns % places,
                       rest = (rows - whole) * columns;
    for (std::int64_t parts = 2; parts <= std::min(most_parts, k_tiles / fewest_tiles); ++parts) {
      double length = 1.0 / static_cast<double>(parts) + of_a_part / static_cast<double>(k_tiles);
      const double of_sum = terms * static_cast<double>(parts) / static_cast<double>(extents[2]);
      double time = static_cast<double>(before) + end_of(rest * parts, length, places, late) + of_sum;
      if (time < best) {
        best = time;
        found = EvenTail{whole, parts};
      }
    }
  }
  return found;
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

template <class Tiles>
static Product with_even_tail(Schedule &schedule, BlockRef sum, const Tiles &tiles, std::int64_t places) {
  Schedule s = schedule;
  const Contraction c = contraction(s, sum, Scope::global);
  auto extent_of = [&](const Loop &loop) { return as_int(find_loop(s.program().body, loop.var)->extent); };
  auto m = extent_of(c.i), n = extent_of(c.j), k = extent_of(c.k);
  std::optional<EvenTail> tail;
  if (m && n && k && !c.batch && tiles.split_k == 1 && tiles.tiles_of_part == 0)
    tail =
        even_tail({*m, *n, *k}, {tiles.tile(0), tiles.tile(1), depth_of(s, c, tiles)}, places, terms_of(tiles));
  if (!tail)
    return product(schedule, sum, tiles);
  s = schedule;
  auto [whole, rest] = cut_rows(s, sum, tail->whole_rows * tiles.tile(0));
  Product made = product(s, whole, tiles);
  Tiles in_parts = tiles;
  in_parts.split_k = tail->parts;
  s.share_launch(product(s, rest, in_parts).blocks.front());
  schedule = std::move(s);
  return made;
}

Product product_with_even_tail(Schedule &s, BlockRef sum, const RegisterTiles &tiles, std::int64_t places) {
  return with_even_tail(s, sum, tiles, places);
}

Product product_with_even_tail(Schedule &s, BlockRef sum, const MatrixTiles &tiles, std::int64_t places) {
  return with_even_tail(s, sum, tiles, places);
}

} // namespace nestsmith::library
