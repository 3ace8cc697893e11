/// Tests schedules of convolutions beside what the tests of all rungs show: the counts that each rung promises,
/// the choices for a shape, and other computations.
#include "codegen/emit.h"
#include "dsl/ir/tensor.h"
#include "runtime/model/count.h"
#include "schedules/convolutions/convolutions.h"
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

kernel::Plan plan_of_conv(const std::string &rung, const Shape &shape, DType dtype = DType::f32) {
  return lower(test::rung("conv/" + rung).build(shape, dtype, target));
}

/// The requests of all warps for loads, per multiply-add of a warp.
double loads_per_product(const std::string &rung, Scope scope, DType dtype = DType::f32) {
  kernel::Plan plan = plan_of_conv(rung, {1, 16, 32, 16, 64}, dtype);
  double requests = static_cast<double>(model::count(plan.kernels.at(0), {}).total(scope, false).requests);
  return requests / (16.0 * 32 * 16 * 64 * 9 / 32);
}

TEST(Conv, EachRungLoadsLess) {
  EXPECT_NEAR(loads_per_product("naive", Scope::global), 2, 0.1);
  EXPECT_LT(loads_per_product("shared", Scope::global), 0.1);
  EXPECT_NEAR(loads_per_product("shared", Scope::shared), 2, 0.1);
  // 10 pixels and 3 x 4 channels for 3 x 8 x 4 products
  EXPECT_NEAR(loads_per_product("registers", Scope::shared), 22.0 / 96, 0.01);
  EXPECT_NEAR(loads_per_product("vectors", Scope::shared), 13.0 / 96, 0.01);
}

TEST(Conv, ThePixelsHaveTheirHalo) {
  EXPECT_EQ(plan_of_conv("registers", {1, 16, 32, 16, 64}).kernels[0].shared_bytes,
            (10 * 18 * 8 + 9 * 8 * 64) * 4);
  EXPECT_TRUE(contains(emit(EmitInfo{}, plan_of_conv("tensor", {1, 16, 32, 16, 64}, DType::f16)),
                       "__half X_shared[10 * 18 * 16];  // 1 x 10 x 18 x 16 tile of X, swizzled\n"));
}

TEST(Conv, FragmentsHaveNoBankConflicts) {
  for (bool stores : {false, true})
    EXPECT_EQ(model::count(plan_of_conv("tensor", {1, 16, 32, 16, 64}, DType::f16).kernels[0], {})
                  .total(Scope::shared, stores)
                  .conflicts,
              0U);
}

TEST(Conv, OtherShapesHaveVariants) {
  EXPECT_FALSE(convolutions::vector_variant({1, 7, 9, 8, 64}, DType::f32));
  EXPECT_EQ(convolutions::vector_variant({1, 7, 9, 3, 64}, DType::f32), (Variant{"scalar", "C % 2 = 1"}));
}

/// Of any shape: instructions multiply whole tiles, whose ends are filled with zeros.
TEST(Conv, IsRightOnMatrixUnits) {
  for (DType dtype : {DType::f16, DType::bf16})
    for (const char *rung : {"tensor", "async"})
      for (const Shape &shape :
           {Shape{1, 1, 16, 16, 1}, Shape{2, 9, 16, 32, 7}, Shape{1, 1, 1, 1, 1}, Shape{1, 9, 15, 17, 8},
            Shape{1, 2, 17, 15, 3}, Shape{2, 9, 31, 16, 9}, Shape{1, 9, 13, 24, 5}}) {
        SCOPED_TRACE(rung + (" " + std::string(name(dtype)) + " " + to_string(shape)));
        expect_right(test::rung(std::string("conv/") + rung).build(shape, dtype, target));
      }
}

/// 5 x 1 taps that are not in the middle, with other names than the rungs.
Program column_filter(const Shape &shape, DType type) {
  Workload w("column_filter");
  Expr m(shape[0]), rows(shape[1]), columns(shape[2]), c(shape[3]), k(shape[4]);
  Tensor a = w.placeholder("image", {m, rows, columns, c}, type), b = w.placeholder("taps", {5, 1, c, k}, type);
  Reduce y = reduce_axis("dy", 5), x = reduce_axis("dx", 1), z = reduce_axis("z", c);
  return w.output({w.compute(
      "out", {m, rows, columns, k}, {"q", "i", "j", "o"}, [&](const std::vector<Expr> &at) -> Definition {
        Expr row = at[1] + y - 3;
        return sum(cast(DType::f32, a.where(0 <= row && row < rows, at[0], row, at[2] + x, z)) *
                       cast(DType::f32, b(y, x, z, at[3])),
                   {y, x, z});
      })});
}

TEST(Convolutions, OfAnyComputationAreRight) {
  for (const Shape &shape : {Shape{1, 1, 1, 1, 1}, Shape{2, 9, 16, 16, 12}, Shape{1, 5, 17, 6, 66}}) {
    SCOPED_TRACE(to_string(shape));
    Program program = column_filter(shape, DType::f16);
    expect_right(convolutions::by_element(program, target));
    expect_right(convolutions::in_tiles(program, target));
    expect_right(convolutions::in_registers(program, target));
    expect_right(convolutions::in_vectors(program, shape, target));
    expect_right(convolutions::on_matrix_units(program, shape, target));
    expect_right(convolutions::with_async_copies(program, shape, target));
  }
}

TEST(Convolutions, AreRefusedForOtherComputations) {
  test::expect_user_error(
      [] {
        convolutions::in_tiles(stencil({8, 8}, DType::f32), target);
      },
      ExitCode::usage,
      "the first stage of stencil, Y, reads 1 buffer, expected the images and the filters of a "
      "convolution");
  test::expect_user_error(
      [] {
        convolutions::on_matrix_units(column_filter({1, 8, 16, 16, 8}, DType::f16), {1, 8, 16, 16, 8},
                                      make_target("sm_70"));
      },
      ExitCode::illegal_schedule, "the target lacks the intrinsic ldmatrix_a");
}

} // namespace
} // namespace nestsmith
