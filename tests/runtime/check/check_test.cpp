/// Tests that a check passes correct kernels, and rejects kernels with a wrong result, an unwritten element, a
/// changed input or a diagnostic.

#include "runtime/check/check.h"

#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "tests/runtime/check/gemm_program.h"
#include "tests/runtime/check/right.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using test::checked_gemm;
using Multiply = std::function<void(std::span<Array>, std::span<const Scalar>)>;

/// Executes a C++ function instead of a kernel, so that tests can insert errors.
class FunctionExecutor : public Executor {
public:
  explicit FunctionExecutor(Multiply multiply, std::vector<std::string> diagnostics = {})
      : multiply_(std::move(multiply)), findings_(std::move(diagnostics)) {}
  std::string_view name() const override { return "function"; }
  Execution run(const kernel::Plan &, std::span<Array> arrays, std::span<const Scalar> scalars) override {
    ++launches;
    multiply_(arrays, scalars);
    return {findings_};
  }
  int launches = 0;

private:
  Multiply multiply_;
  std::vector<std::string> findings_;
};

/// C = alpha*A*B + beta*C without the last `lost_terms` terms. C is read only if beta is not 0, unless
/// `always_read` is true.
template <class T> Multiply make_multiply(std::int64_t lost_terms = 0, bool always_read = false) {
  return [=](std::span<Array> arrays, std::span<const Scalar> scalars) {
    std::int64_t m = arrays[0].shape()[0], k = arrays[0].shape()[1], n = arrays[1].shape()[1];
    auto a = arrays[0].view<T>(), b = arrays[1].view<T>(), c = arrays[2].view<T>();
    T alpha = scalars[0].as<T>(), beta = scalars[1].as<T>();
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::int64_t p = 0; p < k - lost_terms; ++p)
          sum += a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
        T &element = c[static_cast<std::size_t>(i * n + j)];
        element = alpha * sum + (beta != 0 || always_read ? beta * element : 0);
      }
  };
}

CheckResult check_with(Program program, Multiply f, std::vector<std::string> diagnostics = {}) {
  FunctionExecutor executor(std::move(f), std::move(diagnostics));
  return check(Schedule(std::move(program)), kernel::Kernel{}, executor);
}

TEST(Check, RightKernelPassesEveryRun) {
  CheckResult result = check_with(checked_gemm(13, 9, 70), make_multiply<float>());
  EXPECT_TRUE(result.passed) << all_messages(result);
  ASSERT_EQ(result.runs.size(), 3U);
  EXPECT_EQ(result.exact(), true);
  const RunResult *random = result.find(CheckRun::random);
  EXPECT_GT(random->max_error_over_bound, 0);
  EXPECT_LT(random->max_error_over_bound, 1);
  EXPECT_EQ(random->where.size(), 2U);
}

TEST(Check, RingModeIsBitForBit) {
  CheckResult good = check_with(checked_gemm(5, 6, 7, DType::u32), make_multiply<std::uint32_t>());
  EXPECT_TRUE(good.passed) << all_messages(good);
  EXPECT_EQ(good.find(CheckRun::random), nullptr);
  CheckResult bad = check_with(checked_gemm(5, 6, 7, DType::u32), make_multiply<std::uint32_t>(1));
  EXPECT_FALSE(bad.passed);
  EXPECT_EQ(bad.exact(), false);
}

TEST(Check, LostTermFailsBitForBitWhateverTheBoundSays) {
  CheckResult result = check_with(checked_gemm(2, 2, 4000), make_multiply<float>(1));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.exact(), false);
  EXPECT_EQ(result.find(CheckRun::integers)->wrong_elements, 4);
  EXPECT_NE(all_messages(result).find("integer mode: C[0, 0]: got "), std::string::npos)
      << all_messages(result);
  EXPECT_NE(all_messages(result).find("4 elements are wrong in total"), std::string::npos);
}

TEST(Check, ElementJustBeyondTheBoundFailsAndIsNamed) {
  auto off = [](std::span<Array> arrays, std::span<const Scalar> scalars) {
    make_multiply<float>()(arrays, scalars);
    arrays[2].view<float>()[7] += 0.01F;
  };
  CheckResult result = check_with(checked_gemm(3, 5, 16), off);
  EXPECT_FALSE(result.passed);
  EXPECT_GT(result.find(CheckRun::random)->max_error_over_bound, 1);
  EXPECT_EQ(result.find(CheckRun::random)->where, (std::vector<std::int64_t>{1, 2}));
  EXPECT_NE(all_messages(result).find("floating point: C[1, 2]: got "), std::string::npos)
      << all_messages(result);
  EXPECT_NE(all_messages(result).find(", bound "), std::string::npos);
}

TEST(Check, NaNNeverPasses) {
  auto nan = [](std::span<Array> arrays, std::span<const Scalar> scalars) {
    make_multiply<float>()(arrays, scalars);
    arrays[2].view<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  };
  CheckResult result = check_with(checked_gemm(3, 5, 16), nan);
  EXPECT_FALSE(result.passed);
  for (const RunResult &run : result.runs)
    EXPECT_FALSE(run.passed) << run.label;
  EXPECT_TRUE(std::isinf(result.find(CheckRun::random)->max_error_over_bound));
}

TEST(Check, ReadingCWhereBetaIsZeroFails) {
  CheckResult result = check_with(checked_gemm(3, 5, 16), make_multiply<float>(0, true));
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(result.find(CheckRun::random)->passed);
  EXPECT_TRUE(result.find(CheckRun::integers)->passed);
  EXPECT_FALSE(result.find(CheckRun::switched)->passed);
  EXPECT_NE(all_messages(result).find("beta = 0, C full of NaN: C[0, 0]: got nan"), std::string::npos)
      << all_messages(result);
}

/// Adds 0 times the last row of B to each element. Only the runs with infinities can detect it.
TEST(Check, ZeroTimesWhatIsNotThereShowsByInfinities) {
  auto padded = [](bool masked) {
    return [=](std::span<Array> arrays, std::span<const Scalar> scalars) {
      make_multiply<float>()(arrays, scalars);
      std::int64_t k = arrays[1].shape()[0], n = arrays[1].shape()[1];
      for (std::int64_t at = 0; at < arrays[2].size() && !masked; ++at)
        arrays[2].view<float>()[static_cast<std::size_t>(at)] +=
            0 * arrays[1].view<float>()[static_cast<std::size_t>((k - 1) * n + at % n)];
    };
  };
  for (bool masked : {true, false}) {
    FunctionExecutor executor(padded(masked));
    CheckResult result =
        check(Schedule(checked_gemm(3, 5, 16)), kernel::Kernel{}, executor, {.infinite = true});
    EXPECT_EQ(result.passed, masked) << all_messages(result);
    EXPECT_TRUE(result.find(CheckRun::integers)->passed);
    // Each element is infinite in one of the two runs.
    EXPECT_EQ(result.find(CheckRun::infinite)->passed, masked);
    EXPECT_EQ(result.find(CheckRun::opposite)->passed, masked);
  }
}

TEST(Check, ElementThatNobodyWroteFails) {
  Workload w("copy");
  Tensor x = w.placeholder("X", {10});
  Tensor y = w.compute("Y", {10}, {"i"}, [&](Expr i) { return x(i); });
  auto partial = [](std::span<Array> arrays, std::span<const Scalar>) {
    for (std::int64_t n = 0; n < 9; ++n)
      arrays[1].set(n, arrays[0].at(n));
  };
  CheckResult result = check_with(w.output({y}), partial);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(all_messages(result).find("Y[9] was never written"), std::string::npos) << all_messages(result);
}

TEST(Check, FindingsOfTheExecutorAreFailures) {
  CheckResult result = check_with(checked_gemm(2, 2, 2), make_multiply<float>(), {"race on A_shared[3]"});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.exact(), true);
  EXPECT_NE(all_messages(result).find("integer mode: race on A_shared[3]"), std::string::npos);
}

TEST(Check, ChangedInputFails) {
  auto clobber = [](std::span<Array> arrays, std::span<const Scalar> scalars) {
    make_multiply<float>()(arrays, scalars);
    arrays[1].view<float>()[0] = 99;
  };
  CheckResult result = check_with(checked_gemm(2, 2, 2), clobber);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(all_messages(result).find("the input B was modified"), std::string::npos);
}

TEST(MakeInputs, IntegersStayExactInLongSums) {
  Program program = checked_gemm(1, 1, 300000);
  CheckResult result = check_with(program, make_multiply<float>());
  EXPECT_TRUE(result.find(CheckRun::integers)->passed) << all_messages(result);
  Inputs a = make_inputs(program, CheckRun::random, 1), b = make_inputs(program, CheckRun::random, 1),
         c = make_inputs(program, CheckRun::random, 2);
  EXPECT_EQ(a.arrays[0], b.arrays[0]);
  EXPECT_NE(a.arrays[0], c.arrays[0]);
}

/// Checks y = x * factor with the function `f` as the kernel.
CheckResult check_scaled(double factor, const std::function<float(float)> &f) {
  Workload w("scaled");
  Tensor x = w.placeholder("x", {100});
  Tensor y = w.compute("y", {100}, {"i"}, [&](Expr i) -> Definition { return x(i) * float_imm(factor); });
  return check_with(w.output({y}), [&](std::span<Array> arrays, std::span<const Scalar>) {
    for (std::size_t n = 0; n < 100; ++n)
      arrays[1].view<float>()[n] = f(arrays[0].view<float>()[n]);
  });
}

TEST(Check, AConstantThatF32RoundsIsTheRoundedOne) {
  CheckResult result = check_scaled(0.1, [](float x) { return x * 0.1F; });
  EXPECT_TRUE(result.passed) << all_messages(result);
  EXPECT_NE(result.find(CheckRun::random), nullptr);
  EXPECT_EQ(result.find(CheckRun::integers), nullptr) << "3 * 0.1F is rounded";
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_EQ(result.skipped[0].label, "integer mode");
  EXPECT_FALSE(check_scaled(0.1, [](float x) { return x * 0.1001F; }).passed);
}

TEST(Check, FractionsOfFewBitsStayExact) {
  for (double factor : {0.5, 0.75, 1.0, -2.0, 0.0009765625}) {
    auto times = [&](float x) { return x * static_cast<float>(factor); };
    CheckResult result = check_scaled(factor, times);
    EXPECT_TRUE(result.passed) << factor << all_messages(result);
    EXPECT_TRUE(result.skipped.empty()) << factor;
    EXPECT_EQ(result.exact(), true);
    EXPECT_EQ(check_scaled(factor, [&](float x) { return times(x) + 0x1p-20F; }).exact(), false) << factor;
  }
  // With 2^-21, 3 bits remain for the integers. With 2^-30, none remain.
  EXPECT_EQ(check_scaled(0x1p-21, [](float x) { return x * 0x1p-21F; }).exact(), true);
  EXPECT_EQ(check_scaled(0x1p-30, [](float x) { return x * 0x1p-30F; }).exact(), std::nullopt);
}

} // namespace
} // namespace nestsmith
