/// Tests that each run of a check is needed: for each run, a wrong kernel exists that no other run detects. The
/// tests fail if a run is removed or its inputs become weaker.
#include "dsl/ir/interpret.h"
#include "dsl/ir/tensor.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "tests/runtime/check/gemm_program.h"
#include "tests/runtime/check/right.h"

#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

using test::all_messages;
using test::checked_gemm;
using test::copy;

struct WrongKernel {
  const char *what;
  Program program;
  std::function<void(std::vector<Array> &, const std::vector<Scalar> &)> run;
};

/// Y[i] = `convert`(X[i]).
template <class T> WrongKernel copies_by(const char *what, DType dtype, const std::function<T(T)> &convert) {
  return {what, copy(dtype), [=](std::vector<Array> &arrays, const std::vector<Scalar> &) {
            std::ranges::transform(arrays[0].view<T>(), arrays[1].view<T>().begin(), convert);
          }};
}

/// Y[i] is the sum of row i of X, which has `terms` elements.
Program row_sums(std::int64_t terms) {
  Workload w("row_sums");
  Tensor x = w.placeholder("X", {3, terms});
  Reduce k = reduce_axis("k", terms);
  return w.output({w.compute("Y", {3}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })});
}

WrongKernel loses_the_last_term() {
  constexpr std::int64_t terms = 8192;
  Program program = row_sums(terms);
  return {"the last term of a sum is lost", program,
          [=](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
            std::vector<Array> shortened = arrays;
            for (std::int64_t row = 1; row <= 3; ++row)
              shortened[0].set(row * terms - 1, Scalar::from_double(DType::f32, 0));
            interpret(program, shortened, scalars);
            arrays[1] = shortened[1];
          }};
}

/// A kernel that multiplies by 0 instead of using a mask. The factor is infinite in one of the two runs.
WrongKernel multiplies_by_0(CheckRun run) {
  Program program = row_sums(5);
  Array x = make_inputs(program, run, CheckOptions().seed).arrays[0];
  std::int64_t past = 0;
  while (!std::isinf(x.at(past).to_double()))
    ++past;
  return {"a factor of 0 for a mask", program,
          [=](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
            interpret(program, arrays, scalars);
            for (float &y : arrays[1].view<float>())
              y += 0.0F * arrays[0].view<float>()[static_cast<std::size_t>(past)];
          }};
}

/// C = alpha*A*B + beta*C, where C is read for every beta.
WrongKernel reads_c_always() {
  Program program = checked_gemm(4, 5, 6);
  return {"C is read where beta is 0", program,
          [=](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
            std::vector<Array> before = arrays;
            interpret(program, arrays, scalars);
            float beta = scalars[1].as<float>();
            for (std::size_t n = 0; n < 20; ++n)
              arrays[2].view<float>()[n] += beta == 0 ? beta * before[2].view<float>()[n] : 0;
          }};
}

/// Y[i] = X[i] rounded to bf16. The wrong kernel rounds ties away from 0 instead of to even.
WrongKernel rounds_ties_away() {
  Workload w("narrow");
  Tensor x = w.placeholder("X", {100});
  Program program =
      w.output({w.compute("Y", {100}, {"i"}, [&](Expr i) -> Definition { return cast(DType::bf16, x(i)); })});
  return {"a tie is rounded away from 0", program, [](std::vector<Array> &arrays, const std::vector<Scalar> &) {
            for (std::int64_t n = 0; n < 100; ++n)
              arrays[1].set(n, {DType::bf16, (arrays[0].at(n).bits + 0x8000) >> 16});
          }};
}

std::vector<WrongKernel> found_only_by(CheckRun run) {
  switch (run) {
  case CheckRun::random:
    return {copies_by<float>(
                "an element passes through bf16", DType::f32,
                [](float x) { return static_cast<float>(Scalar::from_double(DType::bf16, x).to_double()); }),
            copies_by<float>("a fraction is cut off", DType::f32, [](float x) { return std::trunc(x); })};
  case CheckRun::integers:
    return {loses_the_last_term(),
            copies_by<float>("-0 becomes 0", DType::f32, [](float x) { return x + 0.0F; })};
  case CheckRun::ring:
    return {copies_by<std::int32_t>("an integer passes through f32", DType::i32,
                                    [](std::int32_t x) {
                                      double rounded = Scalar::from_double(DType::f32, x).to_double();
                                      return static_cast<std::int32_t>(static_cast<std::int64_t>(rounded));
                                    }),
            copies_by<std::uint64_t>("the upper half is lost", DType::u64,
                                     [](std::uint64_t x) { return x & 0xffffffff; })};
  case CheckRun::switched:
    return {reads_c_always()};
  case CheckRun::infinite:
  case CheckRun::opposite:
    return {multiplies_by_0(run)};
  case CheckRun::ties:
    return {rounds_ties_away()};
  default: // these runs are made only if the others do not compare every element
    return {};
  }
}

TEST(EachRunOfACheck, IsTheOnlyOneThatFindsSomeWrongKernel) {
  for (CheckRun run : {CheckRun::random, CheckRun::integers, CheckRun::ring, CheckRun::switched,
                       CheckRun::infinite, CheckRun::opposite, CheckRun::ties}) {
    std::vector<WrongKernel> kernels = found_only_by(run);
    EXPECT_FALSE(kernels.empty()) << static_cast<int>(run);
    for (const WrongKernel &kernel : kernels) {
      auto wrong = [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
        kernel.run(arrays, scalars);
        return Execution{};
      };
      CheckResult result = Checker().check(kernel.program, wrong, {.infinite = true});
      std::set<CheckRun> failed;
      for (const RunResult &one : result.runs)
        if (!one.passed)
          failed.insert(one.run);
      EXPECT_EQ(failed, std::set<CheckRun>{run}) << kernel.what << "\n" << all_messages(result);
      CheckResult right = Checker().check(kernel.program, as_computation(kernel.program), {.infinite = true});
      EXPECT_TRUE(right.passed) << kernel.what << "\n" << all_messages(right);
      EXPECT_TRUE(right.skipped.empty()) << kernel.what;
    }
  }
}

/// Each run must be made, or reported as skipped with a reason.
TEST(EachRunOfACheck, IsMadeOrReported) {
  auto labels = [](const Program &program) {
    CheckResult result = Checker().check(program, as_computation(program), {.infinite = true});
    std::vector<std::string> all;
    for (const RunResult &run : result.runs)
      all.push_back(run.label);
    for (const SkippedRun &run : result.skipped) {
      EXPECT_FALSE(run.why.empty()) << run.label;
      all.push_back(run.label);
    }
    return all;
  };
  const std::vector<std::string> of_floats = {"floating point", "integer mode", "infinities, 1 of 2",
                                              "infinities, 2 of 2"};
  EXPECT_THAT(labels(copy(DType::f32)), testing::UnorderedElementsAreArray(of_floats));
  EXPECT_THAT(labels(copy(DType::i32)), testing::ElementsAre("ring mode"));
  EXPECT_THAT(labels(checked_gemm(4, 5, 6)),
              testing::UnorderedElementsAre("floating point", "integer mode", "beta = 0, C full of NaN",
                                            "infinities, 1 of 2", "infinities, 2 of 2"));
  EXPECT_THAT(labels(checked_gemm(4, 5, 6, DType::u32)),
              testing::UnorderedElementsAre("ring mode", "beta = 0, C full of poison"));
  Workload w("tenth");
  Tensor x = w.placeholder("X", {100});
  Program tenth =
      w.output({w.compute("Y", {100}, {"i"}, [&](Expr i) -> Definition { return x(i) * float_imm(0.1); })});
  EXPECT_THAT(labels(tenth), testing::UnorderedElementsAreArray(of_floats));
}

} // namespace
} // namespace nestsmith
