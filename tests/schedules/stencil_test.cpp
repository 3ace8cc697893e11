/// Tests schedules of stencils beside what the tests of all rungs show: the counts that each rung promises, and
/// other computations.
#include "codegen/emit.h"
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "runtime/model/analyse.h"
#include "runtime/model/count.h"
#include "schedules/stencils/stencils.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using test::target;

kernel::Plan plan_of_stencil(const std::string &rung, const Shape &shape, DType dtype = DType::f32) {
  return lower(test::rung("stencil/" + rung).build(shape, dtype, target));
}

std::string text_of(const std::string &rung, const Shape &shape) {
  return emit(EmitInfo{}, plan_of_stencil(rung, shape));
}

/// The requests of all warps for loads, per 32 results.
double loads_per_result(const std::string &rung, Scope scope) {
  const Shape shape = {512, 512};
  double requests = 0;
  for (const kernel::Kernel &kernel : plan_of_stencil(rung, shape).kernels)
    requests += static_cast<double>(model::count(kernel, ones(kernel)).total(scope, false).requests);
  return requests / (512.0 * 512 / 32);
}

TEST(Stencil, SharedMemoryServesAsManyReadsAsL1) {
  EXPECT_NEAR(loads_per_result("naive", Scope::global), 9, 0.1);
  EXPECT_NEAR(loads_per_result("shared", Scope::shared), 9, 0.1);
  EXPECT_GT(loads_per_result("shared", Scope::global), 1) << "the tile and its halo";
  EXPECT_LT(loads_per_result("shared", Scope::global), 2);
}

/// A window of 10 x 3 elements for 8 results.
TEST(Stencil, AColumnReadsAnElementOnce) {
  EXPECT_NEAR(loads_per_result("columns", Scope::global), 30.0 / 8, 0.1);
  EXPECT_NEAR(loads_per_result("edges", Scope::global), 30.0 / 8, 0.1);
}

TEST(Stencil, ATileHasItsHalo) {
  EXPECT_EQ(plan_of_stencil("shared", {64, 64}).kernels[0].shared_bytes, 10 * 34 * 4);
  EXPECT_TRUE(
      contains(text_of("shared", {64, 64}), "__shared__ float X_shared[10 * 34];  // 10 x 34 tile of X\n"));
}

TEST(Stencil, BlocksInTheMiddleHaveNoMasks) {
  std::string text = text_of("edges", {1000, 778});
  EXPECT_TRUE(
      contains(text, "  // no tile is at an edge\n"
                     "  if (1 <= column_block && column_block < 24 && 1 <= row_block && row_block < 15) {\n"));
  EXPECT_TRUE(contains(text, "        X_local[ax_X_i * 3 + ax_X_j] = X[(X_i - 1) * 778 + (X_j - 1)];\n"));
}

/// The first of two steps takes no bytes of DRAM if it is in shared memory.
TEST(Stencil, TwoStepsInOneKernelStoreOneResult) {
  auto stores = [](const std::string &rung) {
    std::uint64_t requests = 0;
    for (const kernel::Kernel &kernel : plan_of_stencil(rung, {256, 256}).kernels)
      requests += model::count(kernel, ones(kernel)).total(Scope::global, true).requests;
    return requests;
  };
  EXPECT_EQ(plan_of_stencil("steps", {256, 256}).kernels.size(), 2U);
  EXPECT_EQ(plan_of_stencil("fused", {256, 256}).kernels.size(), 1U);
  EXPECT_EQ(stores("steps"), 2 * stores("fused"));
}

TEST(Stencil, IsRightForEachNumberOfElementsOfAThread) {
  for (const char *rows : {"2", "4", "16"})
    for (const Shape &shape : {Shape{1, 1}, Shape{17, 65}, Shape{31, 32}}) {
      SCOPED_TRACE(rows + (" of " + to_string(shape)));
      Knobs columns(KnobValues{{"rows", rows}}), edges(KnobValues{{"rows", rows}});
      expect_right(stencils::in_columns(stencil(shape, DType::f16), target, columns));
      expect_right(stencils::with_edges(stencil(shape, DType::u32), target, edges));
    }
}

TEST(Stencil, KeepsTheMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(test::rung("stencil/shared").build({9, 35}, DType::u32, target)));
  EXPECT_TRUE(test::same_meaning(test::rung("stencil/fused").build({33, 34}, DType::u32, target)));
}

/// The largest of five neighbours, which are not symmetric, minus one of another array, with other names than
/// the rungs.
Program erosion(const Shape &shape) {
  Workload w("erosion");
  Expr m(shape[0]), n(shape[1]);
  Tensor a = w.placeholder("a", {m, n}), b = w.placeholder("b", {m, n});
  return w.output({w.compute("c", {m, n}, {"y", "x"}, [&](const Expr &y, const Expr &x) -> Definition {
    Expr most = a(y, x);
    for (auto [row, column] : {std::pair{-2, 0}, {0, -1}, {0, 3}, {1, 1}}) {
      Expr r = y + row, c = x + column;
      most = maximum(most, a.where(0 <= r && r < m && 0 <= c && c < n, r, c));
    }
    return most - b(y, x);
  })});
}

TEST(Stencils, OfAnyComputationAreRight) {
  for (const Shape &shape : {Shape{1, 1}, Shape{9, 33}, Shape{70, 64}}) {
    SCOPED_TRACE(to_string(shape));
    Program program = erosion(shape);
    Knobs columns, edges;
    expect_right(stencils::by_rows(program, target));
    expect_right(stencils::in_blocks(program, target));
    expect_right(stencils::in_shared_tiles(program, target));
    expect_right(stencils::in_columns(program, target, columns));
    expect_right(stencils::with_edges(program, target, edges));
  }
}

/// Differences of a smoothed array: the two steps are different computations.
TEST(Stencils, OfTwoDifferentStepsAreRight) {
  for (const Shape &shape : {Shape{1, 1}, Shape{33, 31}, Shape{40, 70}}) {
    SCOPED_TRACE(to_string(shape));
    Workload w("edges");
    Expr m(shape[0]), n(shape[1]);
    Tensor a = w.placeholder("a", {m, n});
    Tensor smooth = w.compute("smooth", {m, n}, {"y", "x"}, [&](const Expr &y, const Expr &x) -> Definition {
      return a(y, x) + a.where(x >= 1, y, x - 1) + a.where(x + 2 < n, y, x + 2);
    });
    Tensor b = w.compute("b", {m, n}, {"y", "x"}, [&](const Expr &y, const Expr &x) -> Definition {
      return smooth(y, x) - smooth.where(y >= 1, y - 1, x);
    });
    Program program = w.output({b});
    Knobs knobs;
    expect_right(stencils::step_by_step(program, target, knobs));
    expect_right(stencils::two_steps(program, target));
  }
}

TEST(Stencils, AreRefusedForOtherComputations) {
  test::expect_user_error(
      [] {
        stencils::two_steps(stencil({8, 8}, DType::f32), target);
      },
      ExitCode::usage, "stencil has 1 stage, expected two steps of a stencil");
  test::expect_user_error([] { stencils::in_blocks(vector_sum({8}, DType::f32), target); },
                          ExitCode::illegal_schedule, "block y reduces over column_block");
}

} // namespace
} // namespace nestsmith
