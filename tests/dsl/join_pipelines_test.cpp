/// Tests join_pipelines: the mark in the program and the refusals.

#include "dsl/schedule/trace.h"
#include "tests/lowering/fragment_gemm.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::FragmentGemm;

TEST(JoinPipelines, MarksTheLoopAndChangesNothing) {
  for (bool async : {false, true}) {
    FragmentGemm t(7, 6, 11);
    t.join(2, async);
    EXPECT_TRUE(contains(print(t.s.program()),
                         "unrolled pipelined [A_shared_local: 0, B_shared_local: 0, AB: 1] joined:"))
        << print(t.s.program());
    EXPECT_TRUE(test::same_meaning(t.s));
    EXPECT_TRUE(t.s.obligations().empty());
    EXPECT_EQ(to_cpp(t.s.trace().back()), "s.join_pipelines(k_inner);");
  }
}

TEST(JoinPipelinesRefuses, LoopsThatAreNoNestedPipelines) {
  FragmentGemm t(8, 8, 12);
  auto join = [&] { t.s.join_pipelines(t.k_inner); };
  expect_refused(
      t.s, "join_pipelines.nested", join,
      "the loop k_inner is serial and not pipelined, expected an unrolled and pipelined loop; use unroll and "
      "pipeline first",
      {"k_inner"});
  t.pipeline_inner();
  expect_refused(
      t.s, "join_pipelines.nested", join,
      "the loop k_inner is not directly below a pipelined loop; use pipeline for the loop around it first",
      {"k_inner"});
  t.pipeline_outer(2, true);
  t.s.join_pipelines(t.k_inner);
  expect_refused(t.s, "join_pipelines.nested", join, "the loop k_inner is unrolled and joined already",
                 {"k_inner"});
}

TEST(JoinPipelinesRefuses, NestsOfTheLastStageBesideIt) {
  FragmentGemm t(8, 8, 12);
  t.pipeline_inner();
  t.s.pipeline(
      t.k_outer,
      {{t.tiles[0], 0, 0}, {t.tiles[1], 1, 1}, {t.fragments[0], 1, 2}, {t.fragments[1], 1, 2}, {t.AB, 1, 2}});
  expect_refused(
      t.s, "join_pipelines.last", [&] { t.s.join_pipelines(t.k_inner); },
      "in the pipeline of k_outer, the nest of k_inner has the stage 1, and block B_shared has 1; give k_inner "
      "the last stage",
      {"k_inner", "B_shared"});
}

/// Registers have no dynamic index, so each iteration of the outer loop must start with the same copy of the
/// registers.
TEST(JoinPipelinesRefuses, BrokenRoundsOfRegisters) {
  FragmentGemm t(8, 8, 12, 3);
  t.pipeline_inner();
  t.pipeline_outer(2, true);
  expect_refused(
      t.s, "join_pipelines.steps", [&] { t.s.join_pipelines(t.k_inner); },
      "the loop k_inner has 3 iterations, 2 stages and 2 copies of its registers; expected at least 2 "
      "iterations, and a multiple of 2",
      {"k_inner"});
}

TEST(JoinPipelinesRefuses, WritesToSharedMemoryAhead) {
  FragmentGemm t(8, 8, 12, 4, Scope::shared);
  t.pipeline_inner();
  t.pipeline_outer(2, true);
  expect_refused(
      t.s, "join_pipelines.early", [&] { t.s.join_pipelines(t.k_inner); },
      "block A_shared_shared would write A_shared_shared (shared memory) for the next iteration of k_outer "
      "while this one may use it; expected registers that only blocks below k_inner use",
      {"A_shared_shared"});
}

/// X = F*G, in place. G has its own nest in the loop i, at the given order in the pipeline of i. F and X are in
/// the loop j.
struct InPlace {
  Schedule s;
  BlockRef G = s.block("G"), F = s.block("F"), X = s.block("X");
  Loop i = s.loops<2>(F)[0], j = s.loops<2>(F)[1];

  /// Returns the value of F or G, given the elements of X and Y.
  using Function = Expr (*)(const Expr &x, const Expr &y);
  static Program program(Function f, Function g) {
    Workload w("in_place");
    Tensor x = w.inout("X", {4, 4}, DType::u32);
    Tensor y = w.placeholder("Y", {4, 4}, DType::u32);
    Tensor G = w.compute("G", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) { return g(x(i, j), y(i, j)); });
    Tensor F = w.compute("F", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) { return f(x(i, j), y(i, j)); });
    w.update(x, {"i", "j"},
             [&](const std::vector<Expr> &at) -> Definition { return F(at[0], at[1]) * G(at[0], at[1]); });
    return w.output();
  }
  InPlace(Function f, Function g, std::int64_t order) : s(program(f, g)) {
    s.set_scope(G, Scope::shared);
    s.set_scope(F, Scope::local);
    s.reverse_compute_at(X, j);
    s.compute_at(G, i);
    s.unroll(j);
    s.pipeline(j, {{F, 0, 0}, {X, 1, 1}});
    s.pipeline(i, {{G, 0, order}, {F, 1, 1 - order}, {X, 1, 1 - order}});
  }
};
Expr of_x(const Expr &x, const Expr &) { return x + 1; }
Expr of_y(const Expr &, const Expr &y) { return y + 1; }

/// F reads X ahead, and a later block of the same nest overwrites X.
TEST(JoinPipelinesRefuses, ReadsOfWhatIsWrittenLater) {
  InPlace t(of_x, of_y, 0);
  expect_refused(
      t.s, "join_pipelines.early", [&] { t.s.join_pipelines(t.j); },
      "block F would read X for the next iteration of F_i before block X writes it; give X an earlier stage of "
      "F_i than F_j",
      {"F", "X"});
}

/// The last write of X would execute after G reads the next row.
TEST(JoinPipelinesRefuses, DependencesOfItsLastSteps) {
  InPlace t(of_y, of_x, 1);
  expect_refused(t.s, "join_pipelines.between", [&] { t.s.join_pipelines(t.j); },
                 "block G would read X before the last steps of F_j, in which block X writes it; give G an "
                 "earlier order of "
                 "F_i than F_j",
                 {"G", "X"});
  InPlace earlier(of_y, of_x, 0);
  earlier.s.join_pipelines(earlier.j);
  InPlace independent(of_y, of_y, 1);
  independent.s.join_pipelines(independent.j);
  EXPECT_TRUE(test::same_meaning(independent.s));
}

} // namespace
} // namespace nestsmith
