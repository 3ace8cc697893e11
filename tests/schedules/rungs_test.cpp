/// Runs every rung of nestsmith on the simulator at shapes that often expose errors.

#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/trace.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/functions.h"
#include "tests/schedules/sample.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace nestsmith {
namespace {

using test::all_messages;

struct Case {
  const Rung *rung;
  Shape shape;
};

/// Returns small and large, prime and even extents, as many as the rung takes.
std::vector<Shape> hostile_shapes(const Rung &rung) {
  if (rung.tile.size() == 1)
    return {{1}, {31}, {257}, {4096}};
  if (rung.tile.size() == 2)
    return {{1, 1}, {65, 33}, {31, 300}, {5, 1030}};
  if (rung.tile.size() == 5)
    return {{1, 1, 1, 1, 1}, {2, 5, 17, 3, 5}, {1, 9, 7, 12, 33}, {2, 4, 16, 16, 8}};
  if (rung.tile.size() == 4)
    return {{1, 1, 1, 1}, {3, 65, 33, 17}, {2, 64, 64, 64}, {5, 31, 67, 13}};
  return {{1, 1, 1}, {65, 33, 17}, {64, 64, 64}, {127, 129, 131}};
}

/// Returns a shape that no tile divides, and that is small enough for the interpreter.
Shape ragged_shape(const Rung &rung) {
  std::size_t rank = rung.tile.size();
  const Shape shapes[] = {{263}, {9, 33}, {9, 33, 7}, {3, 9, 33, 7}, {1, 3, 5, 4, 6}};
  return shapes[rank - 1];
}

bool is_product(const Rung &rung) { return rung.tile.size() == 3; }

/// Returns the shapes of each rung: one tile, one more in each dimension, and shapes that often expose errors.
/// `others` selects all shapes that are not in the sample.
std::vector<Case> cases(bool others) {
  std::vector<Case> all;
  for (const Rung &rung : builtin_rungs()) {
    std::set<Shape> shapes = {rung.tile, test::near_tile(rung, 1)};
    for (const Shape &shape : hostile_shapes(rung))
      shapes.insert(shape);
    for (const Shape &shape : test::sample(rung, std::vector<Shape>(shapes.begin(), shapes.end()), 3, others))
      all.push_back({&rung, shape});
  }
  return all;
}

/// The rungs, with their types, of which no run compares all results bit for bit, on integers or on residues.
const std::set<std::string> rungs_without_exact_run = {};

bool has_exact_run(const CheckResult &result) {
  return std::ranges::any_of(result.runs, [](const RunResult &run) {
    return !is_floating_point(run.run) && run.exact &&
           std::ranges::all_of(run.outputs, &ComparedOutput::in_full);
  });
}

class EveryRung : public testing::TestWithParam<Case> {};

TEST_P(EveryRung, IsRightInTheSimulator) {
  const auto &[rung, shape] = GetParam();
  SimExecutor simulator;
  std::vector<DType> dtypes = {DType::u32, DType::f32};
  // Floating point, and alternately ring mode and bytes, for which NarrowRung has all shapes.
  if (!rung->dtypes.empty())
    dtypes = {rung->dtypes.front(), shape[0] / 64 % 2 == 1 ? DType::u32 : rung->dtype(DType::u8)};
  for (DType dtype : dtypes) {
    Schedule schedule = rung->build(shape, dtype, Target{});
    CheckResult result = check(schedule, lower(schedule), simulator);
    EXPECT_TRUE(result.passed) << name(dtype) << "\n" << all_messages(result);
    EXPECT_EQ(result.exact(), test::rounds(*rung, dtype) ? std::nullopt : std::optional(true));
    EXPECT_EQ(result.find(CheckRun::random) != nullptr, is_float(dtype));
    std::string in_type = rung->full_name() + " " + std::string(name(dtype));
    EXPECT_EQ(has_exact_run(result), !rungs_without_exact_run.contains(in_type)) << in_type;
    EXPECT_EQ(all_messages(result), "");
  }
}

std::string case_name(const testing::TestParamInfo<Case> &info) {
  std::string text = test::test_name(*info.param.rung);
  for (std::size_t n = 0; n < info.param.shape.size(); ++n)
    text += (n == 0 ? "_" : "x") + std::to_string(info.param.shape[n]);
  return text;
}
INSTANTIATE_TEST_SUITE_P(Rungs, EveryRung, testing::ValuesIn(cases(false)), case_name);
INSTANTIATE_TEST_SUITE_P(Others, EveryRung, testing::ValuesIn(cases(true)), case_name);

/// C's / and % round towards zero. So dividends that may be negative are shifted before a floor operation is
/// printed.
TEST(Floors, OfNegativesAreRightInTheKernel) {
  Workload w("floors");
  Tensor x = w.placeholder("x", {30}, DType::f32);
  Tensor y = w.compute("y", {20}, {"i"}, [&](Expr i) -> Definition {
    return x(floordiv(i - Expr(7), 3) + Expr(3)) * x(floormod(i - Expr(9), 4)) + x(floordiv(i * i, 64));
  });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::thread_x);
  SimExecutor simulator;
  CheckResult result = check(s, lower(s), simulator);
  EXPECT_TRUE(result.passed) << all_messages(result);
}

/// Directives that only annotate a loop do not change the executed loops, and rungs of a tutorial begin with
/// the same programs. Of the programs that remain, this test executes each fourth and the last: a program that
/// is wrong stays wrong after directives that keep the meaning. Then it names the first wrong one. The long run
/// executes all.
TEST(Rungs, KeepTheirMeaningAtEveryStep) {
  const std::set<std::string> annotations = {"bind", "unroll", "vectorize", "tensorize"};
  const std::size_t stride = std::getenv("NESTSMITH_FULL") ? 1 : 4;
  std::set<std::string> seen;
  for (const Rung &rung : builtin_rungs()) {
    Schedule schedule = rung.build(ragged_shape(rung), rung.dtype(DType::u32), Target{});
    std::string source = print(schedule.source());
    std::vector<std::size_t> steps;
    for (std::size_t n = 1; n <= schedule.trace().size(); ++n)
      if (!annotations.count(schedule.trace()[n - 1].op) &&
          seen.insert(source + print(schedule.step(n))).second)
        steps.push_back(n);
    std::vector<Array> expected = test::results_of(schedule.source());
    auto difference = [&](std::size_t at) { return test::difference(schedule.step(steps[at]), expected); };
    for (std::size_t at = test::seed_of(rung) % stride, begin = 0; begin < steps.size();
         begin = at + 1, at = std::min(at + stride, steps.size() - 1)) {
      at = std::min(at, steps.size() - 1);
      if (!difference(at))
        continue;
      while (!difference(begin))
        ++begin;
      ADD_FAILURE() << rung.full_name() << " after " << to_cpp(schedule.trace()[steps[begin] - 1]) << ": "
                    << *difference(begin);
      break;
    }
  }
}

TEST(Rungs, ReplayFromTheirTraces) {
  for (const Rung &rung : builtin_rungs()) {
    Shape symbolic = ragged_shape(rung);
    symbolic.stated = Size{};
    for (const Shape &shape : {Shape(rung.tile.size(), 1), ragged_shape(rung), symbolic}) {
      Schedule schedule = rung.build(shape, rung.dtype(), Target{});
      std::string json = to_json(trace_file(schedule, shape, rung.dtype()));
      TraceFile file = parse_trace(json, "trace");
      ASSERT_TRUE(file.computation.has_value()) << rung.full_name();
      Schedule again = replay(file, *file.computation, Target{}, "trace");
      EXPECT_EQ(again.trace(), schedule.trace());
      EXPECT_EQ(print(again.source()), print(schedule.source())) << rung.full_name();
      EXPECT_EQ(print(again.program()), print(schedule.program()));
      EXPECT_EQ(to_json(trace_file(again, shape, rung.dtype())), json);
      EXPECT_EQ(trace_to_cpp(again), trace_to_cpp(schedule));
    }
  }
}

TEST(Rungs, OweNothing) {
  for (const Rung &rung : builtin_rungs())
    for (const Obligation &owed : rung.build(ragged_shape(rung), rung.dtype(), Target{}).obligations())
      ADD_FAILURE() << rung.full_name() << ": " << owed.message;
}

TEST(Rungs, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Rung &rung : builtin_rungs()) {
    EXPECT_TRUE(names.insert(rung.full_name()).second) << rung.full_name();
    EXPECT_EQ(rung.full_name(), rung.tutorial + "/" + rung.name);
    EXPECT_FALSE(rung.summary.empty());
    EXPECT_EQ(rung.tile.size(), rung.default_shape.size());
    EXPECT_EQ(rung.tile.size(), rung.gpu_shape.size());
  }
  EXPECT_EQ(names.size(), builtin_rungs().size());
}

TEST(Rungs, RefuseShapesThatAreNoProduct) {
  for (const Rung &rung : builtin_rungs()) {
    if (!is_product(rung))
      continue;
    auto build = [&](const Shape &shape) { return rung.build(shape, rung.dtype(), Target{}); };
    test::expect_user_error(
        [&] {
          build({4, 4});
        },
        ExitCode::usage, "a matrix product takes a shape MxNxK, got 2 extents in '4x4'");
    test::expect_user_error([&] { build({}); }, ExitCode::usage, "got 0 extents in ''");
    test::expect_user_error(
        [&] {
          build({0, 4, 4});
        },
        ExitCode::usage, "'A' has an extent of 0, expected at least 1");
    test::expect_user_error(
        [&] {
          build({4, -1, 4});
        },
        ExitCode::usage, "'B' has an extent of -1, expected at least 1");
    std::int64_t huge = std::int64_t{1} << 40;
    test::expect_user_error(
        [&] {
          build({huge, 4, huge});
        },
        ExitCode::usage, "'A' has more elements than fit in 64 bits; make its shape smaller");
    test::expect_user_error(
        [&] {
          build({std::int64_t{1} << 31, 1, std::int64_t{1} << 30});
        },
        ExitCode::usage, "'A' has 2305843009213693952 elements, expected at most 2^60; make its shape smaller");
  }
}

TEST(Rungs, OfVectorsRefuseShapesOfOtherRanks) {
  for (const Rung &rung : builtin_rungs())
    if (rung.tile.size() == 1) {
      auto build = [&](const Shape &shape) { return rung.build(shape, rung.dtype(), Target{}); };
      test::expect_user_error(
          [&] {
            build({4, 4});
          },
          ExitCode::usage, "a vector takes a shape N, got 2 extents in '4x4'");
      test::expect_user_error([&] { build({}); }, ExitCode::usage, "got 0 extents in ''");
      test::expect_user_error([&] { build({0}); }, ExitCode::usage, "'x' has an extent of 0");
    }
}

TEST(Rungs, OfMatricesRefuseShapesOfOtherRanks) {
  const std::map<std::string, std::string> names = {{"softmax", "a softmax of rows"},
                                                    {"layernorm", "a layer norm of rows"},
                                                    {"rmsnorm", "an RMS norm of rows"},
                                                    {"transpose", "a transpose"},
                                                    {"gemv", "a product of a matrix and a vector"},
                                                    {"stencil", "a stencil"}};
  for (const Rung &rung : builtin_rungs())
    if (rung.tile.size() == 2) {
      auto build = [&](const Shape &shape) { return rung.build(shape, rung.dtype(), Target{}); };
      test::expect_user_error(
          [&] {
            build({4, 4, 4});
          },
          ExitCode::usage, names.at(rung.tutorial) + " takes a shape MxN, got 3 extents in '4x4x4'");
      test::expect_user_error(
          [&] {
            build({4, 0});
          },
          ExitCode::usage, rung.tutorial == "gemv" ? "'A' has an extent of 0" : "'X' has an extent of 0");
    }
}

TEST(Rungs, OfBatchesRefuseShapesOfOtherRanks) {
  const auto &rungs = builtin_rungs();
  auto it = std::ranges::find_if(rungs, [](const Rung &rung) { return rung.tile.size() == 4; });
  ASSERT_NE(it, rungs.end());
  test::expect_user_error(
      [&] {
        it->build({4, 4, 4}, DType::f32, Target{});
      },
      ExitCode::usage, "a batch of matrix products takes a shape BxMxNxK, got 3 extents in '4x4x4'");
  test::expect_user_error(
      [&] {
        it->build({0, 4, 4, 4}, DType::f32, Target{});
      },
      ExitCode::usage, "'A' has an extent of 0, expected at least 1");
}

TEST(Workloads, GemmReadsCOnlyWhereBetaIsNotZero) {
  EXPECT_EQ(print(gemm({3, 5, 4}, DType::f32)),
            "gemm(A: f32[3, 4], B: f32[4, 5], inout C: f32[3, 5], alpha: f32, beta: f32):\n"
            "global AB: f32[3, 5]\n"
            "for i < 3:\n"
            "  for j < 5:\n"
            "    for k < 4:\n"
            "      block AB(i = i, j = j, sum k = k):\n"
            "        init AB[i, j] = 0.0\n"
            "        AB[i, j] = AB[i, j] + A[i, k]*B[k, j]\n"
            "for i < 3:\n"
            "  for j < 5:\n"
            "    block C(i = i, j = j):\n"
            "      C[i, j] = alpha*AB[i, j] + beta*(C[i, j] where beta != 0.0 else 0.0)\n");
}

} // namespace
} // namespace nestsmith
