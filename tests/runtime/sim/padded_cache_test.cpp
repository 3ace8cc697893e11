/// Tests caches of masked reads on the simulator: tiles with a halo that contain the padding, tails, copies
/// that are vectorized, asynchronous or ahead of their use, and separate code for the tiles at the edges.

#include "dsl/ir/fill_tails.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "tests/accumulator.h"
#include "tests/runtime/check/right.h"
#include "tests/triangle.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;

/// Y[i, j] = sum of X[i + r - 1, j + s - 2]*W[r, s], where X is `fill` outside of its shape.
Program convolution(const Expr &h, const Expr &w, std::int64_t fill = 0) {
  Workload work("convolution");
  Tensor x = work.placeholder("X", {h, w}, DType::u32), f = work.placeholder("W", {3, 5}, DType::u32);
  Reduce r = reduce_axis("r", 3), s = reduce_axis("s", 5);
  Tensor y = work.compute("Y", {h, w}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr row = i + r - 1, column = j + s - 2;
    Expr mask = 0 <= row && row < h && 0 <= column && column < w;
    return sum(load(x.buffer(), {row, column}, mask, constant(DType::u32, fill)) * f(r, s), {r, s});
  });
  return work.output({y});
}

struct Tiled {
  Schedule s;
  BlockRef x;
  Loop by, bx;
};

/// Schedules tiles of 8 x 16 elements of Y, with one thread per element, and caches the tile's part of X in
/// `scope`.
Tiled tiled(Program program, Scope scope = Scope::shared) {
  Schedule s(std::move(program));
  BlockRef y = s.block("Y"), x = s.cache_read(y, "X", scope), writeback = s.cache_write(y, Scope::local);
  auto loops = s.loops(y);
  auto [by, ty] = s.split<2>(loops[0], {infer, 8});
  auto [bx, tx] = s.split<2>(loops[1], {infer, 16});
  s.reorder({by, bx, ty, tx});
  s.bind(by, Axis::block_y);
  s.bind(bx, Axis::block_x);
  s.reverse_compute_at(writeback, tx);
  s.compute_at(x, scope == Scope::shared ? bx : tx);
  if (scope == Scope::shared) {
    auto own = s.loops_below(x, bx);
    auto [step, y_thread, x_thread] = s.split<3>(s.fuse(own[0], own[1]), {infer, 8, 16});
    s.bind(y_thread, Axis::thread_y);
    s.bind(x_thread, Axis::thread_x);
    (void)step;
  }
  s.bind(ty, Axis::thread_y);
  s.bind(tx, Axis::thread_x);
  return {s, x, by, bx};
}

constexpr std::pair<int, int> shapes[] = {{1, 1},  {1, 17}, {7, 1},   {8, 16},
                                          {7, 15}, {9, 17}, {13, 61}, {23, 33}};

TEST(PaddedCache, ATileWithItsHalo) {
  for (auto [h, w] : shapes)
    expect_right(tiled(convolution(h, w)).s);
}

TEST(PaddedCache, HasNoMaskAtTheReader) {
  kernel::Plan plan = lower(tiled(convolution(64, 64)).s);
  EXPECT_EQ(plan.kernels.front().shared_bytes, 10 * 20 * 4);
  std::string text = kernel::print(plan);
  EXPECT_EQ(text.find("where"), text.rfind("where")) << text; // only the copy has a mask
}

TEST(PaddedCache, OfAnotherFill) {
  for (auto [h, w] : shapes)
    expect_right(tiled(convolution(h, w, 7)).s);
}

TEST(PaddedCache, InRegisters) {
  for (auto [h, w] : {std::pair{1, 1}, {9, 17}, {13, 31}})
    expect_right(tiled(convolution(h, w), Scope::local).s);
}

TEST(PaddedCache, OfAShapeThatIsKnownAtLaunch) {
  Workload work("rows");
  Expr h = work.size("H", {.max = 1000}), w = work.size("V", {.max = 1000});
  Tensor x = work.placeholder("X", {h, w}, DType::u32);
  Reduce r = reduce_axis("r", 3), s = reduce_axis("s", 3);
  Tensor y = work.compute("Y", {h, w}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr row = i + r - 1, column = j + s - 1;
    return sum(x.where(0 <= row && row < h && 0 <= column && column < w, row, column), {r, s});
  });
  for (bool partitioned : {false, true}) {
    Tiled t = tiled(work.output({y}));
    if (partitioned) {
      t.s.partition(t.by);
      t.s.partition(t.bx);
    }
    for (auto [rows, columns] : shapes) {
      SimExecutor simulator;
      CheckResult result =
          check(t.s, with_sizes(lower(t.s), std::vector<std::int64_t>{rows, columns}), simulator);
      EXPECT_TRUE(result.passed) << rows << "x" << columns << "\n" << test::all_messages(result);
    }
  }
}

TEST(PaddedCache, OfATileThatIsPaddedOrSwizzled) {
  Tiled t = tiled(convolution(23, 33));
  t.s.storage_align(t.x, 0, 32, 5);
  expect_right(t.s);
  Tiled u = tiled(convolution(23, 33));
  u.s.swizzle(u.x, 2, 0, 2);
  expect_right(u.s);
}

/// Y[i, j, o] is a sum over channels. The channels are the last dimension of X.
Program channels_last(std::int64_t h, std::int64_t c) {
  Workload work("channels");
  Tensor x = work.placeholder("X", {h, c}, DType::u32), f = work.placeholder("W", {3, c}, DType::u32);
  Reduce r = reduce_axis("r", 3), k = reduce_axis("k", c);
  Tensor y = work.compute("Y", {h, 4}, {"i", "o"}, [&](Expr i, Expr o) {
    return sum(x.where(0 <= i + r - 1 && i + r - 1 < h, i + r - 1, k) * f(r, k) + cast(DType::u32, o), {k, r});
  });
  return work.output({y});
}

/// Schedules rows of 16 elements of Y. A step of the loop over channels loads 8 channels.
Tiled steps(std::int64_t h, std::int64_t c) {
  Schedule s(channels_last(h, c));
  BlockRef y = s.block("Y"), x = s.cache_read(y, "X", Scope::shared),
           writeback = s.cache_write(y, Scope::local);
  auto loops = s.loops(y);
  auto [bx, tx] = s.split<2>(loops[0], {infer, 16});
  auto [ko, ki] = s.split<2>(loops[2], {infer, 8});
  s.reorder({bx, tx, loops[1], ko, ki, loops[3]});
  s.bind(bx, Axis::block_x);
  s.reverse_compute_at(writeback, loops[1]);
  s.bind(tx, Axis::thread_x);
  s.compute_at(x, ko);
  auto own = s.loops_below(x, ko);
  auto [part, lane] = s.split<2>(own[1], {2, 4});
  auto [step, row] = s.split<2>(own[0], {infer, 16});
  s.bind(row, Axis::thread_x);
  s.vectorize(lane);
  (void)part, (void)step;
  return {s, x, ko, bx};
}

TEST(PaddedCache, CopiedInVectors) {
  for (auto [h, c] : {std::pair{1, 8}, {15, 24}, {16, 8}, {33, 40}}) {
    Tiled t = steps(h, c);
    expect_right(t.s);
  }
}

TEST(PaddedCache, CopiedAsynchronouslyAhead) {
  for (auto [h, c] : {std::pair{1, 8}, {15, 16}, {33, 40}}) {
    Tiled t = steps(h, c);
    t.s.async_copy(t.x);
    expect_right(t.s);
    t.s.double_buffer(t.by);
    expect_right(t.s);
  }
}

TEST(PaddedCache, OfATriangleWithTails) {
  for (std::int64_t fill : {0, 3})
    for (auto [m, n] : {std::pair{1, 1}, {15, 17}, {16, 32}, {17, 15}, {37, 29}})
      expect_right(triangle_product(m, n, constant(DType::u32, fill)));
}

/// Also where the mask is false with another fill, the tile is 0 past its end, and the sum needs no guard
/// there.
TEST(PaddedCache, FillsTheTailOfATriangle) {
  auto guards = [](std::int64_t fill) {
    const Schedule s = triangle_product(37, 29, constant(DType::u32, fill));
    const Program filled = with_filled_tails(s.program());
    std::int64_t found = 0;
    for (const Block *block : blocks_of(filled.body))
      for (const IterVar &iter : block->iters)
        found += block->id->name == "C" && iter.guarded;
    return found;
  };
  EXPECT_EQ(guards(0), 0);
  EXPECT_EQ(guards(3), 0);
}

/// A convolution along n rows with 16 channels as products of matrices. P, which contains the rows of each tap,
/// is a fragment that reads the padded tile.
Schedule implicit_product(std::int64_t n) {
  Workload work("implicit");
  Tensor x = work.placeholder("X", {n, 16}, DType::f16), f = work.placeholder("W", {3, 16, 8}, DType::f16);
  Tensor rows = work.compute("P", {3, n, 16}, {"r", "i", "k"}, [&](const std::vector<Expr> &at) -> Definition {
    Expr row = at[1] + at[0] - 1;
    return x.where(0 <= row && row < n, row, at[2]);
  });
  Reduce r = reduce_axis("r", 3), k = reduce_axis("k", 16);
  Tensor out = work.compute("Y", {n, 8}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, rows(r, i, k)) * cast(DType::f32, f(r, k, j)), {r, k});
  });
  Schedule s(work.output({out}));
  BlockRef p = s.block("P"), y = s.block("Y"), tile = s.cache_read(p, "X", Scope::shared),
           writeback = s.cache_write(y, Scope::warp), w = s.cache_read(y, "W", Scope::warp);
  auto loops = s.loops(y); // the loops i, j, r, k
  auto [block, row] = s.split<2>(loops[0], {infer, 16});
  Loop tap = loops[2];
  s.reorder({block, tap, row, loops[1], loops[3]});
  s.reverse_compute_at(writeback, block);
  s.bind(block, Axis::block_x);
  s.set_scope(p, Scope::warp);
  s.compute_at(p, tap);
  s.compute_at(w, tap);
  s.compute_at(tile, block);
  s.transform_layout(p, "b, i, k -> i%8*4 + k%8//2, i//16, k//8*4 + i%16//8*2 + k%2");
  s.transform_layout(w, "b, k, i -> i%8*4 + k%8//2, i//8, k//8*2 + k%2");
  s.transform_layout(y, test::accumulator);
  auto to_lanes = [&](Loop i, Loop j, std::int64_t halves, std::int64_t words) {
    auto [i_half, i_lane] = s.split<2>(i, {halves, 8});
    auto [j_word, j_lane, j_pair] = s.split<3>(j, {words, 4, 2});
    s.reorder({i_lane, j_lane, i_half, j_word, j_pair});
    s.bind(s.fuse(i_lane, j_lane), Axis::lane);
    for (Loop loop : {i_half, j_word, j_pair})
      s.unroll(loop);
  };
  auto last_two = [&](BlockRef of, Loop below) {
    auto all = s.loops_below(of, below);
    return std::pair{all[all.size() - 2], all.back()};
  };
  auto [p_row, p_k] = last_two(p, tap);
  to_lanes(p_row, p_k, 2, 2);
  auto [w_k, w_column] = last_two(w, tap);
  to_lanes(w_column, w_k, 1, 2);
  auto [tile_row, tile_k] = last_two(tile, block);
  s.bind(s.split<2>(s.fuse(tile_row, tile_k), {infer, 32})[1], Axis::lane);
  auto [zero_row, zero_column] = last_two(s.decompose_reduction(y, tap), block);
  to_lanes(zero_row, zero_column, 2, 1);
  auto [out_row, out_column] = last_two(writeback, block);
  to_lanes(out_row, out_column, 2, 1);
  s.tensorize(row, "mma_m16n8k16");
  return s;
}

TEST(PaddedCache, OfFragmentsOfAnImplicitProduct) {
  for (std::int64_t n : {16, 17, 37, 48})
    expect_right(implicit_product(n));
}

/// A loop over steps with masks, in one thread block. It is partitioned, so the first and last steps get
/// separate code.
Schedule steps_with_masks(const Expr &n, std::int64_t before, std::int64_t tile) {
  Workload work("steps");
  Tensor x = work.placeholder("X", {n}, DType::u32);
  Tensor y = work.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition {
    return x.where(before <= i, i - before) + x(i) * 3 + x.where(i + 2 < n, i + 2) * 5;
  });
  Schedule s(work.output({y}));
  auto [step, thread] = s.split<2>(s.loops(s.block("Y"))[0], {infer, tile});
  s.bind(thread, Axis::thread_x);
  s.partition(step);
  return s;
}

TEST(PartitionOfMasks, KeepsTheResult) {
  for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33})
    for (std::int64_t before : {0, 1, 4, 9})
      expect_right(steps_with_masks(n, before, 4));
}

TEST(PartitionOfMasks, LeavesNoMaskInTheMiddle) {
  std::string text = kernel::print(lower(steps_with_masks(64, 5, 8)));
  std::size_t middle = text.find("< 6:"); // there are two masked tiles before, and one after
  EXPECT_NE(middle, std::string::npos) << text;
  EXPECT_GT(text.find("where", middle), text.find("Y[", middle)) << text;
}

TEST(PartitionOfMasks, OfASizeKnownAtLaunch) {
  for (std::int64_t before : {0, 3, 7}) {
    Workload work("steps");
    Expr n = work.size("N", {.max = 1000});
    Tensor x = work.placeholder("X", {n}, DType::u32);
    Tensor y = work.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition {
      return x.where(before <= i, i - before) + x(i) * 3 + x.where(i + 2 < n, i + 2) * 5;
    });
    Schedule s(work.output({y}));
    auto [step, thread] = s.split<2>(s.loops(s.block("Y"))[0], {infer, 4});
    s.bind(thread, Axis::thread_x);
    s.partition(step);
    for (std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 33}) {
      SimExecutor simulator;
      CheckResult result = check(s, with_sizes(lower(s), std::vector<std::int64_t>{size}), simulator);
      EXPECT_TRUE(result.passed) << size << " " << before << "\n" << test::all_messages(result);
    }
  }
}

/// Each step of the loop over k fills a tile that all threads read, so each part of the partitioned loop
/// contains barriers.
TEST(PartitionOfMasks, WithBarriersInEachPart) {
  for (bool known_at_launch : {false, true})
    for (std::int64_t size : {1, 7, 8, 9, 24, 33}) {
      Workload work("sums");
      Expr n = known_at_launch ? work.size("N", {.max = 1000}) : Expr(size);
      Tensor x = work.placeholder("X", {n}, DType::u32), f = work.placeholder("F", {n}, DType::u32);
      Reduce k = reduce_axis("k", n);
      Tensor y = work.compute("Y", {16}, {"i"}, [&](Expr i) {
        return sum(x.where(1 <= k, k - 1) * x.where(k + 1 < n, k + 1) * f(k) * cast(DType::u32, i), k);
      });
      Schedule s(work.output({y}));
      BlockRef block = s.block("Y"), tile = s.cache_read(block, "X", Scope::shared);
      BlockRef writeback = s.cache_write(block, Scope::local);
      auto loops = s.loops(block);
      auto [ko, ki] = s.split<2>(loops[1], {infer, 8});
      s.reverse_compute_at(writeback, loops[0]);
      s.bind(loops[0], Axis::thread_x);
      s.compute_at(tile, ko);
      s.bind(s.split<2>(s.loops_below(tile, ko)[0], {infer, 16})[1], Axis::thread_x);
      s.partition(ko);
      SimExecutor simulator;
      std::vector<std::int64_t> sizes(known_at_launch ? 1 : 0, size);
      CheckResult result = check(s, with_sizes(lower(s), sizes), simulator);
      EXPECT_TRUE(result.passed) << size << "\n" << test::all_messages(result) << kernel::print(lower(s));
      (void)ki;
    }
}

/// The mask compares two axes, so the reader keeps it and the cache has none.
TEST(PaddedCache, OfAMaskOfTheReader) {
  for (std::int64_t n : {1, 15, 16, 37}) {
    Workload work("causal");
    Tensor x = work.placeholder("X", {n}, DType::u32);
    Reduce k = reduce_axis("k", 64);
    Tensor y = work.compute("Y", {n}, {"i"}, [&](Expr i) { return sum(x.where(k <= i, k), k); });
    Schedule s(work.output({y}));
    BlockRef block = s.block("Y"), xs = s.cache_read(block, "X", Scope::shared);
    BlockRef writeback = s.cache_write(block, Scope::local);
    auto [bx, tx] = s.split<2>(s.loops(block)[0], {infer, 16});
    s.reverse_compute_at(writeback, tx);
    s.compute_at(xs, bx);
    s.bind(bx, Axis::block_x);
    auto [step, thread] = s.split<2>(s.loops(xs).back(), {infer, 16});
    s.bind(thread, Axis::thread_x);
    s.bind(tx, Axis::thread_x);
    (void)step;
    expect_right(s);
  }
}

/// Partitions the block axes of the grid, so the blocks at the edges get separate code.
TEST(PaddedCache, PartitionedAtTheEdges) {
  for (auto [h, w] : shapes) {
    Tiled t = tiled(convolution(h, w));
    t.s.partition(t.by);
    t.s.partition(t.bx);
    expect_right(t.s);
  }
  Tiled t = tiled(convolution(64, 64));
  t.s.partition(t.by);
  t.s.partition(t.bx);
  std::string text = kernel::print(lower(t.s));
  EXPECT_NE(text.find("1 <= "), std::string::npos) << text;
}

} // namespace
} // namespace nestsmith
