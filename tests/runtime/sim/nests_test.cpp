/// Tests nests that fit no whole tile (docs/tvm.md, "Loops that fit no tile"): fetches of any size, by a part
/// of the threads, gathers out of bounds, and caches that are added after the nest is built.

#include "dsl/ir/fill_tails.h"
#include "dsl/ir/tensor.h"
#include "runtime/sim/simulate.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::expect_right;
using testing::HasSubstr;

/// Tiles of `rows` x 7 elements, one for each thread. The threads copy `rows` x `depth` and `depth` x 7
/// elements for each step.
Schedule odd_tiles(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t depth, std::int64_t copying,
                   std::int64_t rows = 5) {
  Schedule s(test::product(m, n, k));
  BlockRef C = s.block("C"), A = s.cache_read(C, "A", Scope::shared), B = s.cache_read(C, "B", Scope::shared);
  auto [i, j, whole] = s.loops<3>(C);
  auto [by, ty] = s.split<2>(i, {infer, rows});
  auto [bx, tx] = s.split<2>(j, {infer, 7});
  auto [step, inner] = s.split<2>(whole, {infer, depth});
  s.reorder({by, bx, ty, tx, step, inner});
  Loop threads = s.fuse(ty, tx);
  s.bind(by, Axis::block_y);
  s.bind(bx, Axis::block_x);
  s.bind(threads, Axis::thread_x);
  for (BlockRef tile : {A, B}) {
    s.compute_at(tile, step);
    auto own = s.loops_below(tile, step);
    auto [round, part] = s.split<2>(s.fuse(own[0], own[1]), {infer, copying});
    auto [once, thread] = s.split<2>(part, {infer, 7 * rows}); // threads from `copying` on have nothing to copy
    s.bind(thread, Axis::thread_x);
    (void)round;
    (void)once;
  }
  return s;
}

/// 5 x 4 and 4 x 7 elements are no multiples of the threads that copy them.
TEST(Nests, AFetchOfAnySize) {
  for (auto [m, n, k] : {std::tuple{1, 1, 1}, {5, 7, 4}, {11, 13, 17}, {6, 8, 5}})
    for (std::int64_t depth : {1, 3, 4})
      expect_right(odd_tiles(m, n, k, depth, 35));
}

TEST(Nests, ALoopForAPartOfTheThreads) {
  for (std::int64_t copying : {1, 8, 13}) {
    Schedule s = odd_tiles(11, 13, 17, 4, copying);
    expect_right(s);
    EXPECT_THAT(kernel::print(lower(s)), HasSubstr("if "));
  }
}

/// 16 of 28 threads copy 4 x 4 elements of A. Their guard lets the others idle, so the tile is filled past the
/// end of k, and the sum needs no guard.
TEST(Nests, AFetchWithIdleThreadsIsFilled) {
  Schedule s = odd_tiles(9, 7, 10, 4, 28, 4);
  Program filled = with_filled_tails(s.program());
  for (const IterVar &iter : find_block(filled.body, s.block("C").id)->iters)
    EXPECT_EQ(iter.guarded, iter.var->name == "i") << iter.var->name;
  expect_right(s);
  for (auto [m, n, k] : {std::tuple{4, 7, 4}, {5, 8, 5}, {1, 1, 1}, {3, 13, 7}})
    expect_right(odd_tiles(m, n, k, 4, 28, 4));
}

TEST(Nests, AGatherOutOfBoundsIsReported) {
  Workload w("gather");
  Tensor index = w.placeholder("Index", {40}, DType::i32), x = w.placeholder("X", {10});
  Tensor y = w.compute("Y", {40}, {"i"}, [&](Expr i) -> Definition { return x(index(i)); });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::thread_x);
  Array where(DType::i32, {40}), from(DType::f32, {10}), to(DType::f32, {40});
  for (std::int64_t at = 0; at < 40; ++at)
    where.set(at, Scalar::from_double(DType::i32, static_cast<double>(at % 10)));
  const sim::Argument arguments[] = {{&where}, {&from}, {&to, false}};
  kernel::Kernel kernel = lower(s).only();
  EXPECT_TRUE(sim::run(kernel, arguments, {}, {}).good());
  where.set(33, Scalar::from_double(DType::i32, 10));
  sim::Result result = sim::run(kernel, arguments, {}, {});
  ASSERT_EQ(result.diagnostics.size(), 1U);
  EXPECT_THAT(result.diagnostics.front().message, testing::AllOf(HasSubstr("X"), HasSubstr("10")));
}

/// The loops are split and bound before the caches exist.
TEST(Nests, CachesAfterTheNestIsBuilt) {
  for (auto [m, n, k] : {std::tuple{8, 8, 8}, {9, 7, 13}}) {
    Schedule s(test::product(m, n, k));
    BlockRef C = s.block("C");
    auto [i, j, whole] = s.loops<3>(C);
    auto [by, ty] = s.split<2>(i, {infer, 4});
    auto [bx, tx] = s.split<2>(j, {infer, 4});
    auto [step, inner] = s.split<2>(whole, {infer, 4});
    s.reorder({by, bx, ty, tx, step, inner});
    s.bind(by, Axis::block_y);
    s.bind(bx, Axis::block_x);
    s.bind(ty, Axis::thread_y);
    s.bind(tx, Axis::thread_x);
    BlockRef A = s.cache_read(C, "A", Scope::local), result = s.cache_write(C, Scope::local);
    s.compute_at(A, step);
    s.reverse_compute_at(result, tx);
    EXPECT_TRUE(test::same_meaning(s));
    expect_right(s);
  }
}

} // namespace
} // namespace nestsmith
