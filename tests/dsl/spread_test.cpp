/// Tests spread: the mark in the program and the refusals.

#include "dsl/ir/pipeline.h"
#include "dsl/schedule/trace.h"
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

/// The blocks in the order of a step, with the stage, and the stage in the joined loop. `*`: spread.
std::string step_text(const FragmentGemm &t) {
  const For *outer = nullptr;
  walk(t.s.program().body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt); loop && loop->var->name == "k_outer")
      outer = loop;
    return outer == nullptr;
  });
  PipelineStep step = pipeline_step(*outer);
  std::string text;
  for (std::size_t n = 0; n < step.nests.size(); ++n) {
    const StepNest &x = step.nests[n];
    text += step.joined && n == step.begin_of_joined ? "| " : "";
    text += blocks_of(x.nest.stmt).front()->id->name + " " + std::to_string(x.nest.stage);
    text += (x.inner_stage ? "." + std::to_string(*x.inner_stage) : "") + (x.spread ? "* " : " ");
  }
  return text;
}

TEST(StepOfPipeline, HasTheNestsOfTheJoinedLoopAroundThoseWithALaterOrder) {
  FragmentGemm apart(8, 8, 48, 16), last(8, 8, 48, 16), first(8, 8, 48, 16), spread(8, 8, 48, 16);
  apart.pipeline_outer(2, false);
  EXPECT_EQ(step_text(apart), "A_shared 0 B_shared 0 A_shared_local 1 ");
  last.join(2, false);
  EXPECT_EQ(step_text(last), "A_shared 0 B_shared 0 | A_shared_local 1.0 B_shared_local 1.0 AB 1.1 ");
  first.join(2, false, 0);
  EXPECT_EQ(step_text(first), "| A_shared_local 1.0 B_shared_local 1.0 A_shared 0 B_shared 0 AB 1.1 ");
  spread.join_and_spread(2, false);
  EXPECT_EQ(step_text(spread), "| A_shared_local 1.0 B_shared_local 1.0 A_shared 0* B_shared 0* AB 1.1 ");
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

/// A tile of A in shared memory that is copied through registers: `reg` loads and `tile` stores.
struct StagedTile {
  Schedule s;
  BlockRef reg, tile;
  Loop k_outer;

  explicit StagedTile(std::int64_t tile_stage = 0) : s(test::product(2, 2, 16)) {
    auto C = s.block("C");
    auto [outer, inner] = s.split(s.loops(C)[2], {infer, 4});
    k_outer = outer;
    tile = s.cache_read(C, "A", Scope::shared);
    auto fragment = s.cache_read(C, "A_shared", Scope::local);
    reg = s.cache_read(tile, "A", Scope::local);
    s.compute_at(fragment, inner);
    s.compute_at(tile, outer);
    s.compute_at(reg, outer);
    s.unroll(inner);
    s.pipeline(inner, {{fragment, 0, 0}, {C, 1, 1}});
    s.pipeline(outer, {{fragment, tile_stage + 1, 0},
                       {C, tile_stage + 1, 0},
                       {reg, 0, tile_stage == 0 ? 1 : 2},
                       {tile, tile_stage, tile_stage == 0 ? 2 : 1}});
    s.join_pipelines(inner);
  }
  Loop parts(BlockRef block) {
    auto loops = s.loops_below(block, k_outer);
    s.reorder({loops[1], loops[0]});
    s.unroll(loops[1]);
    return loops[1];
  }
};

TEST(SpreadRefuses, NestsThatNeedAnEarlierOne) {
  StagedTile t;
  Loop parts = t.parts(t.tile);
  expect_refused(t.s, "spread.order", [&] { t.s.spread(parts); },
                 "parts of ax_A_k would execute before block A_local, but block A_shared reads A_local, which "
                 "block A_local "
                 "writes",
                 {"A_shared", "A_local"});
}

/// The store of the last iteration must execute before the load of the next iteration into the same registers.
TEST(SpreadRefuses, NestsThatOverwriteTheInputOfAnEarlierOne) {
  StagedTile t(1);
  Loop parts = t.parts(t.reg);
  expect_refused(
      t.s, "spread.order", [&] { t.s.spread(parts); },
      "parts of ax_A_k_1 would execute before block A_shared, but block A_local writes A_local, which block "
      "A_shared reads",
      {"A_shared", "A_local"});
}

/// A later nest may read the result of the parts, because it executes after the last part.
TEST(Spread, NestsThatALaterOneNeeds) {
  StagedTile t;
  t.s.spread(t.parts(t.reg));
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_TRUE(t.s.obligations().empty());
  Loop parts = t.parts(t.tile); // the parts of both nests would alternate
  expect_refused(t.s, "spread.order", [&] { t.s.spread(parts); },
                 "parts of ax_A_k would execute before block A_local", {"A_shared"});
}

} // namespace
} // namespace nestsmith
