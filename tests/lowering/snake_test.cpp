/// Tests kernels in which a loop runs backwards in odd iterations of an outer loop.

#include "lowering/lower.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

TEST(LowerSnake, DeclaresTheIndexInBothDirections) {
  Workload w("twice");
  Tensor x = w.placeholder("X", {2, 3}, DType::u32);
  Tensor y = w.compute("Y", {2, 3}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * 2; });
  Schedule s(w.output({y}));
  s.unroll(s.loop("i"));
  s.unroll(s.loop("j"));
  s.snake(s.loop("i"), s.loop("j"));
  EXPECT_EQ(kernel::print(lower(s).only()), R"(kernel twice(X[2, 3]: u32, Y[2, 3]: u32):
  for i < 2 unrolled:
    for j < 3 unrolled:
      let j'1: i32 = select(i%2 == 0, j, 2 - j)
      Y[i*3 + j'1] = X[i*3 + j'1]*2
)");
}

} // namespace
} // namespace nestsmith
