/// Tests schedules of products of a matrix and a vector beside what the tests of all rungs show: what each step
/// gains, the choices for a shape, and other computations.
#include "codegen/emit.h"
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "runtime/model/count.h"
#include "schedules/matvecs/matvecs.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using test::target;

kernel::Plan plan_of_gemv(const std::string &rung, const Shape &shape, DType dtype = DType::f32) {
  return lower(test::rung("gemv/" + rung).build(shape, dtype, target));
}

model::RequestSums loads_of_rung(const std::string &rung, const Shape &shape, DType dtype = DType::f32) {
  return model::count(plan_of_gemv(rung, shape, dtype).kernels.at(0), {}).total(Scope::global, false);
}

TEST(Gemv, AWarpReadsAlongItsRow) {
  EXPECT_EQ(loads_of_rung("naive", {64, 256}).sectors_per_request(), 16.5) << "32 of A, 1 of x";
  EXPECT_EQ(loads_of_rung("warp", {64, 256}).sectors_per_request(), 4);
}

TEST(Gemv, ALoadHas16Bytes) {
  for (DType dtype : {DType::f32, DType::bf16})
    EXPECT_EQ(loads_of_rung("vectors", {64, 256}, dtype).sectors_per_request(), 16) << name(dtype);
}

/// One load of x for 4 of A.
TEST(Gemv, TheRowsOfAWarpShareTheVector) {
  auto requests = [](std::int64_t rows) {
    Knobs knobs(KnobValues{{"rows", std::to_string(rows)}});
    Shape shape = {64, 256};
    kernel::Plan plan = lower(matvecs::in_registers(gemv(shape, DType::f32), shape, target, knobs));
    return model::count(plan.kernels[0], {}).total(Scope::global, false).requests;
  };
  EXPECT_EQ(requests(1), 2U * 64 * 2);
  EXPECT_EQ(requests(4), 2U * 64 * 2 * 5 / 8);
}

TEST(Gemv, IsRightForEachNumberOfRowsOfAWarp) {
  for (std::int64_t rows : {1, 2, 8})
    for (const Shape &shape : {Shape{1, 1}, Shape{9, 260}, Shape{33, 30}}) {
      SCOPED_TRACE(fmt::format("{} of {}", rows, to_string(shape)));
      Knobs knobs(KnobValues{{"rows", std::to_string(rows)}});
      expect_right(matvecs::in_registers(gemv(shape, DType::f16), shape, target, knobs));
    }
}

/// Few rows have several blocks each, and enough rows have one warp for several of them.
TEST(Gemv, FewRowsAreDividedAmongBlocks) {
  EXPECT_EQ(plan_of_gemv("parts", {16, 1 << 16}).kernels[0].grid()[1], 64);
  EXPECT_EQ(matvecs::parts_variant({2048, 64}, DType::f32), (Variant{"whole", "M >= 2048"}));
  EXPECT_EQ(matvecs::parts_variant({8, 63}, DType::f32), (Variant{"scalar", "N % 2 = 1"}));
  EXPECT_FALSE(matvecs::parts_variant({2047, 64}, DType::f32));
  EXPECT_FALSE(contains(emit(EmitInfo{}, plan_of_gemv("parts", {2048, 64})), "arrives_last("));
  EXPECT_TRUE(contains(emit(EmitInfo{}, plan_of_gemv("parts", {16, 1 << 16})),
                       "const bool last = arrives_last(&arrived[block], 64);"));
}

Schedule in_parts(const Shape &shape, DType dtype, std::int64_t rows, std::int64_t steps) {
  Knobs knobs(KnobValues{{"rows", std::to_string(rows)}, {"steps", std::to_string(steps)}});
  return matvecs::in_parts(gemv(shape, dtype), shape, target, knobs);
}

TEST(Gemv, TheLastBlockOfARowIsRightInEveryOrderOfBlocks) {
  for (std::int64_t rows : {1, 4})
    for (const Shape &shape : {Shape{1, 3}, Shape{5, 3001}, Shape{9, 2060}}) {
      Schedule s = in_parts(shape, DType::u32, rows, 1);
      kernel::Plan plan = lower(s);
      EXPECT_EQ(plan.kernels.size(), 1U);
      for (std::uint64_t order : {0, 1, 2}) {
        SimExecutor simulator({.order = order});
        CheckResult result = check(s, plan, simulator);
        EXPECT_TRUE(result.passed) << to_string(shape) << " in the order " << order << "\n"
                                   << test::all_messages(result);
      }
    }
}

TEST(Gemv, PartsKeepTheMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(in_parts({5, 2052}, DType::u32, 4, 2)));
}

/// The largest distance of each row from a vector, with other names than the rungs.
Program farthest(const Shape &shape) {
  Workload w("farthest");
  Expr m(shape[0]), n(shape[1]);
  Tensor a = w.placeholder("a", {m, n}), b = w.placeholder("b", {n});
  Reduce p = reduce_axis("p", n);
  return w.output({w.compute("most", {m}, {"row"}, [&](const Expr &row) -> Definition {
    return max_over(abs(b(p) - a(row, p)), p);
  })});
}

TEST(MatrixAndVector, OfAnyComputationAreRight) {
  for (const Shape &shape : {Shape{1, 1}, Shape{5, 33}, Shape{10, 1100}}) {
    SCOPED_TRACE(to_string(shape));
    Program program = farthest(shape);
    Knobs registers, parts;
    expect_right(matvecs::by_thread(program, target));
    expect_right(matvecs::by_warp(program, target));
    expect_right(matvecs::in_vectors(program, shape, target));
    expect_right(matvecs::in_registers(program, shape, target, registers));
    expect_right(matvecs::in_parts(program, shape, target, parts));
  }
}

TEST(MatrixAndVector, AreRefusedForAComputationOfElements) {
  try {
    matvecs::in_vectors(transpose({8, 8}, DType::f32), {8, 8}, target);
    ADD_FAILURE() << "expected a refusal";
  } catch (const UserError &error) {
    EXPECT_TRUE(contains(error.what(), "no block reduces over lane; name a loop of a reduction"));
  }
}

} // namespace
} // namespace nestsmith
