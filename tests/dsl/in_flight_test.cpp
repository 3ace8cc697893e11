/// Tests in_flight: what it states in the program, and refusals.

#include "dsl/ir/printer.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;

/// A product whose sums four warps compute by calls that read tiles; in ring mode, every target has them.
Schedule product_by_calls(bool pipelined) {
  Schedule s(gemm(64, 64, 64));
  BlockRef AB = s.block("AB");
  auto [i_warp, i_in] = s.split(s.loops(AB)[0], {infer, 16});
  auto [k_step, k_in] = s.split(s.loop("k"), {infer, 8});
  Loop j = s.loops(AB)[2];
  s.reorder({i_warp, k_step, i_in, j, k_in});
  BlockRef A_shared = s.cache_read(AB, "A", Scope::shared);
  s.compute_at(A_shared, k_step);
  s.decompose_reduction(AB, k_step);
  s.tensorize(i_in, "wgmma_m64n64k8_b_across");
  if (pipelined)
    s.pipeline(k_step, {{A_shared, 0, 0}, {AB, 1, 1}});
  return s;
}

TEST(InFlight, IsStatedInThePipeline) {
  Schedule s = product_by_calls(true);
  s.in_flight(s.block("AB"), 2);
  EXPECT_TRUE(contains(print(s.program()), "pipelined [A_shared: 0, AB: 1 + 2 in flight]"))
      << print(s.program());
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(InFlightRefuses, OtherBlocks) {
  Schedule s = product_by_calls(true);
  expect_refused(s, "in_flight.calls", [&] { s.in_flight(s.block("C"), 1); },
                 "block C makes no calls of matrix units that read tiles themselves", {"C"});
}

TEST(InFlightRefuses, OtherNumbers) {
  Schedule s = product_by_calls(true);
  expect_refused(s, "in_flight.count", [&] { s.in_flight(s.block("AB"), 0); },
                 "got 0 iterations in flight, expected a number from 1 to 8; leave in_flight out", {"AB"});
  expect_refused(s, "in_flight.count", [&] { s.in_flight(s.block("AB"), 9); },
                 "got 9 iterations in flight, expected a number from 1 to 8; each of them needs", {"AB"});
}

TEST(InFlightRefuses, LoopsWithoutAPipeline) {
  Schedule s = product_by_calls(false);
  expect_refused(s, "in_flight.pipeline", [&] { s.in_flight(s.block("AB"), 1); },
                 "no loop around block AB is pipelined", {"AB"});
}

} // namespace
} // namespace nestsmith
