/// Tests which guards exclude nothing in the tiles that a loop of waves executes.

#include "dsl/ir/executed_tiles.h"
#include "dsl/ir/fill_tails.h"
#include "dsl/ir/skip_tiles.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;

/// A product of tiles of 8 x 8 results by `blocks` blocks, in waves; the rows of `group` tiles are neighbours
/// in the order of the tiles.
struct InWaves {
  Schedule s;
  BlockRef sum;

  InWaves(std::int64_t rows, std::int64_t columns, std::int64_t group, std::int64_t blocks)
      : s(test::gemm(rows, columns, 4)), sum(s.block("AB")) {
    auto [i, j, k] = s.loops<3>(sum);
    auto [i_tile, i_in] = s.split(i, {infer, 8});
    auto [j_tile, j_in] = s.split(j, {infer, 8});
    auto [i_group, i_of_group] = s.split(i_tile, {infer, group});
    s.reorder({i_group, j_tile, i_of_group, i_in, j_in, k});
    s.set_scope(sum, Scope::local);
    s.reverse_compute_at(s.block("C"), j_in);
    auto tile = s.fuse(s.fuse(i_group, j_tile), i_of_group);
    auto [wave, block] = s.split<2>(tile, {infer, blocks});
    s.bind(block, Axis::block_x);
    s.bind(i_in, Axis::thread_x);
    s.skip_tiles(wave);
  }

  /// "AB: i; C: i": the guarded axes of each block.
  static std::string guards(const Program &program) {
    std::string text;
    for (const Block *block : blocks_of(program.body)) {
      std::string axes;
      for (const IterVar &iter : block->iters)
        if (iter.guarded)
          axes += " " + iter.var->name;
      if (!axes.empty())
        text += (text.empty() ? "" : "; ") + block->id->name + ":" + axes;
    }
    return text;
  }
};

/// The tiles of the last wave beyond the result are skipped, whatever their order is.
TEST(TilesOfWaves, NeedNoGuardIfTheyAreWhole) {
  for (std::int64_t group : {1, 2, 4}) {
    SCOPED_TRACE(group);
    InWaves t(8 * 8, 8 * 3, group, 5); // 24 tiles in waves of 5
    EXPECT_EQ(InWaves::guards(t.s.program()), "AB: i; C: i");
    EXPECT_EQ(InWaves::guards(over_executed_tiles(t.s.program()).program), "C: i");
    EXPECT_EQ(InWaves::guards(with_filled_tails(t.s.program())), "C: i");
    EXPECT_TRUE(test::same_meaning(t.s));
    EXPECT_EQ(test::owed(t.s), "");
  }
}

/// The last tile of rows is a partial one.
TEST(TilesOfWaves, NeedTheGuardOfAPartialTile) {
  for (std::int64_t group : {1, 2}) {
    InWaves t(8 * 8 - 1, 8 * 3, group, 5);
    EXPECT_EQ(InWaves::guards(over_executed_tiles(t.s.program()).program), "AB: i; C: i");
    EXPECT_TRUE(test::same_meaning(t.s));
  }
}

/// A block whose result remains after an iteration keeps its guards: they are the condition of the iteration.
TEST(TilesOfWaves, KeepTheirCondition) {
  InWaves t(8 * 8, 8 * 3, 2, 5);
  const Program &before = t.s.program();
  const Program after = with_filled_tails(before);
  const For *wave = loops_of(path_to(before.body, t.sum.id))[0];
  const For *same = find_loop(after.body, wave->var);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(to_string(condition_of_iteration(after, *same)), to_string(condition_of_iteration(before, *wave)));
}

/// An axis without a guard ends inside if the tiles do.
TEST(TilesOfWaves, EndInside) {
  InWaves t(8 * 8, 8 * 3, 2, 5);
  const Program without = with_filled_tails(t.s.program());
  const ExecutedTiles tiles = over_executed_tiles(without);
  for (const Block *block : blocks_of(without.body)) {
    auto i = std::ranges::find(block->iters, "i", [](const IterVar &iter) { return iter.var->name; });
    EXPECT_EQ(ends_inside(tiles, *block, *i), block->id->name == "AB") << block->id->name;
    IterVar less = *i;
    less.extent = Expr(8 * 8 - 1);
    EXPECT_FALSE(ends_inside(tiles, *block, less)) << block->id->name;
  }
}

} // namespace
} // namespace nestsmith
