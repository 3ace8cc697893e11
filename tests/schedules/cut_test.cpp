/// Tests loops that are cut, through lowering: the simulator, the text, and parts that are scheduled
/// differently.
#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/affine_rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using testing::HasSubstr;

/// C = alpha*A*B + beta*C in tiles of 8 x 8, with two tiles of k in shared memory.
Schedule tiled(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::u32) {
  Schedule s(test::gemm(m, n, k, dtype));
  BlockRef AB = s.block("AB");
  s.set_scope(AB, Scope::local);
  auto [i, j, l] = s.loops<3>(AB);
  auto [i_block, j_block, i_thread, j_thread] = s.tile(i, j, {8, 8});
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  s.reverse_compute_at(s.block("C"), j_thread);
  auto [k_outer, k_inner] = s.split(l, {infer, 8});
  for (const char *operand : {"A", "B"}) {
    BlockRef tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    s.bind(loops[loops.size() - 2], Axis::thread_y);
    s.bind(loops.back(), Axis::thread_x);
  }
  return s;
}

/// The main part is pipelined, and the partial tile at the end is not. They share memory.
TEST(CutLoops, AMainPartIsPipelinedByItself) {
  for (auto [m, n, k] : {std::array{8, 8, 33}, std::array{17, 7, 41}, std::array{1, 9, 47}}) {
    Schedule s = tiled(m, n, k);
    auto [whole, edge] = s.cut(s.loop("k_outer"), {-1});
    s.double_buffer(whole);
    s.unroll(s.loop("k_inner"));
    ASSERT_EQ(test::owed(s), "");
    EXPECT_TRUE(test::same_meaning(s));
    expect_right(s);
    std::string text = cuda_kernels(lower(s));
    EXPECT_THAT(text, HasSubstr("__shared__"));
    std::string main_part = text.substr(0, text.find("  A_shared_part1["));
    EXPECT_FALSE(contains(main_part, fmt::format("< {}", k))) << main_part; // no guard of k
  }
}

TEST(CutLoops, AMainPartIsVectorizedByItself) {
  for (std::int64_t n : {5, 17, 67}) {
    Workload w("scaled");
    Tensor x = w.placeholder("X", {6, 68}),
           y = w.compute("Y", {6, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 2.0F; });
    Schedule s(w.output({y}));
    s.bind(s.loop("i"), Axis::thread_x);
    auto [main, rest] = s.cut(s.loop("j"), {n / 4 * 4});
    Loop lanes = s.split(main, {infer, 4})[1];
    s.set_scope(s.cache_read(s.block("Y"), "X", Scope::local), Scope::local);
    s.compute_at(s.block("X_local"), s.loop("j_part0_outer"));
    s.vectorize(s.loops(s.block("X_local")).back());
    s.unroll(lanes);
    ASSERT_EQ(test::owed(s), "");
    expect_right(s);
    EXPECT_THAT(cuda_kernels(lower(s)), HasSubstr("float4"));
  }
}

/// Each part has an init of its own, or it is in the first one.
TEST(CutLoops, AreRightForElementsAndForTerms) {
  for (const char *loop : {"i", "j", "k"})
    for (std::int64_t point : {1, 4, -1}) {
      Schedule s(test::product(5, 7, 6));
      s.cut(s.loop(loop), {point});
      expect_right(s);
    }
}

TEST(CutLoops, KeepTheOrderOfTheTerms) {
  Schedule s(test::affine_rows(3, 24));
  s.cut(s.loops(s.block("all")).back(), {7, -5});
  expect_right(s);
}

/// A cut loop that nothing encloses is two kernels.
TEST(CutLoops, WithoutALoopAroundThemAreKernels) {
  Schedule s(test::gemm(20, 6, 5));
  auto [above, below] = s.cut(s.loop("i"), {12});
  for (Loop part : {above, below})
    s.bind(part, Axis::block_x);
  EXPECT_EQ(lower(s).kernels.size(), 3U);
  expect_right(s);
}

TEST(CutLoops, OfSizesThatAreKnownAtLaunch) {
  Workload w("rows");
  Expr n = w.size("N", {.min = 24, .max = 1000});
  Tensor x = w.placeholder("X", {Expr(3), n}, DType::u32);
  Reduce k = reduce_axis("k", n);
  Schedule s(w.output({w.compute("Y", {3}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })}));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 8});
  auto [first, middle, last] = s.cut(outer, {1, -1});
  s.unroll(s.loops(s.blocks_below(last).front()).back());
  ASSERT_EQ(test::owed(s), "");
  std::string text = cuda_kernels(lower(s));
  EXPECT_THAT(text, HasSubstr("k_outer_part1 < (N + 7) / 8 - 2"));
  for (std::int64_t size : {24, 25, 31, 200}) {
    SimExecutor simulator;
    CheckResult result = check(s, with_sizes(lower(s), std::vector{size}), simulator);
    EXPECT_TRUE(result.passed) << test::all_messages(result);
  }
}

TEST(CutLoops, OfTheTextAreThoseOfTheSimulator) {
  NEEDS_SANITIZERS();
  Schedule s = tiled(17, 15, 43);
  s.double_buffer(s.cut(s.loop("k_outer"), {-1})[0]);
  EXPECT_THAT(differences_on_host({{"tiled", s, lower(s)}}), testing::IsEmpty());
}

} // namespace
} // namespace nestsmith
