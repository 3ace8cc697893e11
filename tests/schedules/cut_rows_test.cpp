/// Tests products in parts of rows, each of which has a schedule of its own, and launches that nests share.

#include "runtime/check/sim_executor.h"
#include "schedules/even_tail.h"
#include "schedules/fast/rungs.h"
#include "schedules/library/product.h"
#include "schedules/library/rows.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::expect_right;

const library::RegisterTiles small = {
    .warps = {1, 1}, .lanes = {4, 8}, .results = {4, 4}, .async = true, .k = 4};

library::RegisterTiles with_parts(library::RegisterTiles tiles, std::int64_t parts) {
  tiles.split_k = parts;
  return tiles;
}

TEST(CutRows, AreRightWithSchedulesOfTheirOwn) {
  for (auto [m, n, k, row] : {std::array<std::int64_t, 4>{48, 64, 32, 32},
                              {33, 64, 16, 32},
                              {47, 31, 13, 16},
                              {40, 5, 1, 3},
                              {2, 32, 8, 1}}) {
    SCOPED_TRACE(fmt::format("{}x{}x{} at {}", m, n, k, row));
    Schedule s(gemm({m, n, k}, DType::f32), make_target("sm_90a"));
    auto [first, second] = library::cut_rows(s, s.block("AB"), row);
    library::product(s, first, small);
    library::product(s, second, with_parts(small, k < 8 ? 1 : 2));
    expect_right(s);
    EXPECT_EQ(lower(s).kernels.size(), 2U);
  }
}

TEST(CutRows, AreRefusedWithABatch) {
  Schedule s(batched_gemm({2, 8, 8, 8}, DType::f32), make_target("sm_90a"));
  const std::string before = print(s.program());
  test::expect_user_error([&] { library::cut_rows(s, s.block("AB"), 4); }, ExitCode::illegal_schedule,
                          "library::cut_rows: block AB has a batch, ");
  EXPECT_EQ(print(s.program()), before);
  Schedule whole(gemm({8, 8, 8}, DType::f32), make_target("sm_90a"));
  expect_refused(whole, "cut.points", [&] { library::cut_rows(whole, whole.block("AB"), 8); },
                 "the point 8 is not inside of the loop i", {});
}

/// Tiles, places, and the tail with the least time.
TEST(EvenTail, HasTheLeastTime) {
  const Extents tile = {128, 64, 16};
  EXPECT_FALSE(even_tail({512, 256, 1024}, tile, 16)); // one whole wave
  EXPECT_FALSE(even_tail({256, 256, 1024}, tile, 16)); // less than one
  EXPECT_FALSE(even_tail({640, 256, 112}, tile, 16));  // no two parts of 4 tiles of k
  EXPECT_FALSE(even_tail({1, 1280, 1024}, tile, 16));  // one row of tiles
  EXPECT_FALSE(even_tail({0, 256, 1024}, tile, 16));
  auto tail = even_tail({513, 200, 1020}, tile, 16); // 20 tiles at 16 places
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->whole_rows, 4);
  EXPECT_EQ(tail->parts, 4);
  EXPECT_FALSE(even_tail({std::int64_t{1} << 31, 192, 1024}, tile, 132)); // one of many waves
  tail = even_tail({13 * 128, 12 * 64, 960}, tile, 132);
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->whole_rows * 12, 132);
}

/// If the last wave is nearly full, equal parts gain nothing.
TEST(EvenTail, HasTwoUnequalPartsWhereEqualOnesGainLess) {
  const Extents tile = {128, 64, 16}, nearly_full = {15 * 128, 64, 4096};
  EXPECT_FALSE(even_tail(nearly_full, tile, 8));
  auto tail = even_tail(nearly_full, tile, 8, terms_of_a_part, PartsOfTail::unequal_too);
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->whole_rows, 8);
  EXPECT_EQ(tail->parts, 2);
  EXPECT_GT(tail->of_part, 256 * 7 / 8 - 4) << "the eighth place multiplies the rest of 7 tiles";
  EXPECT_LT(tail->of_part, 256);
  EXPECT_LT(tail->waves, 1.95);
  const Extents nearly_empty = {513, 200, 1020};
  tail = even_tail(nearly_empty, tile, 16, terms_of_a_part, PartsOfTail::unequal_too);
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->of_part, 0);
  EXPECT_FALSE(even_tail({16 * 128, 64, 4096}, tile, 8, terms_of_a_part, PartsOfTail::unequal_too));
}

TEST(EvenTail, IsOneLaunch) {
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{33, 63, 270}, {65, 31, 264}, {79, 31, 271}})
    for (bool async : {true, false}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} {}", m, n, k, async));
      Schedule s(gemm({m, n, k}, DType::f32), make_target("sm_90a"));
      library::RegisterTiles tiles = small;
      tiles.async = async;
      tiles.even_places = 4;
      library::product(s, s.block("AB"), tiles);
      EXPECT_TRUE(contains(print(s.program()), "launched with the nest before"));
      expect_right(s);
      kernel::Plan plan = lower(s);
      ASSERT_EQ(plan.kernels.size(), 1U);
      Schedule without(gemm({m, n, k}, DType::f32), make_target("sm_90a"));
      tiles.even_places = 0;
      library::product(without, without.block("AB"), tiles);
      EXPECT_EQ(plan.only().shared_bytes, lower(without).only().shared_bytes) << "of the larger nest";
    }
}

/// By the matrix units, of each type of operands. Rows of 14 elements of bf16 allow no vectors.
TEST(EvenTail, IsOneLaunchOfMatrixUnits) {
  for (DType dtype : {DType::bf16, DType::tf32})
    for (auto [m, n, k] : {std::array<std::int64_t, 3>{65, 17, 1202}, {33, 32, 1280}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(dtype), m, n, k));
      Schedule s(gemm({m, n, k}, dtype), make_target("sm_90a"));
      library::product(s, s.block("AB"),
                       library::MatrixTiles{
                           .warps = {1, 1}, .results = {16, 16}, .steps = 1, .stages = 3, .even_places = 4});
      EXPECT_TRUE(contains(print(s.program()), "launched with the nest before"));
      expect_right(s);
      EXPECT_EQ(lower(s).kernels.size(), 1U);
    }
}

TEST(EvenTail, IsLeftOutWhereItGainsNothing) {
  Schedule s(gemm({64, 32, 64}, DType::f32), make_target("sm_90a")), plain = s;
  library::RegisterTiles even = small;
  even.even_places = 4;
  library::product(s, s.block("AB"), even);
  library::product(plain, plain.block("AB"), small);
  EXPECT_EQ(print(s.program()), print(plain.program()));
}

TEST(EvenTail, IsAKnobOfTheRung) {
  Knobs knobs;
  knobs.prefer({{"warps", "1x1"}, {"results", "4x4"}, {"blocks", "4"}, {"even", "4"}, {"split_k", "1"}});
  Target target = make_target("sm_90a");
  target.sms = 8;
  // 34 tiles of 16 x 32 elements at 32 places
  Schedule s = fast::gemm({16 * 17, 64, 250}, DType::f32, target, knobs);
  EXPECT_TRUE(contains(print(s.program()), "launched with the nest before")) << to_string(knobs.chosen());
  expect_right(s);
}

/// Three nests: the thread blocks of the later ones follow, and they lie in the same shared memory.
TEST(ShareLaunches, JoinSeveralNests) {
  for (std::int64_t n : {8, 24, 64}) {
    Workload w("three");
    Tensor x = w.placeholder("X", {3, n}, DType::f32);
    std::vector<Result> results;
    for (std::int64_t row : {0, 1, 2})
      results.push_back(w.compute(fmt::format("Y{}", row), {n}, {"i"},
                                  [&](Expr i) { return x(Expr(row), i) * constant(DType::f32, row + 2); }));
    Schedule s(w.output(results));
    for (std::int64_t row : {0, 1, 2}) {
      BlockRef y = s.block(fmt::format("Y{}", row));
      auto [outer, inner] = s.split(s.loops(y)[0], {infer, 8});
      BlockRef copy = s.cache_read(y, "X", Scope::shared);
      s.compute_at(copy, outer);
      s.bind(s.loops_below(copy, outer).back(), Axis::thread_x);
      s.bind(outer, row == 1 ? Axis::block_y : Axis::block_x);
      s.bind(inner, Axis::thread_x);
      if (row > 0)
        s.share_launch(outer);
    }
    expect_right(s);
    EXPECT_EQ(lower(s).kernels.size(), 1U);
    EXPECT_EQ(lower(s).only().grid()[0], 3 * ((n + 7) / 8));
    EXPECT_EQ(lower(s).only().shared_bytes, 32);
  }
}

/// Z has an array that fits in none of those of Y.
TEST(ShareLaunches, RefuseMoreSharedMemoryThanABlockHas) {
  Workload w("two");
  Tensor x = w.placeholder("X", {16000}, DType::f32), v = w.placeholder("V", {16000}, DType::f32),
         u = w.placeholder("U", {24000}, DType::f32);
  Tensor y = w.compute("Y", {16000}, {"i"}, [&](Expr i) { return x(i) + v(i); });
  Tensor z = w.compute("Z", {24000}, {"i"}, [&](Expr i) { return u(i) + u(i); });
  Schedule s(w.output({y, z}), make_target("sm_80"));
  for (auto [block, buffer] : {std::pair<const char *, const char *>{"Y", "X"}, {"Y", "V"}, {"Z", "U"}}) {
    BlockRef reader = s.block(block);
    if (s.loops(reader).size() == 1) {
      auto [outer, inner] = s.split(s.loops(reader)[0], {1, infer});
      s.bind(outer, Axis::block_x);
    }
    s.compute_at(s.cache_read(reader, buffer, Scope::shared), s.loops(reader)[0]);
  }
  s.share_launch(s.loops(s.block("Z"))[0]);
  EXPECT_EQ(test::owed(s), "");
  test::expect_user_error(
      [&] { lower(s); }, ExitCode::illegal_schedule,
      "share_launch: the nests of the kernel two_Y need 224000 bytes of shared memory in one "
      "launch, expected at most 166912; leave out share_launch, or use smaller tiles");
}

TEST(ShareLaunches, RefuseMoreBlocksThanAGridHas) {
  constexpr std::int64_t n = 2'000'000'000;
  Workload w("two");
  Tensor x = w.placeholder("X", {n}, DType::f32);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) { return x(i) + x(i); });
  Tensor z = w.compute("Z", {n}, {"i"}, [&](Expr i) { return x(i) * x(i); });
  Schedule s(w.output({y, z}));
  for (const char *block : {"Y", "Z"})
    s.bind(s.loops(s.block(block))[0], Axis::block_x);
  s.share_launch(s.loops(s.block("Z"))[0]);
  test::expect_user_error([&] { lower(s); }, ExitCode::illegal_schedule,
                          "share_launch: the nests of the kernel two_Y have 4000000000 thread blocks in one "
                          "launch, expected at most 2147483647");
}

} // namespace
} // namespace nestsmith
