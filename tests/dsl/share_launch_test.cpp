/// Tests share_launch: the mark in the program, refusals, and what a schedule owes.

#include "tests/dsl/support.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::same_meaning;

/// Y = X + 1 and Z = 2*X of n elements, in blocks of `threads` threads.
Schedule two(std::int64_t n, std::int64_t of_z = 4, std::optional<Size> size = {}) {
  Workload w("two");
  Expr extent = size ? w.size("n", *size) : Expr(n);
  Tensor x = w.placeholder("X", {extent}, DType::u32);
  Tensor y = w.compute("Y", {extent}, {"i"}, [&](Expr i) { return x(i) + 1; });
  Tensor z = w.compute("Z", {extent}, {"i"}, [&](Expr i) { return x(i) * 2; });
  Schedule s(w.output({y, z}));
  for (auto [block, threads] : {std::pair<const char *, std::int64_t>{"Y", 4}, {"Z", of_z}}) {
    auto [outer, inner] = s.split(s.loops(s.block(block))[0], {infer, threads});
    s.bind(outer, Axis::block_x);
    s.bind(inner, Axis::thread_x);
  }
  return s;
}

Loop outermost(const Schedule &s, const char *block) { return s.loops(s.block(block))[0]; }

TEST(ShareLaunch, MarksTheNest) {
  for (std::int64_t n : {1, 4, 5, 31}) {
    Schedule s = two(n);
    s.share_launch(outermost(s, "Z"));
    EXPECT_TRUE(contains(print(s.program()), "in blockIdx.x launched with the nest before:"));
    EXPECT_TRUE(same_meaning(s));
    EXPECT_EQ(test::owed(s), "");
  }
}

TEST(ShareLaunch, IsRefusedForOtherLoops) {
  Schedule s = two(8);
  Loop thread = s.loops(s.block("Z"))[1];
  expect_refused(s, "share_launch.outermost", [&] { s.share_launch(thread); },
                 "is inside of Z_i_outer, expected the outermost loop of a nest; name Z_i_outer", {});
  expect_refused(s, "share_launch.follows", [&] { s.share_launch(outermost(s, "Y")); },
                 "no nest is before that of the loop i_outer", {"i_outer"});
  s.share_launch(outermost(s, "Z"));
  expect_refused(s, "share_launch.once", [&] { s.share_launch(outermost(s, "Z")); },
                 "shares the launch of the nest before it already; state it once", {});

  Schedule chain(test::chain(4, 8));
  expect_refused(chain, "share_launch.outermost", [&] { chain.share_launch(outermost(chain, "U")); },
                 "is serial, expected a loop that is bound to a block axis; use bind first", {});
  chain.bind(outermost(chain, "U"), Axis::block_x);
  expect_refused(chain, "share_launch.follows", [&] { chain.share_launch(outermost(chain, "U")); },
                 "that of block T, is bound to a block axis; bind one first", {});
}

TEST(ShareLaunch, OwesEqualThreads) {
  Schedule s = two(64, 8);
  s.share_launch(outermost(s, "Z"));
  EXPECT_TRUE(contains(test::owed(s), "has 8 on threadIdx.x threads, and the nest before, of block Y, has 4 on "
                                      "threadIdx.x, expected the same number on each axis"))
      << test::owed(s);
}

TEST(ShareLaunch, OwesGridsOfKnownExtents) {
  Schedule s = two(0, 4, Size{.max = 1000});
  s.share_launch(outermost(s, "Z"));
  EXPECT_TRUE(contains(test::owed(s), "depends on sizes, expected constant extents of both grids"))
      << test::owed(s);
}

/// U reads what T writes.
TEST(ShareLaunch, OwesNestsThatExchangeNothing) {
  Schedule s(test::chain(4, 8));
  for (const char *block : {"T", "U"})
    s.bind(outermost(s, block), Axis::block_x);
  s.share_launch(outermost(s, "U"));
  EXPECT_TRUE(contains(test::owed(s),
                       "may access elements of T that the other nest writes, in blocks T and U, and "
                       "the thread blocks of one launch are unordered"))
      << test::owed(s);
}

} // namespace
} // namespace nestsmith
