/// Tests the exact runs of computations that round: residues stand for floating-point numbers. The interpreter,
/// the reference and the simulator agree on them, and wrong kernels have other residues.
#include "dsl/expr/math.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/tensor.h"
#include "runtime/check/inputs.h"
#include "runtime/check/reference.h"
#include "tests/runtime/check/right.h"

#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using testing::HasSubstr;

constexpr std::int64_t row_count = 6, row_length = 37;

/// A mistake in a softmax.
enum class SoftmaxMistake : std::uint8_t { none, minimum, first_tile, last_tile, stale, from_zero, no_rescale };

Program rounded_softmax(DType type = DType::f32, SoftmaxMistake mistake = SoftmaxMistake::none) {
  Workload w("softmax");
  Tensor x = w.placeholder("X", {row_count, row_length}, type);
  Reduce j = reduce_axis("j", row_length), l = reduce_axis("l", row_length), first = reduce_axis("f", 8),
         most = reduce_axis("m", row_length - 5);
  Tensor largest = w.compute("largest", {row_count}, {"i"}, [&](Expr i) {
    if (mistake == SoftmaxMistake::minimum)
      return min_over(cast(DType::f32, x(i, j)), j);
    if (mistake == SoftmaxMistake::first_tile)
      return max_over(cast(DType::f32, x(i, first)), first);
    if (mistake == SoftmaxMistake::last_tile)
      return max_over(cast(DType::f32, x(i, first + (row_length - 8))), first);
    if (mistake == SoftmaxMistake::stale) // without the last tile
      return max_over(cast(DType::f32, x(i, most)), most);
    if (mistake == SoftmaxMistake::from_zero)
      return max_over(max(cast(DType::f32, x(i, j)), 0.0F), j);
    return max_over(cast(DType::f32, x(i, j)), j);
  });
  Tensor total = w.compute("total", {row_count}, {"i"},
                           [&](Expr i) { return sum(exp(cast(DType::f32, x(i, l)) - largest(i)), l); });
  return w.output({w.compute("Y", {row_count, row_length}, {"i", "k"}, [&](Expr i, Expr k) -> Definition {
    return cast(type, exp(cast(DType::f32, x(i, k)) - largest(i)) / total(i));
  })});
}

/// One pass over the row.
Program online_softmax(SoftmaxMistake mistake = SoftmaxMistake::none) {
  Reducer careless = define_reducer(
      "without_rescaling", tuple({{"largest", -std::numeric_limits<float>::infinity()}, {"sum", 0.0F}}),
      [](const Expr &a, const Expr &b) {
        return tuple({{"largest", max(part(a, "largest"), part(b, "largest"))},
                      {"sum", part(a, "sum") + part(b, "sum")}});
      });
  Workload w("online");
  Tensor x = w.placeholder("X", {row_count, row_length});
  Reduce j = reduce_axis("j", row_length);
  Tensor both = w.compute("both", {row_count}, {"i"}, [&](Expr i) {
    return mistake == SoftmaxMistake::no_rescale
               ? reduce(careless, tuple({{"largest", x(i, j)}, {"sum", 1.0F}}), j)
               : sum_of_exp_over(x(i, j), j);
  });
  return w.output({w.compute("Y", {row_count, row_length}, {"i", "k"}, [&](Expr i, Expr k) -> Definition {
    return exp(x(i, k) - part(both(i), "largest")) / part(both(i), "sum");
  })});
}

Program variance_of_rows() {
  Workload w("variance");
  Tensor x = w.placeholder("X", {row_count, row_length});
  Reduce j = reduce_axis("j", row_length);
  Tensor all = w.compute("all", {row_count}, {"i"}, [&](Expr i) { return moments_over(x(i, j), j); });
  Tensor mean =
      w.compute("mean", {row_count}, {"i"}, [&](Expr i) -> Definition { return part(all(i), "mean"); });
  return w.output({mean, w.compute("Y", {row_count}, {"i"}, [&](Expr i) -> Definition {
                     return rsqrt(part(all(i), "squares") / part(all(i), "count") + 1e-5F);
                   })});
}

/// A product with an activation, rounded to f16, and conversions of all kinds.
Program activated_product(DType type) {
  Workload w("product");
  Tensor a = w.placeholder("A", {5, 17}, type), b = w.placeholder("B", {17, 9}, type),
         s = w.placeholder("S", {9}, DType::i32);
  Reduce k = reduce_axis("k", 17);
  Tensor c = w.compute("C", {5, 9}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, a(i, k)) * cast(DType::f32, b(k, j)), k);
  });
  Tensor d = w.compute("D", {5, 9}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    Expr x = c(i, j) * 0.125F + cast(DType::f32, s(j));
    return cast(type, select(x < 0.0F, tanh(x) * 0.5F, min(x, abs(x) / 3.0F)));
  });
  return w.output({d, w.compute("E", {5, 9}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
                     return cast(DType::i32, floor(c(i, j))) + cast(DType::i32, cast(DType::boolean, c(i, j)));
                   })});
}

struct RoundedCase {
  const char *name;
  std::function<Program()> program;
};
const std::vector<RoundedCase> rounded_cases = {
    {"softmax", [] { return rounded_softmax(); }},
    {"softmax_f16", [] { return rounded_softmax(DType::f16); }},
    {"online", [] { return online_softmax(); }},
    {"variance", variance_of_rows},
    {"product", [] { return activated_product(DType::f32); }},
    {"product_f16", [] { return activated_product(DType::f16); }},
    {"product_bf16", [] { return activated_product(DType::bf16); }},
};

class ResiduesOf : public testing::TestWithParam<RoundedCase> {};
INSTANTIATE_TEST_SUITE_P(, ResiduesOf, testing::ValuesIn(rounded_cases),
                         [](const auto &info) { return info.param.name; });

TEST_P(ResiduesOf, AreTheSameInAllImplementations) {
  Program program = GetParam().program();
  for (CheckRun run : {CheckRun::residue_ring, CheckRun::residue_field}) {
    Arithmetic arithmetic = arithmetic_of(run);
    Inputs inputs = make_inputs(program, run, 1);
    std::vector<Array> interpreted = inputs.arrays, simulated = inputs.arrays;
    interpret(program, interpreted, inputs.scalars, arithmetic);
    for (bool baseline : {false, true}) {
      SimExecutor simulator({.baseline = baseline});
      EXPECT_THAT(
          simulator.run_residues(arithmetic, lower(Schedule(program)), simulated, inputs.scalars).diagnostics,
          testing::IsEmpty());
      EXPECT_TRUE(simulated == interpreted);
    }
    Reference expected = exact_reference(program, inputs.arrays, inputs.scalars, arithmetic);
    std::size_t output = 0;
    for (std::size_t n = 0; n < program.params.size(); ++n) {
      if (program.params[n]->role == Role::input)
        continue;
      const ReferenceOutput &one = expected.outputs[output++];
      for (std::int64_t at = 0; at < interpreted[n].size(); ++at) {
        Scalar got = interpreted[n].at(at);
        std::int64_t bits = is_float(got.dtype) ? static_cast<std::int64_t>(got.bits) : extended(got);
        if (one.error_at(at) == 0) {
          ASSERT_EQ(one.integer[static_cast<std::size_t>(at)], bits) << one.buffer->name << " " << at;
        }
      }
    }
  }
}

TEST_P(ResiduesOf, AreComparedInFull) {
  SimExecutor simulator;
  Schedule s(GetParam().program());
  CheckResult result = check(s, lower(s), simulator);
  EXPECT_EQ(result.outcome(), CheckOutcome::right) << all_messages(result);
  for (const Coverage &output : result.outputs) // residues say nothing of overflow
    EXPECT_THAT(output.run, testing::Not(HasSubstr("residues"))) << output.buffer;
  bool ring = result.find(CheckRun::residue_ring) != nullptr,
       field = result.find(CheckRun::residue_field) != nullptr;
  EXPECT_NE(ring, field);
  for (const RunResult &run : result.runs) {
    if (arithmetic_of(run.run) == Arithmetic::floating)
      continue;
    EXPECT_TRUE(run.exact) << run.label;
    EXPECT_EQ(run.without_bound, 0) << run.label;
  }
}

CheckResult check_rounded(const Program &wanted, const Program &kernel) {
  SimExecutor simulator;
  return Checker().check(wanted, lower(Schedule(kernel)), simulator);
}

/// The quotient does not depend on what is subtracted, so only large numbers tell.
TEST(AWrongMaximum, IsFoundByLargeNumbers) {
  using enum SoftmaxMistake;
  for (SoftmaxMistake mistake : {minimum, first_tile, last_tile, stale}) {
    CheckResult result = check_rounded(rounded_softmax(), rounded_softmax(DType::f32, mistake));
    EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
    EXPECT_TRUE(result.find(CheckRun::residue_ring)->passed);
    EXPECT_EQ(result.find(CheckRun::steep_up)->passed, mistake == last_tile);
    EXPECT_FALSE(result.find(CheckRun::scattered)->passed);
    EXPECT_EQ(result.find(CheckRun::steep_down)->passed, mistake == first_tile || mistake == stale);
  }
}

/// The largest element is at each place of a row in turn, so a maximum that leaves one place out is found.
TEST(AWrongMaximum, ThatLeavesOutAnyPlaceIsFound) {
  constexpr std::int64_t size = 13;
  auto softmax = [](std::optional<std::int64_t> left_out) {
    Workload w("softmax");
    Tensor x = w.placeholder("X", {size, size});
    Reduce j = reduce_axis("j", size), l = reduce_axis("l", size);
    Tensor largest = w.compute("largest", {size}, {"i"}, [&](Expr i) {
      return max_over(left_out ? select(equal(Expr(j), *left_out), -1e30F, x(i, j)) : x(i, j), j);
    });
    Tensor total = w.compute("total", {size}, {"i"}, [&](Expr i) { return sum(exp(x(i, l) - largest(i)), l); });
    return w.output({w.compute("Y", {size, size}, {"i", "k"}, [&](Expr i, Expr k) -> Definition {
      return exp(x(i, k) - largest(i)) / total(i);
    })});
  };
  Program right = softmax(std::nullopt);
  Checker checker; // makes the references once
  SimExecutor simulator;
  EXPECT_TRUE(checker.check(right, lower(Schedule(right)), simulator).passed);
  for (std::int64_t place = 0; place < size; ++place) {
    CheckResult result = checker.check(right, lower(Schedule(softmax(place))), simulator);
    EXPECT_EQ(result.outcome(), CheckOutcome::wrong) << place;
    EXPECT_FALSE(result.find(CheckRun::scattered)->passed) << place;
    EXPECT_TRUE(result.find(CheckRun::residue_ring)->passed) << place;
  }
}

/// A maximum that starts at 0 in the place of -infinity is wrong for rows of large negative numbers only.
TEST(AWrongMaximum, ThatStartsAtZeroIsFound) {
  CheckResult result = check_rounded(rounded_softmax(), rounded_softmax(DType::f32, SoftmaxMistake::from_zero));
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
  EXPECT_TRUE(result.find(CheckRun::residue_ring)->passed);
  EXPECT_TRUE(result.find(CheckRun::scattered)->passed);
  EXPECT_FALSE(result.find(CheckRun::steep_down)->passed);
}

TEST(AForgottenRescaling, HasOtherResidues) {
  CheckResult result = check_rounded(online_softmax(), online_softmax(SoftmaxMistake::no_rescale));
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
  EXPECT_FALSE(result.find(CheckRun::residue_ring)->passed);
}

/// The bounds of a reducer that rounds in its own way are estimates, and the result says so.
TEST(BoundsOfAnOwnReducer, AreEstimates) {
  for (const Program &program : {online_softmax(), variance_of_rows()}) {
    CheckResult result = check_rounded(program, program);
    EXPECT_EQ(result.outcome(), CheckOutcome::right) << all_messages(result);
    auto note = std::ranges::find(result.skipped, "floating point", &SkippedRun::label);
    ASSERT_NE(note, result.skipped.end());
    EXPECT_THAT(note->why, HasSubstr("the bounds are estimates"));
  }
}

TEST(AProductThatRoundsNothing, HasItsExactRunOnIntegers) {
  Workload w("product");
  Tensor a = w.placeholder("A", {5, 17}), b = w.placeholder("B", {17, 9});
  Reduce k = reduce_axis("k", 17);
  Program program =
      w.output({w.compute("C", {5, 9}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(k, j), k); })});
  CheckResult result = check_rounded(program, program);
  EXPECT_EQ(result.find(CheckRun::residue_field), nullptr);
  EXPECT_NE(result.find(CheckRun::integers), nullptr);
}

} // namespace
} // namespace nestsmith
