/// Products of matrix units that write their results in whole rows, through shared memory.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/role_products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using kernel::as;
using test::contains;
using test::expect_right;

library::MatrixTiles tiles_of_warps() {
  return {.warps = {2, 2}, .results = {32, 32}, .steps = 2, .stages = 3, .staged = true};
}

library::MatrixTiles tiles_of_units() {
  library::MatrixTiles tiles = test::unit_tiles(true);
  tiles.staged = true;
  return tiles;
}

Schedule product_of(const Shape &shape, DType dtype, const library::MatrixTiles &tiles) {
  return tiles.source == library::Source::tiles ? test::product_of(shape, dtype, tiles)
                                                : test::product_of_stored(shape, dtype, tiles, Target{});
}

TEST(RowStores, AreRight) {
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u32})
    for (const Shape &shape : {Shape{64, 64, 64}, Shape{65, 68, 40}, Shape{31, 97, 70}, Shape{1, 1, 1}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(dtype), shape[0], shape[1], shape[2]));
      expect_right(product_of(shape, dtype, tiles_of_warps()));
    }
}

TEST(RowStores, AreRightInParts) {
  library::MatrixTiles tiles = tiles_of_warps();
  for (bool two : {false, true}) {
    tiles.split_k = 3;
    tiles.two_kernels = two;
    expect_right(product_of({65, 68, 300}, DType::f16, tiles));
  }
}

/// The role that fills goes on with the next tile: the slots are those of all its fills, but no more.
TEST(RowStores, OneTileAlongKHasSlotsForTheNextTiles) {
  for (auto [columns, slots] : {std::pair{64, 1}, {3 * 64, 1}, {4 * 64, 2}, {8 * 64, 3}, {20 * 64, 4}}) {
    SCOPED_TRACE(columns);
    library::MatrixTiles tiles = tiles_of_units();
    tiles.persistent = 3;
    const Schedule s = product_of({64, columns, 64}, DType::bf16, tiles);
    EXPECT_EQ(lower(s).only().channels.at(0).slots, slots);
    expect_right(s);
  }
}

/// All rows of C of a part are read before the first one is written.
TEST(RowStores, ReadAhead) {
  EXPECT_TRUE(contains(cuda_kernel(lower(product_of({128, 128, 128}, DType::bf16, tiles_of_units())).only()),
                       "beta * C_local["));
}

TEST(RowStores, TooManyBlocksForTheResultsOfMatrixUnitsAreRefused) {
  library::MatrixTiles tiles = tiles_of_units();
  tiles.warps = {8, 1}, tiles.results = {16, 128}, tiles.stages = 3;
  tiles.load = {1, 0, true}, tiles.blocks = 2;
  EXPECT_EQ(test::owed(product_of({256, 256, 256}, DType::bf16, tiles)), "");
  tiles.load.warps = 4;
  test::expect_user_error(
      [&] {
        product_of({256, 256, 256}, DType::bf16, tiles);
      },
      ExitCode::illegal_schedule,
      "2 blocks of 384 threads leave 80 registers to a thread, but the results of its "
      "matrix units take 64, and their calls 26 more");
}

TEST(RowStores, AreRightWithRolesInWaves) {
  for (DType dtype : {DType::bf16, DType::u32})
    for (const Shape &shape : {Shape{64, 64, 64}, Shape{64 * 5, 128, 320}, Shape{67, 132, 72}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(dtype), shape[0], shape[1], shape[2]));
      library::MatrixTiles tiles = tiles_of_units();
      expect_right(product_of(shape, dtype, tiles));
      tiles.persistent = 3, tiles.group = 4;
      expect_right(product_of(shape, dtype, tiles));
    }
}

/// The lanes of a warp exchange the rows, so that no barrier of more threads is in the text, and each of the
/// barriers is needed.
TEST(RowStores, NeedBarriersOfTheWarpOnly) {
  const Schedule s = product_of({64, 64, 128}, DType::bf16, tiles_of_units());
  const kernel::Kernel kernel = lower(s).only();
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *barrier = as<kernel::Barrier>(stmt);
    EXPECT_TRUE(!barrier || barrier->scope == kernel::SyncScope::warp);
  });
  const std::string text = cuda_kernel(kernel);
  EXPECT_TRUE(contains(text, "__syncwarp();  // AB_shared: written above, read below by C")) << text;
  EXPECT_TRUE(contains(text, "const float4 AB_shared_v")) << text;
  const Schedule exact = product_of({64, 64, 128}, DType::u32, tiles_of_units());
  EXPECT_EQ(test::expect_certificates(exact.source(), lower(exact).only()), 2);
}

TEST(RowStores, AreRefusedForPartsOfRows) {
  library::MatrixTiles tiles = tiles_of_warps();
  tiles.results = {32, 16};
  Schedule s(gemm({64, 64, 64}, DType::f16));
  test::expect_user_error(
      [&] { library::product(s, s.block("AB"), tiles); }, ExitCode::illegal_schedule,
      "library::product: block AB: staged results are written in rows of 32 columns, got 16 columns "
      "of a warp, expected a multiple of 32");
  EXPECT_TRUE(s.trace().empty());
}

} // namespace
} // namespace nestsmith
