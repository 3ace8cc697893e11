/// What the compiler makes of the worklog's rungs on sm_90: without a GPU, read off the CUBIN. A scheduler
/// issues one instruction a clock, so that the share of FFMA in the hottest loop is the ceiling of the rung.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/nvrtc.h"
#include "schedules/rung.h"
#include "tests/schedules/hot_loop.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

struct Published {
  const char *rung;
  int percent; ///< FFMA in the hottest loop of the published kernel, as nvcc 13 compiles it for sm_90
};

class Worklog : public testing::TestWithParam<Published> {};

TEST_P(Worklog, HottestLoopIsAsDenseAsThePublishedOne) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  const auto &rungs = builtin_rungs();
  auto rung = std::find_if(rungs.begin(), rungs.end(), [](const Rung &x) {
    return x.full_name() == std::string("worklog/") + GetParam().rung;
  });
  ASSERT_NE(rung, rungs.end());
  kernel::Kernel kernel = lower(rung->build({4096, 4096, 4096}, DType::f32, Target{.arch = "sm_90"})).only();
  cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), "sm_90");
  EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
  test::HotLoop loop = test::HotLoopFinder(compiled.cubin).find(entry_name(kernel));
  EXPECT_GT(loop.ffma, 0) << "no loop with FFMA was found";
  EXPECT_GE(100 * loop.ffma_share(), GetParam().percent) << loop.ffma << " of " << loop.instructions;
  RecordProperty("ffma", loop.ffma);
  RecordProperty("instructions", loop.instructions);
}

INSTANTIATE_TEST_SUITE_P(Rungs, Worklog,
                         testing::Values(Published{"2", 22}, Published{"3", 37}, Published{"4", 60},
                                         Published{"5", 79}, Published{"6", 84}),
                         [](const auto &info) { return std::string("worklog_") + info.param.rung; });

} // namespace
} // namespace nestsmith
