/// Tests loops that are bound to warps and lanes: the refusals of bind.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

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

} // namespace
} // namespace nestsmith
