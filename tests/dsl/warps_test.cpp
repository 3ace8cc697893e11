/// Tests loops that are bound to warps and lanes: the refusals of bind.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;

TEST(BindRefuses, OtherAxesAndExtentsThanThoseOfWarps) {
  Schedule s(gemm(64, 96, 48));
  auto [i, j] = s.loops<2>(s.block("C"));
  auto [j_outer, j_inner] = s.split(j, {infer, 16});
  expect_refused(
      s, "bind.lane", [&] { s.bind(j_inner, Axis::lane); },
      "the loop C_j_inner has 16 iterations, but a warp has 32 lanes; split or fuse it so that it has 32",
      {"C_j_inner"});
  auto [i_outer, i_inner] = s.split(i, {infer, 32});
  s.bind(i_inner, Axis::lane);
  expect_refused(s, "bind.warps", [&] { s.bind(j_outer, Axis::thread_y); },
                 "the loop C_i_inner is bound to lane, but lane numbers the threads of threadIdx.x only; bind "
                 "C_j_outer to threadIdx.x, warp or lane",
                 {"C_i_inner", "C_j_outer"});
  s.bind(i_outer, Axis::warp);
  expect_refused(s, "bind.extent", [&] { s.bind(j_outer, Axis::warp); },
                 "the loop C_j_outer has 6 iterations, but C_i_outer on warp has 2",
                 {"C_i_outer", "C_j_outer"});
  expect_refused(s, "bind.extent", [&] { s.bind(j_inner, Axis::thread_x); },
                 "the loop C_j_inner has 16 iterations, but C_i_outer on warp needs 64 threads on threadIdx.x",
                 {"C_i_outer", "C_j_inner"});
}

TEST(Warps, OneOfTheirThreadsExecutesALoopOfOneIteration) {
  Schedule s(test::chain(3, 64));
  BlockRef T = s.block("T"), Y = s.block("Y");
  s.compute_inline(s.block("U"));
  auto [i, j] = s.loops<2>(T);
  s.reverse_compute_at(Y, i);
  s.set_scope(T, Scope::shared);
  auto [warp, lane] = s.split<2>(j, {2, 32});
  auto [first, all] = s.split<2>(s.loops(Y).back(), {1, 64}, named("first", "all"));
  s.bind(i, Axis::block_x);
  s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  EXPECT_FALSE(s.obligations().empty()) << "all threads would write Y";
  s.bind(first, Axis::thread_x);
  EXPECT_TRUE(
      contains(print(s.program()), "for first < 64 in threadIdx.x:\n      for all < 64:\n        block Y("));
  EXPECT_TRUE(contains(print(s.program()), "first = first) where first < 1:"));
  EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
  EXPECT_TRUE(test::same_meaning(s));
}

} // namespace
} // namespace nestsmith
