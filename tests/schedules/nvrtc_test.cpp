/// Every rung's text, compiled by NVRTC for each architecture that we name: no errors, no spills.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/nvrtc.h"
#include "schedules/rung.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using Case = std::tuple<const Rung *, const char *>;

std::vector<const Rung *> rungs() {
  std::vector<const Rung *> all;
  for (const Rung &rung : builtin_rungs())
    all.push_back(&rung);
  return all;
}

class EveryArchitecture : public testing::TestWithParam<Case> {};

TEST_P(EveryArchitecture, TakesTheRungWithoutSpills) {
  const auto &[rung, arch] = GetParam();
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  std::vector<Shape> shapes = {{1024, 1024, 1024}, {127, 129, 131}};
  if (rung->tile.size() == 1)
    shapes = {{1 << 20}, {1000003}};
  if (rung->tile.size() == 4)
    shapes = {{16, 256, 256, 256}, {3, 127, 129, 131}};
  for (const Shape &shape : shapes) {
    for (const kernel::Kernel &kernel : lower(rung->build(shape, DType::f32, make_target(arch))).kernels) {
      cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
      EXPECT_EQ(compiled.spill_stores, 0);
      EXPECT_EQ(compiled.spill_loads, 0);
      EXPECT_EQ(compiled.shared_bytes + kernel.dynamic_shared_bytes(), kernel.shared_bytes);
      EXPECT_GT(compiled.registers, 0);
      EXPECT_LE(compiled.registers * kernel.threads(), 65536) << "a block must fit a multiprocessor";
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case> &info) {
  const auto &[rung, arch] = info.param;
  return rung->tutorial + "_" + rung->name + "_" + arch;
}
INSTANTIATE_TEST_SUITE_P(Rungs, EveryArchitecture,
                         testing::Combine(testing::ValuesIn(rungs()),
                                          testing::Values("sm_75", "sm_80", "sm_90", "sm_120")),
                         case_name);

} // namespace
} // namespace nestsmith
