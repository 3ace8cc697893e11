/// Tests the limit on the number of kernels in one plan.

#include "lowering/lower.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

Schedule stages(int count) {
  Workload w("stages");
  Tensor last = w.placeholder("X", {4}, DType::u32);
  for (int n = 0; n < count; ++n)
    last = w.compute("T" + std::to_string(n), {4}, {"i"}, [&](Expr i) { return last(i) + 1; });
  return Schedule(w.output({last}));
}

TEST(Kernels, ManyAreLoweredAndTooManyAreRefusedAtOnce) {
  EXPECT_EQ(lower(stages(100)).kernels.size(), 100U);
  for (int count : {1001, 2000})
    test::expect_user_error([&] { lower(stages(count)); }, ExitCode::illegal_schedule,
                            "the schedule has " + std::to_string(count) +
                                " nests, and each nest is a kernel, expected at most 1000; join nests with ");
}

} // namespace
} // namespace nestsmith
