/// Tests that a `branch` of a computation becomes an if/else in the kernel.

#include "dsl/expr/spelling.h"
#include "lowering/lower.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

kernel::Kernel lowered(std::int64_t n, const std::function<Definition(const Tensor &, Expr)> &element) {
  Workload w("w");
  Tensor x = w.placeholder("x", {n});
  Tensor y = w.compute("y", {n}, {"i"}, [&](Expr i) { return element(x, i); });
  Schedule s(w.output({y}));
  auto [block, thread] = s.split(s.loop("i"), {infer, 4});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return lower(s).only();
}

std::string body_of(const kernel::Kernel &kernel) {
  std::string text = kernel::print(kernel);
  return text.substr(text.find("let i: "));
}

TEST(Branches, BecomeIfAndElse) {
  auto kernel = lowered(8, [](const Tensor &x, Expr i) -> Definition {
    return branch(equal(floormod(i, 2), 0), x(i), x(i) * 2.0F) + 1.0F;
  });
  EXPECT_EQ(body_of(kernel), "let i: i32 = i_outer*4 + i_inner\n"
                             "  if i%2 == 0:  # a warp whose lanes differ runs both sides\n"
                             "    y[i] = x[i] + 1.0\n"
                             "  else:\n"
                             "    y[i] = x[i]*2.0 + 1.0\n");
}

TEST(Branches, StandInsideTheGuardOfATail) {
  auto kernel =
      lowered(7, [](const Tensor &x, Expr i) -> Definition { return branch(x(i) < 0.0F, 1.0F, 2.0F); });
  EXPECT_EQ(body_of(kernel), "let i: i32 = i_outer*4 + i_inner\n"
                             "  if i < 7:  # tail of i\n"
                             "    if x[i] < 0.0:  # a warp whose lanes differ runs both sides\n"
                             "      y[i] = 1.0\n"
                             "    else:\n"
                             "      y[i] = 2.0\n");
}

TEST(Branches, NestInSidesAndInConditions) {
  auto kernel = lowered(8, [](const Tensor &x, Expr i) -> Definition {
    Expr limit = branch(i < 4, constant(DType::f32, 3), constant(DType::f32, 5));
    return branch(x(i) < limit, branch(i < 2, x(i), constant(DType::f32, 0)), constant(DType::f32, 9));
  });
  int branches = 0;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    if (const auto *branch = kernel::as<kernel::If>(stmt)) {
      ++branches;
      EXPECT_NE(branch->otherwise, nullptr);
    }
  });
  EXPECT_EQ(branches, 5) << "one for the limit, then on each side two\n" << kernel::print(kernel);
  EXPECT_EQ(kernel::print(kernel).find("branch("), std::string::npos);
}

/// The value of branch(false, x, 7) + 1 is 8, but x + 1 may overflow on the side that is never taken. The
/// verifier checks that the kernel has no such overflow.
TEST(Branches, AreDefinedOnTheSideThatIsNeverTaken) {
  for (BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::floordiv, BinaryOp::floormod})
    for (DType dtype : {DType::i32, DType::i64})
      for (bool first : {false, true}) {
        Workload w("w");
        Tensor x = w.placeholder("x", {8}, dtype);
        Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition {
          Expr seven = branch(i < i, x(i), constant(dtype, 7)), three = constant(dtype, 3);
          return first ? binary(op, seven, three) : binary(op, three, seven);
        });
        Schedule s(w.output({y}));
        EXPECT_EQ(lower(s).kernels.size(), 1U) << spelling(op) << " " << name(dtype) << " " << first;
      }
}

} // namespace
} // namespace nestsmith
