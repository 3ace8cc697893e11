/// spread: the mark in the program, and what it refuses.

#include "dsl/trace.h"
#include "tests/lowering/fragment_gemm.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::FragmentGemm;

TEST(Spread, MarksTheLoopAndChangesNothing) {
  FragmentGemm t(7, 6, 37, 16);
  t.join_and_spread(2, false);
  EXPECT_TRUE(contains(print(t.s.program()), "for ax_A_i_ax_A_k_outer < 4 unrolled spread:"))
      << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_TRUE(t.s.obligations().empty());
  EXPECT_EQ(to_cpp(t.s.trace().back()), "s.spread(ax_B_k_ax_B_j_outer);");
}

TEST(SpreadRefuses, LoopsWithAnotherOrder) {
  FragmentGemm t(8, 8, 48, 16);
  t.join(3, true, 0);
  Loop parts = t.s.loops_below(t.tiles[0], t.k_outer)[0];
  auto spread = [&] { t.s.spread(parts); };
  expect_refused(
      t.s, "spread.unrolled", spread,
      "the loop ax_A_i_ax_A_k_outer is serial, expected an unrolled loop whose iterations have no other "
      "order; use unroll first",
      {"ax_A_i_ax_A_k_outer"});
  expect_refused(t.s, "spread.unrolled", [&] { t.s.spread(t.k_inner); },
                 "the loop k_inner is unrolled and pipelined, expected", {"k_inner"});
  t.spread(t.tiles[0]);
  expect_refused(t.s, "spread.unrolled", spread, "the loop ax_A_i_ax_A_k_outer is unrolled and spread already",
                 {"ax_A_i_ax_A_k_outer"});
}

TEST(SpreadRefuses, LoopsThatAreNoNestOfAPipeline) {
  FragmentGemm t(8, 8, 48, 16);
  Loop parts = t.s.loops_below(t.tiles[0], t.k_outer)[0];
  t.s.unroll(parts);
  expect_refused(
      t.s, "spread.nest", [&] { t.s.spread(parts); },
      "the loop ax_A_i_ax_A_k_outer is not the outermost loop of a nest in a pipelined loop; name a loop "
      "directly below the loop of the pipeline",
      {"ax_A_i_ax_A_k_outer"});
}

TEST(SpreadRefuses, NestsBeforeTheJoinedLoop) {
  for (bool join : {false, true}) {
    FragmentGemm t(8, 8, 48, 16);
    t.pipeline_inner();
    t.pipeline_outer(3, true, join ? 2 : 0);
    if (join)
      t.s.join_pipelines(t.k_inner);
    Loop parts = t.s.loops_below(t.tiles[0], t.k_outer)[0];
    t.s.unroll(parts);
    expect_refused(
        t.s, "spread.joined", [&] { t.s.spread(parts); },
        "in the pipeline of k_outer, no nest with an earlier order than that of ax_A_i_ax_A_k_outer is "
        "joined; give ax_A_i_ax_A_k_outer a later order, and use join_pipelines first",
        {"k_outer", "ax_A_i_ax_A_k_outer"});
  }
}

} // namespace
} // namespace nestsmith
