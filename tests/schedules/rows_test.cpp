/// Tests schedules of rows beside what the tests of all rungs show: other numbers of threads, the choices for a
/// shape, and other computations.
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "schedules/rows/rows.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using test::target;

/// Three warps for each row.
TEST(Softmax, IsRightForAnOddNumberOfWarps) {
  for (const Shape &shape : {Shape{1, 1}, Shape{5, 31}, Shape{33, 32}, Shape{7, 200}}) {
    SCOPED_TRACE(to_string(shape));
    Schedule s(softmax(shape, DType::f32));
    Loop row = s.loops(s.block("largest"))[0];
    s.bind(row, Axis::block_x);
    rows::divide(s, row, Axis::thread_x, 96);
    expect_right(s);
  }
}

/// Each number of threads and each width, in a shape that the block divides and in one that it does not.
TEST(Softmax, IsRightInRegistersOfEachNumberOfWarps) {
  for (DType dtype : {DType::f32, DType::f16})
    for (const Shape &shape : {Shape{1, 1}, Shape{3, 130}, Shape{2, 516}, Shape{2, 1024}})
      for (std::int64_t warps : {1, 2, 32}) {
        SCOPED_TRACE(fmt::format("{} {} {}", to_string(shape), name(dtype), warps));
        Knobs knobs(KnobValues{{"warps", std::to_string(warps)}});
        expect_right(rows::in_registers(softmax(shape, dtype), shape, target, knobs));
      }
}

/// The text of the kernel of the rung with its default knobs.
std::string kernel_of(const Shape &shape) {
  Knobs defaults;
  return kernel::print(lower(rows::in_registers(softmax(shape, DType::f32), shape, target, defaults)));
}

TEST(Softmax, GivesFewRowsMoreThreads) {
  EXPECT_TRUE(contains(kernel_of({4096, 1024}), "X_local[32]"));
  EXPECT_TRUE(contains(kernel_of({256, 1024}), "X_local[8]"));
}

TEST(Softmax, ReadsARowThatIsTooLongForRegistersAgain) {
  EXPECT_FALSE(rows::in_registers_variant({1, 32768}, DType::f32));
  EXPECT_EQ(rows::in_registers_variant({1, 32772}, DType::f32), (Variant{"reread", "N > 32768"}));
  EXPECT_FALSE(contains(kernel_of({1, 32772}), "power["));
}

/// B = A / (the largest magnitude of the row + 1) + the least a - largest of the row, with other names than the
/// rungs.
Program by_largest(const Shape &shape) {
  Workload w("by_largest");
  Expr m(shape[0]), n(shape[1]);
  Tensor a = w.placeholder("A", {m, n});
  Reduce k = reduce_axis("k", n);
  Tensor most = w.compute("most", {m}, {"row"}, [&](Expr row) { return max_over(abs(a(row, k)), k); });
  Tensor least = w.compute("least", {m}, {"row"}, [&](Expr row) { return min_over(a(row, k) - most(row), k); });
  return w.output({w.compute("B", {m, n}, {"row", "column"}, [&](Expr row, Expr column) -> Definition {
    return a(row, column) / (most(row) + 1.0F) + least(row);
  })});
}

/// A second maximum that does not read the first one.
TEST(Rows, AreRefusedForAStageOfItsOwn) {
  Workload w("two");
  Tensor a = w.placeholder("A", {4, 8});
  Reduce k = reduce_axis("k", 8);
  Tensor most = w.compute("most", {4}, {"i"}, [&](Expr i) { return max_over(a(i, k), k); });
  Tensor least = w.compute("least", {4}, {"i"}, [&](Expr i) { return min_over(a(i, k), k); });
  Program program = w.output(
      {w.compute("B", {4, 8}, {"i", "j"}, [&](Expr i, Expr j) { return a(i, j) - most(i) * least(i); })});
  try {
    rows::by_block(program, target);
    ADD_FAILURE() << "expected a refusal";
  } catch (const ScheduleError &error) {
    EXPECT_TRUE(contains(error.what(), "block least reads no temporary that is written below"));
  }
  Knobs knobs;
  expect_right(rows::in_registers(program, {4, 8}, target, knobs)); // there it reads the copy
}

TEST(Rows, OfAnyComputationAreRight) {
  for (const Shape &shape : {Shape{1, 1}, Shape{5, 33}, Shape{3, 264}}) {
    SCOPED_TRACE(to_string(shape));
    Program program = by_largest(shape);
    Knobs vectors, registers;
    expect_right(rows::by_thread(program, target));
    expect_right(rows::by_warp(program, target));
    expect_right(rows::by_block(program, target));
    expect_right(rows::in_vectors(program, shape, target, vectors));
    expect_right(rows::in_registers(program, shape, target, registers));
  }
}

} // namespace
} // namespace nestsmith
