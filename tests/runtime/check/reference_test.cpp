/// Tests the values and the error bounds of the reference.

#include "runtime/check/reference.h"

#include "dsl/expr/error.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/check.h"
#include "tests/runtime/check/gemm_program.h"

#include <cmath>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::checked_gemm;

/// Computes one element of A*B without the code under test.
double dot(const Array &a, const Array &b, std::int64_t i, std::int64_t j, bool absolute) {
  std::int64_t k = a.shape()[1], n = b.shape()[1];
  double sum = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    double x = a.at(i * k + p).to_double(), y = b.at(p * n + j).to_double();
    sum += absolute ? std::abs(x * y) : x * y;
  }
  return sum;
}

TEST(Reference, GemmHasItsValueMagnitudeAndBound) {
  Program program = checked_gemm(5, 7, 130);
  Inputs in = make_inputs(program, CheckRun::random, 3);
  Reference got = reference(program, in.arrays, in.scalars);
  ASSERT_EQ(got.outputs.size(), 1U);
  EXPECT_EQ(got.outputs[0].buffer->name, "C");
  double alpha = in.scalars[0].to_double(), beta = in.scalars[1].to_double();
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 7; ++j) {
      auto at = static_cast<std::size_t>(i * 7 + j);
      double c = in.arrays[2].at(i * 7 + j).to_double();
      EXPECT_NEAR(got.outputs[0].value[at], alpha * dot(in.arrays[0], in.arrays[1], i, j, false) + beta * c,
                  1e-12);
      double magnitude =
          std::abs(alpha) * dot(in.arrays[0], in.arrays[1], i, j, true) + std::abs(beta) * std::abs(c);
      EXPECT_NEAR(got.outputs[0].magnitude[at], magnitude, 1e-12);
      EXPECT_GE(got.largest, magnitude);
      // At most the bound of Higham, Lemma 3.1, for K + 3 roundings.
      double bound = got.outputs[0].error_at(i * 7 + j);
      EXPECT_GT(bound, 0);
      EXPECT_LE(bound, 133 * 0x1.001p-24 * magnitude);
    }
}

TEST(Reference, OneByOneByOne) {
  Program program = checked_gemm(1, 1, 1);
  std::vector<Array> arrays(3, Array(DType::f32, {1, 1}));
  arrays[0].set(0, Scalar::of(DType::f32, 3.0F));
  arrays[1].set(0, Scalar::of(DType::f32, -5.0F));
  arrays[2].set(0, Scalar::of(DType::f32, 7.0F));
  std::vector<Scalar> scalars = {Scalar::of(DType::f32, 2.0F), Scalar::of(DType::f32, 0.5F)};
  Reference got = reference(program, arrays, scalars);
  EXPECT_EQ(got.outputs[0].value[0], -26.5);
  EXPECT_EQ(got.outputs[0].magnitude[0], 33.5);
}

TEST(Reference, BetaZeroDoesNotReadC) {
  Program program = checked_gemm(2, 3, 4);
  Inputs in = make_inputs(program, CheckRun::switched, 1);
  EXPECT_TRUE(std::isnan(in.arrays[2].view<float>()[0]));
  EXPECT_EQ(in.scalars[1].to_double(), 0);
  Reference right = reference(program, in.arrays, in.scalars);
  for (double value : right.outputs[0].value)
    EXPECT_TRUE(std::isfinite(value));
  // Without the mask, the reference computes 0 * NaN, which is NaN.
  Program unmasked = checked_gemm(2, 3, 4, DType::f32, false);
  EXPECT_FALSE(switched_read(unmasked).has_value());
  EXPECT_TRUE(std::isnan(reference(unmasked, in.arrays, in.scalars).outputs[0].value[0]));
}

TEST(Reference, RingWrapsAround) {
  Program program = checked_gemm(3, 2, 50, DType::u32);
  Inputs in = make_inputs(program, CheckRun::ring, 9);
  Reference got = reference(program, in.arrays, in.scalars);
  auto a = in.arrays[0].view<std::uint32_t>(), b = in.arrays[1].view<std::uint32_t>(),
       c = in.arrays[2].view<std::uint32_t>();
  auto alpha = in.scalars[0].as<std::uint32_t>(), beta = in.scalars[1].as<std::uint32_t>();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      std::uint32_t sum = 0;
      for (std::size_t k = 0; k < 50; ++k)
        sum += a[i * 50 + k] * b[k * 2 + j];
      EXPECT_EQ(got.outputs[0].value[i * 2 + j], static_cast<double>(alpha * sum + beta * c[i * 2 + j]));
    }
}

/// Computes sum_k X[k, i] * Y[j, k] once as a product, and once with an extra term, so that the reference
/// does not recognize a product.
TEST(Reference, TransposedContractionAgreesWithTheElementwiseEvaluator) {
  auto build = [](bool plain) {
    Workload w("transposed");
    Tensor x = w.placeholder("X", {6, 4}), y = w.placeholder("Y", {5, 6});
    Reduce k = reduce_axis("k", 6);
    Tensor t = w.compute("T", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) {
      Expr product = y(j, k) * x(k, i);
      return sum(plain ? product : product + product, k);
    });
    return w.output({t});
  };
  Program plain = build(true), doubled = build(false);
  auto contraction = as_contraction(*blocks_of(plain.body)[0]);
  ASSERT_TRUE(contraction.has_value());
  EXPECT_EQ(contraction->x->name, "X");
  EXPECT_TRUE(contraction->x_transposed && contraction->y_transposed);
  EXPECT_EQ(std::tuple(contraction->m, contraction->n, contraction->k), std::tuple(4, 5, 6));
  EXPECT_FALSE(as_contraction(*blocks_of(doubled.body)[0]).has_value());

  Inputs in = make_inputs(plain, CheckRun::random, 5);
  Reference once = reference(plain, in.arrays, in.scalars), twice = reference(doubled, in.arrays, in.scalars);
  for (std::size_t n = 0; n < 20; ++n) {
    EXPECT_NEAR(2 * once.outputs[0].value[n], twice.outputs[0].value[n], 1e-14);
    EXPECT_NEAR(2 * once.outputs[0].magnitude[n], twice.outputs[0].magnitude[n], 1e-14);
  }
  for (std::int64_t n = 0; n < 20; ++n)
    EXPECT_NEAR(2 * once.outputs[0].error_at(n), twice.outputs[0].error_at(n), 0x1p-20);
}

/// The reference computes a batch as one product per matrix. It computes other sums element by element.
TEST(Reference, BatchesAreProducts) {
  auto build = [](bool plain) {
    Workload w("batch");
    Tensor x = w.placeholder("X", {3, 4, 6}), y = w.placeholder("Y", {3, 5, 6});
    Reduce k = reduce_axis("k", 6);
    return w.output({w.compute("T", {3, 4, 5}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
      return sum(x(b, i, k) * y(plain ? b : Expr(2) - b, j, k), k);
    })});
  };
  Program plain = build(true), turned = build(false);
  auto contraction = as_contraction(*blocks_of(plain.body)[0]);
  ASSERT_TRUE(contraction.has_value());
  EXPECT_EQ(contraction->batch, 3);
  EXPECT_TRUE(contraction->y_transposed && !contraction->x_transposed);
  EXPECT_FALSE(as_contraction(*blocks_of(turned.body)[0]).has_value());
  EXPECT_FALSE(as_gemm(plain).has_value());

  Inputs in = make_inputs(plain, CheckRun::random, 5), back = in;
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t e = 0; e < 30; ++e)
      back.arrays[1].set(b * 30 + e, in.arrays[1].at((2 - b) * 30 + e));
  Reference once = reference(plain, in.arrays, in.scalars),
            other = reference(turned, back.arrays, back.scalars);
  for (std::size_t n = 0; n < 60; ++n) {
    EXPECT_NEAR(once.outputs[0].value[n], other.outputs[0].value[n], 1e-14);
    EXPECT_NEAR(once.outputs[0].magnitude[n], other.outputs[0].magnitude[n], 1e-14);
  }
}

TEST(Reference, StagesMasksAndSelects) {
  Workload w("stencil");
  Tensor x = w.placeholder("X", {8});
  Tensor d = w.compute("D", {8}, {"i"}, [&](Expr i) { return x(i) - x.where(Expr(1) <= i, i - 1); });
  Tensor r = w.compute("R", {8}, {"i"}, [&](Expr i) { return select(i < 4, max(d(i), 0.0F), d(i) / 2.0F); });
  Program program = w.output({r});
  Inputs in = make_inputs(program, CheckRun::random, 2);
  Reference got = reference(program, in.arrays, in.scalars);
  EXPECT_TRUE(got.divides);
  for (std::int64_t i = 0; i < 8; ++i) {
    double before = i >= 1 ? in.arrays[0].at(i - 1).to_double() : 0;
    double difference = in.arrays[0].at(i).to_double() - before;
    EXPECT_EQ(got.outputs[0].value[static_cast<std::size_t>(i)],
              i < 4 ? std::max(difference, 0.0) : difference / 2);
  }
}

TEST(Reference, ReadOutOfBoundsIsRefused) {
  Workload w("shifted");
  Tensor x = w.placeholder("X", {8});
  Tensor y = w.compute("Y", {8}, {"i"}, [&](Expr i) { return x(i + 1); });
  Program program = w.output({y});
  Inputs in = make_inputs(program, CheckRun::random, 2);
  try {
    reference(program, in.arrays, in.scalars);
    FAIL() << "accepted";
  } catch (const UserError &e) {
    EXPECT_STREQ(e.what(), "the computation reads X out of bounds: the index of dimension 0 is 8, expected 0 "
                           "to 7; give the read a mask, or change the shape: "
                           "select and branch read both of their operands");
  }
}

/// Only a mask protects a read. The condition of a select or a branch does not.
TEST(Reference, ReadOutOfBoundsOnTheSideNotTakenIsRefused) {
  auto run = [](const std::function<Expr(const Tensor &, Expr)> &element) {
    Workload w("next");
    Tensor x = w.placeholder("X", {8});
    Program program =
        w.output({w.compute("Y", {8}, {"i"}, [&](Expr i) -> Definition { return element(x, i); })});
    Inputs in = make_inputs(program, CheckRun::random, 2);
    reference(program, in.arrays, in.scalars);
  };
  EXPECT_THROW(run([](const Tensor &x, Expr i) { return branch(i < 7, x(i + 1), 0.0F); }), UserError);
  EXPECT_THROW(run([](const Tensor &x, Expr i) { return select(i < 7, x(i + 1), 0.0F); }), UserError);
  EXPECT_NO_THROW(run([](const Tensor &x, Expr i) { return branch(i < 7, x.where(i < 7, i + 1), 0.0F); }));
}

TEST(WorkloadInfo, RecognizesGemm) {
  auto found = as_gemm(checked_gemm(3, 4, 5));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->product.x->name, "A");
  EXPECT_EQ(found->product.y->name, "B");
  EXPECT_EQ(found->c->name, "C");
  EXPECT_EQ(found->alpha->name, "alpha");
  EXPECT_EQ(found->beta->name, "beta");
  EXPECT_EQ(operation_count(checked_gemm(3, 4, 5)), 2.0 * 3 * 4 * 5);
  EXPECT_EQ(switched_read(checked_gemm(3, 4, 5))->scalar->name, "beta");
}

TEST(WorkloadInfo, RecognizesABareProductAndNothingElse) {
  Workload w("product");
  Tensor a = w.placeholder("A", {3, 3}), b = w.placeholder("B", {3, 3});
  Reduce k = reduce_axis("k", 3);
  Tensor c = w.compute("C", {3, 3}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(k, j), k); });
  Program product = w.output({c});
  ASSERT_TRUE(as_gemm(product).has_value());
  EXPECT_EQ(as_gemm(product)->alpha, nullptr);

  Tensor e = w.compute("E", {3, 3}, {"i", "j"}, [&](Expr i, Expr j) { return c(i, j) + a(i, j); });
  EXPECT_FALSE(as_gemm(w.output({e})).has_value());
  Tensor d = w.compute("D", {3, 3}, {"i", "j"}, [&](Expr i, Expr j) { return c(j, i); });
  EXPECT_FALSE(as_gemm(w.output({d})).has_value());
}

} // namespace
} // namespace nestsmith
