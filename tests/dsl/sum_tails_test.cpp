/// Tests tails of loops around a sum, and threads that are idle while other threads execute a sum.

#include "tests/dsl/support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::product;
using test::same_meaning;

TEST(Rfactor, DropsTheGuardOfASplitFromTheSumOfTheParts) {
  Schedule s(product(8, 5, 7));
  auto [outer, inner] = s.split<2>(s.loop("i"), {infer, 4});
  (void)outer;
  s.split(inner, {infer, 3}); // 6 iterations for 4
  EXPECT_TRUE(same_meaning(s));
  s.rfactor(s.loop("k"));
  EXPECT_TRUE(same_meaning(s)) << print(s.program());
}

TEST(Split, ATailOfALoopInsideOfAnAxisOfASum) {
  for (std::int64_t tile : {1, 2, 4, 5})
    for (std::int64_t factor : {1, 2, 3, 7}) {
      Schedule s(product(8, 5, 3));
      auto [outer, inner] = s.split<2>(s.loop("i"), {infer, tile});
      auto [rest, t] = s.split<2>(inner, {infer, factor});
      (void)rest;
      EXPECT_TRUE(same_meaning(s)) << tile << " " << factor;
      s.bind(outer, Axis::block_x);
      s.bind(t, Axis::thread_x);
      EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << print(s.program());
      s.decompose_reduction(s.block("C"), s.loop("k"));
      EXPECT_TRUE(same_meaning(s)) << tile << " " << factor;
    }
}

/// The loop repeats the sum T. A guard axis would make each repetition another instance of the block.
TEST(SplitRefuses, ATailOfALoopThatRepeatsASum) {
  Schedule s(test::broadcast(5, 7, 3));
  s.compute_at(s.block("T"), s.loops(s.block("Y"))[1]);
  Loop repeats = s.loops(s.block("Y"))[1];
  expect_refused(s, "split.tail",
                 [&] {
                   s.split(repeats, {infer, 1, 2});
                 },
                 "is not the outermost part of an axis of the sum T", {s.name(repeats), "T"});
  s.split(repeats, {infer, 1});
  EXPECT_TRUE(same_meaning(s));
}

/// Each thread along the axis would execute C = alpha*AB + beta*C again.
TEST(BindRefuses, OneIterationAroundMoreOnItsAxis) {
  Schedule s(test::gemm(6, 4, 3));
  s.set_scope(s.block("AB"), Scope::local);
  s.reverse_compute_at(s.block("C"), s.loop("i"));
  auto around = s.loops(s.block("C"));
  s.compute_at(s.block("AB"), around[1]);
  s.bind(around[2], Axis::thread_y);
  expect_refused(
      s, "bind.extent", [&] { s.bind(around[1], Axis::thread_y); },
      "the loop ax_i has 1 iteration, but ax_j below it on threadIdx.y has 4, and block C reads C, which "
      "is written below ax_i; leave ax_i serial",
      {"ax_i", "ax_j", "C"});
}

/// The loop of the sum is outside, so each thread along the axis would add the term again.
TEST(BindRefuses, OneIterationInASumAroundMoreOnItsAxis) {
  Schedule s(product(6, 5, 8));
  Loop unit = s.split(s.loop("i"), {infer, 1})[1];
  s.reorder({s.loop("i_outer"), s.loop("k"), unit, s.loop("j")});
  s.bind(s.loop("j"), Axis::thread_x);
  expect_refused(
      s, "bind.extent", [&] { s.bind(unit, Axis::thread_x); },
      "the loop i_inner has 1 iteration, but j below it on threadIdx.x has 5, and block C reads C, which "
      "is written below i_inner; leave i_inner serial",
      {"i_inner", "j", "C"});
}

/// The init would run again in each thread that the outer loop gets, after the sum is complete.
TEST(BindRefuses, OneIterationAroundAnInitWithMoreOnItsAxis) {
  for (bool init_first : {false, true}) {
    Schedule s(product(6, 5, 8));
    Loop unit = s.split(s.loop("i"), {infer, 1})[1];
    s.reorder({s.loop("i_outer"), unit, s.loop("k"), s.loop("j")});
    s.decompose_reduction(s.block("C"), s.loop("k"));
    auto of_init = s.loops_below(s.block("C_init"), unit);
    s.bind(init_first ? of_init.back() : unit, Axis::thread_x);
    expect_refused(
        s, "bind.extent", [&] { s.bind(init_first ? unit : of_init.back(), Axis::thread_x); },
        "the loop i_inner has 1 iteration, but j_init below it on threadIdx.x has 5, and block C_init writes "
        "C, which block C writes below i_inner; leave i_inner serial",
        {"i_inner", "j_init", "C_init"});
    EXPECT_TRUE(same_meaning(s));
  }
}

TEST(Split, ATailOfALoopOfOneIterationOfASum) {
  for (std::int64_t k : {1, 3, 8}) {
    Schedule s(product(4, 5, k));
    auto [outer, inner] = s.split<2>(s.loop("k"), {infer, 1});
    auto [rest, last] = s.split<2>(inner, {infer, 4});
    EXPECT_TRUE(same_meaning(s)) << print(s.program());
    EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << print(s.program());
    s.reorder({last, rest, outer});
    EXPECT_TRUE(same_meaning(s)) << print(s.program());
    s.decompose_reduction(s.block("C"), last);
    EXPECT_TRUE(same_meaning(s)) << print(s.program());
    Schedule parts(product(4, 5, k));
    Loop four = parts.split(parts.split(parts.loop("k"), {infer, 1})[1], {infer, 4})[1];
    parts.rfactor(four);
    EXPECT_TRUE(same_meaning(parts)) << print(parts.program());
  }
}

/// 64 threads compute partial sums in shared memory, and the block C adds them.
struct BlockSum {
  Schedule s{product(3, 2, 133)};
  BlockRef parts;
  Loop block, unit, sum, thread;

  explicit BlockSum(std::int64_t threads = 64) {
    parts = s.rfactor(s.split(s.loop("k"), {infer, threads})[1]);
    auto [i, j, k] = s.loops<3>(s.block("C"));
    auto [outer, inner] = s.split<2>(s.fuse(i, j), {infer, 1});
    block = outer, unit = inner, sum = k;
    s.bind(block, Axis::block_x);
    s.compute_at(parts, block);
    s.set_scope(parts, Scope::shared);
    thread = s.loops(parts)[1];
  }
};

TEST(Bind, OneThreadAddsThePartsOfABlock) {
  for (bool unit_first : {false, true}) {
    BlockSum x;
    x.s.bind(unit_first ? x.unit : x.thread, Axis::thread_x);
    x.s.bind(unit_first ? x.thread : x.unit, Axis::thread_x);
    EXPECT_TRUE(same_meaning(x.s));
    EXPECT_TRUE(x.s.obligations().empty()) << x.s.obligations().front().message << print(x.s.program());
    EXPECT_TRUE(contains(print(x.s.program()), "_inner < 64 in threadIdx.x:\n    for ax_k_inner < 64:"))
        << print(x.s.program());
    x.s.decompose_reduction(x.s.block("C"), x.sum);
    EXPECT_TRUE(same_meaning(x.s));
  }
}

TEST(Bind, OneWarpMakesThePartsOfABlock) {
  BlockSum x(32);
  x.s.bind(x.s.split(x.thread, {infer, 64})[1], Axis::thread_x);
  x.s.bind(x.unit, Axis::thread_x);
  EXPECT_TRUE(same_meaning(x.s));
  EXPECT_TRUE(x.s.obligations().empty()) << x.s.obligations().front().message << print(x.s.program());
}

TEST(Bind, ALoopOfOneIterationAroundALoopOnTheSameAxis) {
  Schedule s(product(6, 5, 8));
  auto [outer, unit] = s.split<2>(s.loop("i"), {infer, 1});
  s.bind(outer, Axis::block_x);
  BlockRef copy = s.cache_read(s.block("C"), "B", Scope::shared);
  s.compute_at(copy, unit);
  s.bind(unit, Axis::thread_x);
  s.bind(s.fuse(s.loops(copy)[2], s.loops(copy)[3]), Axis::thread_x); // 40 threads
  EXPECT_TRUE(same_meaning(s)) << print(s.program());
  EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << print(s.program());
}

/// The loop around both blocks has one iteration, so it becomes the first thread's when it is bound: T executes
/// in this thread, and Y, below a loop of its own on the same axis, in all threads.
TEST(Bind, AThreadReadsNoRegisterThatOnlyTheFirstThreadFills) {
  for (Scope scope : {Scope::local, Scope::shared}) {
    Schedule s(test::broadcast(2, 5, 2));
    BlockRef t = s.block("T"), y = s.block("Y");
    s.set_scope(t, scope);
    s.bind(s.loop("i"), Axis::block_x);
    s.reverse_compute_at(y, s.loop("i"));
    s.compute_at(t, s.loop("ax_i"));
    s.reverse_compute_at(y, s.loop("ax_i_1"));
    s.bind(s.loop("ax_l"), Axis::thread_x);
    s.bind(s.loop("ax_i_2"), Axis::thread_x);
    s.bind(s.loop("ax_i"), Axis::thread_y);
    s.bind(s.loop("ax_i_1"), Axis::thread_x);
    EXPECT_TRUE(same_meaning(s)) << print(s.program());
    std::vector<Obligation> owed = s.obligations();
    ASSERT_EQ(owed.size(), scope == Scope::local ? 1U : 0U) << print(s.program());
    if (scope == Scope::local) {
      EXPECT_THAT(owed[0].message,
                  testing::StartsWith("T is local, one copy for each thread, but block Y uses it "
                                      "below ax_i_2, which is bound to threadIdx.x again"));
    }
  }
}

TEST(BindRefuses, ALoopOfOneIterationInsideOfALoopOnTheSameAxis) {
  Schedule s(product(6, 5, 8));
  Loop unit = s.split(s.loop("j"), {infer, 1})[1];
  s.bind(s.loop("i"), Axis::thread_x);
  expect_refused(s, "bind.nested", [&] { s.bind(unit, Axis::thread_x); },
                 "block C uses both i and j_inner, but a thread has one index on an axis",
                 {"i", "j_inner", "C"});
}

} // namespace
} // namespace nestsmith
