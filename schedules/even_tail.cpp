#include "schedules/even_tail.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace nestsmith {

/// The time, in times of a whole tile, after which places that begin at two times have executed `count` pieces
/// of `length`: `late` places begin one unit after the others.
static double end_of(std::int64_t count, double length, std::int64_t places, std::int64_t late) {
  auto done_at = [&](double time) { return time < 0 ? 0.0 : std::floor(time / length + 1e-9); };
  auto of = [](std::int64_t n) { return static_cast<double>(n); };
  // Pieces that could be divided would end here. The end is one of the next times at which a piece ends.
  double end = of(count) * length / of(places - late);
  if (end > 1)
    end = (of(count) * length + of(late)) / of(places);
  while (of(places - late) * done_at(end) + of(late) * done_at(end - 1) < of(count)) {
    const double early = length * (done_at(end) + 1);
    end = late > 0 ? std::min(early, 1 + length * (end < 1 ? 1 : done_at(end - 1) + 1)) : early;
  }
  return late > 0 ? std::max(end, 1.0) : end;
}

namespace {

/// When the places of a GPU are free, in tiles of k, and how many of them.
class Places {
public:
  explicit Places(std::int64_t count) { free_[0] = count; }

  /// Executes `count` blocks that take `time` each, in order: each in the place that is free first.
  void execute(std::int64_t count, double time) {
    while (count > 0) {
      auto first = free_.begin();
      const std::int64_t taken = std::min(count, first->second);
      count -= taken;
      const double end = first->first + time;
      first->second -= taken;
      if (first->second == 0)
        free_.erase(first);
      free_[end] += taken;
    }
  }
  double end() const { return free_.rbegin()->first; }

private:
  std::map<double, std::int64_t> free_;
};

constexpr std::int64_t fewest_tiles = 4; ///< of k, in a part

struct Rows {
  std::int64_t whole, all; ///< rows of tiles
  std::int64_t columns, k_tiles;
};

/// The best length of the longer of two parts. It is a multiple of 4 tiles of k: with 4 stages and such a
/// depth, all tiles end in the same slot. On an H200, a part of a tile of 128x256 takes the time of about 2
/// tiles of k more than its multiplications, compared with a whole tile. The shorter parts count for one more:
/// if one of them does not fit beside the longer parts, all of it comes after them.
EvenTail in_two_parts(const Rows &rows, std::int64_t places) {
  constexpr std::int64_t unit = 4, candidates = 128;
  constexpr double of_longer = 2, of_shorter = 3;
  const auto k_tiles = static_cast<double>(rows.k_tiles);
  const std::int64_t whole = rows.whole * rows.columns, waves = whole / places,
                     rest = (rows.all - rows.whole) * rows.columns;
  Places before(places);
  before.execute(whole % places, k_tiles);
  EvenTail best{rows.whole, 2, 0, std::numeric_limits<double>::infinity()};
  const std::int64_t step = (rows.k_tiles / candidates / unit + 1) * unit;
  for (std::int64_t longer = rows.k_tiles / 2 / unit * unit + unit; longer <= rows.k_tiles - fewest_tiles;
       longer += step) {
    Places gpu = before;
    gpu.execute(rest, static_cast<double>(longer) + of_longer);
    gpu.execute(rest, static_cast<double>(rows.k_tiles - longer) + of_shorter);
    const double time = static_cast<double>(waves) + gpu.end() / k_tiles;
    if (time < best.waves)
      best = {rows.whole, 2, longer, time};
  }
  return best;
}

} // namespace

std::optional<EvenTail> even_tail(const Extents &extents, const Extents &tile, std::int64_t places,
                                  double terms, PartsOfTail of_tail) {
  constexpr std::int64_t most_parts = 16;
  // Less than this is not worth another nest, or parts that are harder to predict.
  constexpr double gain = 0.02, gain_of_two = 0.01, gain_over_equal = 0.005;
  constexpr double of_a_part = 4; // time to fill the pipeline and to store a part, in tiles of k
  if (std::ranges::min(extents) < 1 || std::ranges::min(tile) < 1 || places < 1)
    return std::nullopt; // no product
  auto count = [&](std::size_t side) { return (extents[side] + tile[side] - 1) / tile[side]; };
  const std::int64_t rows = count(0), columns = count(1), k_tiles = count(2), tiles = rows * columns;
  const double least = static_cast<double>(tiles) / static_cast<double>(places);
  double best = std::ceil(least) * (1 - gain);
  std::optional<EvenTail> found;
  const std::int64_t most_rows = (2 * places + columns - 1) / columns; // two waves of tiles at most are a tail
  // No time is below the least one.
  const std::int64_t fewest_rows = least < best ? std::max<std::int64_t>(1, rows - most_rows) : rows;
  for (std::int64_t whole = fewest_rows; whole < rows; ++whole) {
    const std::int64_t before = whole * columns / places, late = whole * columns % places,
                       rest = (rows - whole) * columns;
    for (std::int64_t parts = 2; parts <= std::min(most_parts, k_tiles / fewest_tiles); ++parts) {
      double length = 1.0 / static_cast<double>(parts) + of_a_part / static_cast<double>(k_tiles);
      const double of_sum = terms * static_cast<double>(parts) / static_cast<double>(extents[2]);
      double time = static_cast<double>(before) + end_of(rest * parts, length, places, late) + of_sum;
      if (time < best) {
        best = time;
        found = EvenTail{whole, parts, 0, time - of_sum};
      }
    }
  }
  if (of_tail == PartsOfTail::unequal_too && rows > 1 && k_tiles >= 2 * fewest_tiles) {
    const double of_sum = 2 * terms / static_cast<double>(extents[2]);
    best = found ? best * (1 - gain_over_equal) : std::ceil(least) * (1 - gain_of_two);
    // The rows that full waves compute, or one less.
    const std::int64_t most = std::clamp<std::int64_t>(tiles / places * places / columns, 1, rows - 1);
    for (std::int64_t whole : {most, most - 1})
      if (const EvenTail two = in_two_parts({std::max<std::int64_t>(whole, 1), rows, columns, k_tiles}, places);
          two.waves + of_sum < best) {
        best = two.waves + of_sum;
        found = two;
      }
  }
  return found;
}

namespace {

/// Tiles of k that take as long as the start of a block, and as the sums that it stores or adds.
constexpr double of_start = 2, of_stored = 2;

/// The time of a product whose last rows are helped, in tiles of k.
double time_of(const HelpedTail &tail, std::int64_t tiles, std::int64_t helped, std::int64_t k_tiles,
               std::int64_t places) {
  auto of = [](std::int64_t n) { return static_cast<double>(n); };
  Places gpu(places);
  auto in_waves = [&](std::int64_t count, std::int64_t blocks, double time) {
    const std::int64_t waves = count / blocks, more = count % blocks;
    gpu.execute(more, of_start + of(waves + 1) * time);
    if (waves > 0)
      gpu.execute(blocks - more, of_start + of(waves) * time);
  };
  in_waves(helped, tail.helpers, of(k_tiles - tail.own) + of_stored);
  in_waves(tiles - helped, places, of(k_tiles));
  gpu.execute(helped, of_start + of(tail.own) + of_stored);
  return gpu.end();
}

} // namespace

std::optional<HelpedTail> helped_tail(const Extents &extents, const Extents &tile, std::int64_t places) {
  constexpr double gain = 0.01;                      // less than this is not worth another kernel
  constexpr std::int64_t steps = 24, most_rows = 16; // candidates
  if (std::ranges::min(extents) < 1 || std::ranges::min(tile) < 1 || places < 2)
    return std::nullopt;
  auto count = [&](std::size_t side) { return (extents[side] + tile[side] - 1) / tile[side]; };
  const std::int64_t rows = count(0), columns = count(1), k_tiles = count(2), tiles = rows * columns;
  const std::int64_t waves = (tiles + places - 1) / places;
  const double without = of_start + static_cast<double>(waves * k_tiles);
  std::optional<HelpedTail> found;
  double best = without * (1 - gain);
  const std::int64_t most = std::min(rows - 1, places / columns);
  for (std::int64_t last = most; last > std::max<std::int64_t>(0, most - most_rows); --last)
    for (std::int64_t n = 1; n <= steps; ++n) {
      HelpedTail tail{rows - last, 0, k_tiles - k_tiles * n / (2 * steps), 0};
      const std::int64_t helped = last * columns, given = k_tiles - tail.own;
      if (given < 1 || (n > 1 && given == k_tiles * (n - 1) / (2 * steps)))
        continue;
      // A helper ends before the blocks of the tiles add its sums.
      const std::int64_t of_helper =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(tail.own) /
                                                              (static_cast<double>(given) + of_stored)));
      tail.helpers = (helped + of_helper - 1) / of_helper;
      if (tail.helpers >= places)
        continue;
      const double time = time_of(tail, tiles, helped, k_tiles, places);
      if (time < best) {
        best = time;
        tail.waves = time / static_cast<double>(k_tiles);
        found = tail;
      }
    }
  return found;
}

std::int64_t choose_even(Knobs &knobs, const Extents &extents, const Extents &tile, const Target &target,
                         double terms, std::int64_t most_blocks, PartsOfTail parts) {
  std::vector<std::int64_t> candidates = {0};
  for (std::int64_t blocks = 1; blocks <= most_blocks; ++blocks)
    if (even_tail(extents, tile, blocks * multiprocessors(target), terms, parts))
      candidates.push_back(blocks);
  return candidates.size() > 1 ? knobs.choose("even", candidates) : 0;
}

bool choose_helped(Knobs &knobs, const Extents &extents, const Extents &tile, const Target &target,
                   std::int64_t places) {
  return target.arch.has(Feature::griddepcontrol) && helped_tail(extents, tile, places) && knobs.flag("helped");
}

} // namespace nestsmith
