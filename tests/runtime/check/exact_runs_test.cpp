/// Tests the runs of a check that compare all bits: their inputs, and the errors that they detect.
#include "dsl/ir/interpret.h"
#include "dsl/ir/tensor.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "tests/runtime/check/gemm_program.h"
#include "tests/runtime/check/right.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using test::checked_gemm;
using test::copy;
using testing::HasSubstr;

using Element = std::function<Expr(Expr)>;
constexpr std::int64_t length = 100;

/// Y[i] = element(X)(i), where X and Y have `length` elements.
Program map(DType dtype, const std::function<Expr(const Tensor &, Expr)> &element) {
  Workload w("map");
  Tensor x = w.placeholder("X", {length}, dtype);
  return w.output({w.compute("Y", {length}, {"i"}, [&](Expr i) -> Definition { return element(x, i); })});
}

CheckResult check_with_infinities(const Program &program) {
  return Checker().check(program, as_computation(program), {.infinite = true});
}

/// Checks a program against a kernel that computes each Y[i] as candidate(X[i]).
template <class To, class From>
CheckResult check_map(const Program &program, const std::function<To(From)> &candidate) {
  return Checker().check(program,
                         [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
                           std::ranges::transform(arrays[0].view<From>(), arrays[1].view<To>().begin(),
                                                  candidate);
                           return Execution{};
                         },
                         {.infinite = true});
}

TEST(ExactRuns, CompareIntegersBeyondTheRangeOfADouble) {
  for (DType dtype : {DType::i64, DType::u64}) {
    EXPECT_TRUE(check_with_infinities(copy(dtype)).passed) << name(dtype);
    // Both numbers are equal as doubles.
    CheckResult wrong = check_map<std::uint64_t, std::uint64_t>(copy(dtype), [](std::uint64_t x) {
      return static_cast<double>(x ^ 1) == static_cast<double>(x) && (x >> 63) == 0 ? x ^ 1 : x;
    });
    EXPECT_FALSE(wrong.passed) << name(dtype);
    EXPECT_EQ(wrong.exact(), false);
  }
}

TEST(ExactRuns, ReadAndPrintU64AboveI64) {
  Program program = map(DType::u32, [](const Tensor &x, Expr i) {
    return cast(DType::u64, x(i) / 2) - 1 - cast(DType::u64, x(i));
  });
  EXPECT_TRUE(check_with_infinities(program).passed);
  CheckResult wrong = check_map<std::uint64_t, std::uint32_t>(program, [](std::uint32_t) { return ~0ULL; });
  EXPECT_THAT(all_messages(wrong), HasSubstr("got 18446744073709551615, expected "));
}

TEST(ExactRuns, WrapSignedIntegersAround) {
  Program next = map(DType::i32, [](const Tensor &x, Expr i) { return x(i) + 1; });
  EXPECT_TRUE(check_with_infinities(next).passed);
  auto saturated = [](std::int32_t x) { return x == std::numeric_limits<std::int32_t>::max() ? x : x + 1; };
  EXPECT_FALSE((check_map<std::int32_t, std::int32_t>(next, saturated).passed));
  for (DType dtype : {DType::i32, DType::i64, DType::u64}) {
    CheckResult product = check_with_infinities(checked_gemm(5, 6, 7, dtype));
    EXPECT_TRUE(product.passed) << name(dtype) << all_messages(product);
  }
}

TEST(ExactRuns, GiveBooleansBothValuesAndPoisonTheirOutputs) {
  Program negation = map(DType::boolean, [](const Tensor &x, Expr i) { return !x(i); });
  EXPECT_TRUE(check_with_infinities(negation).passed);
  for (bool constant : {false, true})
    EXPECT_FALSE((check_map<bool, bool>(negation, [&](bool) { return constant; }).passed));
  CheckResult unwritten =
      Checker().check(negation, [](std::vector<Array> &, const std::vector<Scalar> &) { return Execution{}; });
  EXPECT_THAT(all_messages(unwritten), HasSubstr("Y[0] was never written"));
}

/// P is used as an index, so its values must be small. If X is floating point, the runs with infinities must be
/// made, too.
TEST(ExactRuns, KeepIntegersThatIndexSmall) {
  for (DType data : {DType::u32, DType::f32}) {
    Workload w("gather");
    Tensor x = w.placeholder("X", {17}, data), p = w.placeholder("P", {length}, DType::i64);
    Tensor q = w.compute("Q", {length}, {"i"}, [&](Expr i) -> Definition { return p(i) + 8; });
    Tensor y = w.compute("Y", {length}, {"i"}, [&](Expr i) -> Definition { return x(q(i)); });
    CheckResult result = check_with_infinities(w.output({y}));
    EXPECT_TRUE(result.passed) << all_messages(result);
    EXPECT_EQ(result.runs.size(), data == DType::f32 ? 4U : 1U);
  }
}

TEST(ExactRuns, HaveZerosOfBothSigns) {
  Program isnt_zero =
      map(DType::f32, [](const Tensor &x, Expr i) { return select(not_equal(x(i), 0), Expr(1.0F), 2.0F); });
  EXPECT_TRUE(check_with_infinities(isnt_zero).passed);
  CheckResult wrong = check_map<float, float>(isnt_zero, [](float) { return 1.0F; });
  EXPECT_THAT(all_messages(wrong), HasSubstr("integer mode: Y["));

  for (DType dtype : {DType::f16, DType::f32})
    EXPECT_TRUE(check_with_infinities(copy(dtype)).passed) << name(dtype);
  CheckResult unsigned_copy = check_map<float, float>(copy(DType::f32), [](float x) { return x + 0.0F; });
  EXPECT_TRUE(unsigned_copy.find(CheckRun::random)->passed);
  EXPECT_EQ(unsigned_copy.exact(), false);
  EXPECT_THAT(all_messages(unsigned_copy), HasSubstr(": got 0, expected -0"));
}

/// A lost term at an edge must change the result, so edge elements must not be 0.
TEST(ExactRuns, HaveNoZeroAtAnEdge) {
  for (CheckRun run : {CheckRun::integers, CheckRun::switched}) {
    Inputs inputs = make_inputs(checked_gemm(30, 20, 50), run, 1);
    const Array &a = inputs.arrays[0];
    std::int64_t zeros = 0;
    for (std::int64_t i = 0; i < 30; ++i)
      for (std::int64_t k = 0; k < 50; ++k) {
        bool zero = a.at(i * 50 + k).to_double() == 0;
        zeros += zero;
        EXPECT_FALSE(zero && (i == 0 || i == 29 || k == 0 || k == 49)) << i << " " << k;
      }
    EXPECT_GT(zeros, 0);
  }
}

/// The sign of a zero is not defined for sums, `min` and `max`. It must be compared for other results.
TEST(ExactRuns, CompareTheSignOfAZeroOnlyWhereItIsDefined) {
  Program larger = map(DType::f32, [](const Tensor &x, Expr i) { return max(x(i), 0.0F) * 2.0F; });
  for (float zero : {0.0F, -0.0F}) {
    CheckResult result = check_map<float, float>(larger, [&](float x) { return x > 0 ? x * 2 : zero; });
    EXPECT_TRUE(result.passed) << all_messages(result);
  }
  Workload w("rows");
  Tensor x = w.placeholder("X", {40, 3});
  Reduce k = reduce_axis("k", 3);
  Program rows = w.output({w.compute("Y", {40}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })});
  EXPECT_TRUE(check_with_infinities(rows).passed);
  CheckResult backwards = Checker().check(rows, [](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    auto values = arrays[0].view<float>();
    for (std::size_t i = 0; i < 40; ++i)
      arrays[1].view<float>()[i] = values[3 * i + 2] + values[3 * i + 1] + values[3 * i] + 0.0F;
    return Execution{};
  });
  EXPECT_TRUE(backwards.passed) << all_messages(backwards);
}

std::string reasons(const CheckResult &result) {
  std::string text;
  for (const SkippedRun &skipped : result.skipped)
    text += skipped.label + ": " + skipped.why + "\n";
  return text;
}

/// C = epilogue(A * B, s) + beta * C, where each sum has `terms` terms. C is read only if beta is not 0.
using Epilogue = std::function<Expr(Expr ab, Expr s)>;
Program product(std::int64_t terms, const Epilogue &epilogue) {
  Workload w("product");
  Tensor a = w.placeholder("A", {3, terms}), b = w.placeholder("B", {terms, 3}), c = w.inout("C", {3, 3});
  Expr s = w.scalar("s", DType::f32), beta = w.scalar("beta", DType::f32);
  Reduce k = reduce_axis("k", terms);
  Tensor ab = w.compute("AB", {3, 3}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(k, j), k); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return epilogue(ab(x[0], x[1]), s) + beta * c.where(not_equal(beta, 0), x[0], x[1]);
  });
  return w.output();
}

/// Checks the kernel with the last column of A set to 0, so that the last term is lost.
CheckResult check_without_last_term(const Program &program, std::int64_t terms) {
  return Checker().check(program,
                         [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
                           std::vector<Array> changed = arrays;
                           for (std::size_t i = 1; i <= 3; ++i)
                             changed[0].view<float>()[i * static_cast<std::size_t>(terms) - 1] = 0;
                           interpret(program, changed, scalars);
                           arrays[2] = changed[2];
                           return Execution{};
                         },
                         {.infinite = true});
}

TEST(ExactRuns, KeepDivisionsExact) {
  const Epilogue by_constant = [](const Expr &ab, const Expr &) { return ab / 3.0F; };
  const Epilogue by_scalar = [](const Expr &ab, const Expr &s) { return ab / s; };
  const Epilogue by_size = [](const Expr &ab, const Expr &) { return ab / 8192.0F; };
  const Epilogue by_fraction = [](const Expr &ab, const Expr &s) { return ab / 1.5F / s; };
  for (const auto &[name, epilogue] : {std::pair("a constant", by_constant), std::pair("a scalar", by_scalar),
                                       std::pair("a size", by_size), std::pair("a fraction", by_fraction)}) {
    SCOPED_TRACE(name);
    Program program = product(8192, epilogue);
    CheckResult right = check_with_infinities(program);
    EXPECT_TRUE(right.passed) << all_messages(right);
    EXPECT_EQ(reasons(right), "");
    // The error bound of 8192 terms is too large to detect one lost term.
    ASSERT_EQ(right.runs.size(), 5U);
    CheckResult lost = check_without_last_term(program, 8192);
    EXPECT_TRUE(lost.find(CheckRun::random)->passed);
    EXPECT_FALSE(lost.find(CheckRun::integers)->passed);
    EXPECT_FALSE(lost.find(CheckRun::switched)->passed);
  }
}

TEST(ExactRuns, KeepDivisionsByAnInputAndMeansExact) {
  Workload w("means");
  Tensor x = w.placeholder("X", {20, 1000}), z = w.placeholder("Z", {20});
  Reduce k = reduce_axis("k", 1000);
  Tensor total = w.compute("S", {20}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor y = w.compute("Y", {20}, {"i"}, [&](Expr i) -> Definition { return total(i) / 1000.0F / z(i); });
  CheckResult result = check_with_infinities(w.output({y}));
  EXPECT_TRUE(result.passed) << all_messages(result);
  EXPECT_EQ(reasons(result), "");
}

TEST(ExactRuns, AreListedWhereADivisionIsNotExact) {
  Workload w("share");
  Tensor x = w.placeholder("X", {20, 100});
  Reduce k = reduce_axis("k", 100);
  Tensor total = w.compute("S", {20}, {"i"}, [&](Expr i) { return sum(x(i, k) * x(i, k), k); });
  Tensor y =
      w.compute("Y", {20, 100}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) / total(i); });
  CheckResult result = check_with_infinities(w.output({y}));
  EXPECT_TRUE(result.passed) << all_messages(result);
  EXPECT_EQ(reasons(result), "integer mode: a quotient or a constant of the computation is not exact in f32\n");
}

} // namespace
} // namespace nestsmith
