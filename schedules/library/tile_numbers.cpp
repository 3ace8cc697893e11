#include "schedules/library/tile_numbers.h"

#include "dsl/expr/error.h"

#include <bit>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace nestsmith::library {

namespace {

struct Number {
  std::string_view name;
  std::int64_t value, least;
};

class Checker {
public:
  explicit Checker(BlockRef sum) : sum_(sum) {}

  [[noreturn]] void refuse(const std::string &why) const {
    throw UserError(ExitCode::illegal_schedule,
                    fmt::format("library::product: block {}: {}", Schedule::name(sum_), why));
  }

  void at_least(const std::vector<Number> &numbers) const {
    for (const auto &[name, value, least] : numbers)
      if (value < least)
        refuse(fmt::format("got {} = {}, expected at least {}", name, value, least));
  }

  void grid(std::string_view name, const Grid &grid) const {
    if (grid[0] < 1 || grid[1] < 1)
      refuse(fmt::format("got {} = {}x{}, expected at least 1x1", name, grid[0], grid[1]));
  }

  /// The results of a thread, or of a warp.
  void results(std::string_view of, const Grid &results, const Grid &multiple) const {
    if (results[0] >= 1 && results[1] >= 1 && results[0] % multiple[0] == 0 && results[1] % multiple[1] == 0)
      return;
    refuse(fmt::format("got {}x{} results of a {}, expected multiples of {}", results[0], results[1], of,
                       multiple[0] == multiple[1] ? std::to_string(multiple[0])
                                                  : fmt::format("{} and of {}", multiple[0], multiple[1])));
  }

  void width(std::int64_t width) const {
    if (width < 1 || !std::has_single_bit(static_cast<std::uint64_t>(width)))
      refuse(fmt::format("got width = {} elements of one access, expected a power of 2", width));
  }

private:
  BlockRef sum_;
};

/// What both kinds of tiles have.
template <class Tiles> void check_common(const Checker &checker, const Tiles &tiles) {
  checker.grid("warps", tiles.warps);
  checker.width(tiles.width);
  checker.at_least({{"stages", tiles.stages, 1},
                    {"group", tiles.group, 1},
                    {"blocks", tiles.blocks, 0},
                    {"persistent", tiles.persistent, 0},
                    {"even_places", tiles.even_places, 0},
                    {"helped_places", tiles.helped_places, 0},
                    {"load.warps", tiles.load.warps, 0},
                    {"load.registers", tiles.load.registers, 0}});
}

} // namespace

void check_numbers(BlockRef sum, const RegisterTiles &tiles) {
  const Checker checker(sum);
  check_common(checker, tiles);
  checker.grid("lanes", tiles.lanes);
  if (tiles.zigzag && (tiles.lanes[0] % 2 != 0 || tiles.lanes[1] % 2 != 0))
    checker.refuse(
        fmt::format("got lanes = {}x{} in a zigzag, expected even numbers of rows and of columns; set "
                    "zigzag = false",
                    tiles.lanes[0], tiles.lanes[1]));
  checker.results("thread", tiles.results, {4, 4});
  checker.at_least(
      {{"k", tiles.k, 1}, {"copy_steps", tiles.copy_steps, 0}, {"tiles_of_part", tiles.tiles_of_part, 0}});
}

void check_numbers(BlockRef sum, const MatrixTiles &tiles) {
  const Checker checker(sum);
  check_common(checker, tiles);
  checker.results("warp", tiles.results, {16, 8});
  checker.at_least(
      {{"steps", tiles.steps, 1}, {"in_flight", tiles.in_flight, 0}, {"cluster", tiles.cluster, 1}});
}

} // namespace nestsmith::library
