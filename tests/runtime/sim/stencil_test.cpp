/// Tests a stencil through shared memory. The threads of a block load tiles with a halo together. The number of
/// elements of a tile is not a multiple of the number of threads.

#include "dsl/ir/tensor.h"
#include "tests/runtime/check/right.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;

/// Y[i, j] = sum of the 3 x 3 elements of X around (i, j), with 0 outside of X. The blocks are P, a padded copy
/// of X, and Y.
Program stencil(const Expr &h, const Expr &w) {
  Workload work("stencil");
  Tensor x = work.placeholder("X", {h, w}, DType::u32);
  Tensor p = work.compute("P", {h + 2, w + 2}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    return x.where(1 <= i && i <= h && 1 <= j && j <= w, i - 1, j - 1);
  });
  Reduce r = reduce_axis("r", 3), s = reduce_axis("s", 3);
  Tensor y = work.compute("Y", {h, w}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(p(i + r, j + s), {r, s});
  });
  return work.output({y});
}

/// Schedules tiles of `rows` x `columns` elements of Y, with one thread per element.
Schedule tiled(Program program, const char *halo, std::int64_t rows, std::int64_t columns,
               bool vectors = false) {
  Schedule s(std::move(program));
  BlockRef y = s.block("Y"), p = s.block(halo);
  s.set_scope(p, Scope::shared);
  auto loops = s.loops(y);
  auto [by, ty] = s.split<2>(loops[0], {infer, rows});
  auto [bx, tx] = s.split<2>(loops[1], {infer, columns});
  s.reorder({by, bx, ty, tx});
  Loop blocks = s.fuse(by, bx), threads = s.fuse(ty, tx);
  s.bind(blocks, Axis::block_x);
  s.compute_at(p, blocks);
  auto own = s.loops(p);
  Loop fetch = s.fuse(own[own.size() - 2], own.back());
  if (vectors) {
    auto [step, thread, lane] = s.split<3>(fetch, {infer, rows * columns, 2});
    s.bind(thread, Axis::thread_x);
    (void)step, (void)lane;
  } else {
    auto [step, thread] = s.split<2>(fetch, {infer, rows * columns});
    s.bind(thread, Axis::thread_x);
    (void)step;
  }
  s.bind(threads, Axis::thread_x);
  return s;
}

TEST(Stencil, AFetchedHaloAtEveryShape) {
  for (auto [h, w] : {std::pair{1, 1}, {1, 7}, {7, 1}, {8, 32}, {7, 31}, {9, 33}, {13, 61}, {16, 64}, {23, 97}})
    expect_right(tiled(stencil(h, w), "P", 8, 32));
}

TEST(Stencil, AllocatesTheTileAndNoMore) {
  kernel::Plan plan = lower(tiled(stencil(64, 64), "P", 8, 32));
  ASSERT_EQ(plan.kernels.size(), 1U);
  EXPECT_EQ(plan.kernels.front().shared_bytes, 10 * 34 * 4);
}

TEST(Stencil, AFetchInPairs) { expect_right(tiled(stencil(20, 70), "P", 8, 32, true)); }

TEST(Stencil, AShapeThatIsKnownAtLaunch) {
  Workload work("rows");
  Expr h = work.size("H", {.max = 1000});
  Tensor x = work.placeholder("X", {h, 40}, DType::u32);
  Tensor p = work.compute("P", {h + 2, 40}, {"i", "j"},
                          [&](Expr i, Expr j) -> Definition { return x.where(1 <= i && i <= h, i - 1, j); });
  Tensor y = work.compute("Y", {h, 40}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    return p(i, j) + p(i + 1, j) * 2 + p(i + 2, j);
  });
  Schedule s = tiled(work.output({y}), "P", 8, 20);
  for (std::int64_t rows : {1, 8, 13}) {
    SimExecutor simulator;
    CheckResult result = check(s, with_sizes(lower(s), std::vector<std::int64_t>{rows}), simulator);
    EXPECT_TRUE(result.passed) << rows << "\n" << test::all_messages(result);
  }
}

/// Y reads T under a mask, so a tile of T starts before the first element of T.
Program masked(std::int64_t h, std::int64_t w) {
  Workload work("masked");
  Tensor x = work.placeholder("X", {h, w}, DType::u32);
  Tensor t = work.compute("T", {h, w}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 3; });
  Tensor y = work.compute("Y", {h, w}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    Expr total = int_imm(0, DType::u32);
    for (int r = -1; r <= 1; ++r)
      for (int s = -1; s <= 1; ++s)
        total = total + t.where(0 <= i + r && i + r < h && 0 <= j + s && j + s < w, i + r, j + s);
    return total;
  });
  return work.output({y});
}

TEST(Stencil, ATileThatBeginsBeforeTheArray) {
  for (auto [h, w] : {std::pair{1, 1}, {7, 31}, {8, 32}, {9, 33}, {13, 61}, {23, 97}})
    expect_right(tiled(masked(h, w), "T", 8, 32));
  kernel::Plan plan = lower(tiled(masked(64, 64), "T", 8, 32));
  EXPECT_EQ(plan.kernels.front().shared_bytes, 10 * 34 * 4);
}

/// Y reads the rows `first` to `last` of T, and 0 instead of the others. A thread block computes columns of T
/// in shared memory.
Schedule rows_that_a_mask_reads(std::int64_t first, std::int64_t last) {
  Workload work("rows");
  Tensor x = work.placeholder("X", {16, 20}, DType::u32);
  Tensor t = work.compute("T", {16, 20}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 3; });
  Tensor y = work.compute("Y", {16, 20}, {"i", "j"},
                          [&](Expr i, Expr j) -> Definition { return t.where(first <= i && i <= last, i, j); });
  Schedule s(work.output({y}));
  s.set_scope(s.block("T"), Scope::shared);
  auto [i, j] = s.loops<2>(s.block("Y"));
  auto [block, thread] = s.split<2>(j, {infer, 8});
  s.reorder({block, i, thread});
  s.compute_at(s.block("T"), block);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.bind(s.loops(s.block("T")).back(), Axis::thread_x);
  return s;
}

TEST(Stencil, ATileOfTheRowsThatAMaskReads) {
  for (auto [first, last] : {std::pair{0, 15}, {1, 15}, {5, 8}, {15, 15}, {16, 15}}) {
    Schedule s = rows_that_a_mask_reads(first, last);
    expect_right(s);
    EXPECT_EQ(lower(s).kernels.front().shared_bytes, std::max(1, last - first + 1) * 8 * 4);
  }
}

} // namespace
} // namespace nestsmith
