/// Tests the softmax of rows beside what the tests of all rungs show: other numbers of threads, and the choices
/// for a shape.
#include "schedules/softmax/across.h"
#include "schedules/softmax/rungs.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;

const Target target;

/// Three warps for each row.
TEST(Softmax, IsRightForAnOddNumberOfWarps) {
  for (const Shape &shape : {Shape{1, 1}, Shape{5, 31}, Shape{33, 32}, Shape{7, 200}}) {
    SCOPED_TRACE(to_string(shape));
    Schedule s(softmax(shape, DType::f32));
    Loop row = s.loops(s.block("largest"))[0];
    s.bind(row, Axis::block_x);
    softmax_rows::by_threads(s, row, Axis::thread_x, 96);
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
        expect_right(softmax_rows::registers(shape, dtype, target, knobs));
      }
}

/// The text of the kernel of the rung with its default knobs.
std::string kernel_of(const Shape &shape) {
  Knobs defaults;
  return kernel::print(lower(softmax_rows::registers(shape, DType::f32, target, defaults)));
}

TEST(Softmax, GivesFewRowsMoreThreads) {
  EXPECT_TRUE(contains(kernel_of({4096, 1024}), "X_local[32]"));
  EXPECT_TRUE(contains(kernel_of({256, 1024}), "X_local[8]"));
}

TEST(Softmax, ReadsARowThatIsTooLongForRegistersAgain) {
  EXPECT_FALSE(softmax_rows::registers_variant({1, 32768}, DType::f32));
  EXPECT_EQ(softmax_rows::registers_variant({1, 32772}, DType::f32), (Variant{"reread", "N > 32768"}));
  EXPECT_FALSE(contains(kernel_of({1, 32772}), "power["));
}

} // namespace
} // namespace nestsmith
