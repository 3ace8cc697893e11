/// Compiles the text of every rung by NVRTC for each architecture, and expects no errors and no spills.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/schedules/sample.h"
#include "tests/schedules/taken_names.h"

#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

/// Returns shapes with full tiles and with partial tiles.
std::vector<Shape> shapes_of(const Rung &rung) {
  switch (rung.tile.size()) {
  case 1:
    return {{1 << 20}, {1000003}};
  case 2:
    return {{4096, 4096}, {127, 1131}};
  case 4:
    return {{16, 256, 256, 256}, {3, 127, 129, 131}};
  case 5:
    return {{4, 64, 64, 64, 128}, {3, 31, 33, 17, 65}};
  default:
    return {{1024, 1024, 1024}, {127, 129, 131}};
  }
}

void expect_compiled(const cuda::Nvrtc &nvrtc, const kernel::Kernel &kernel, const std::string &text,
                     const std::string &arch) {
  cuda::Compiled compiled = nvrtc.compile(text, entry_name(kernel), arch);
  EXPECT_EQ(compiled.spill_stores, 0);
  EXPECT_EQ(compiled.spill_loads, 0);
  EXPECT_EQ(compiled.shared_bytes + kernel.dynamic_shared_bytes(), kernel.shared_bytes);
  EXPECT_GT(compiled.registers, 0);
  EXPECT_LE(compiled.registers * kernel.threads(), 65536) << "a block must fit a multiprocessor";
}

/// Returns NVRTC, or null and the reason.
const cuda::Nvrtc *find_nvrtc(std::string &why_not) {
  try {
    return &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    why_not = error.what();
    return nullptr;
  }
}

/// Compiles the rungs of the sample for this architecture, each at one of its shapes. A text that several rungs
/// have is compiled once. Returns the number of texts.
std::size_t compile_sample(const cuda::Nvrtc &nvrtc, const std::string &arch, std::size_t count, bool others) {
  std::set<std::string> compiled;
  for (const Rung &rung : builtin_rungs()) {
    std::vector<std::string> archs = test::sample(rung, test::that_take(rung, test::architectures()), count);
    std::vector<std::string> first = test::sample(rung, test::that_take(rung, test::architectures()), 1);
    if (std::ranges::find(archs, arch) == archs.end() || (others && first[0] == arch))
      continue;
    std::vector<Shape> shapes = shapes_of(rung);
    const Shape &shape = shapes[(test::seed_of(rung) + arch.size() + arch.back()) % shapes.size()];
    SCOPED_TRACE(rung.full_name() + " " + to_string(shape) + " " + arch);
    for (const kernel::Kernel &kernel : lower(rung.build(shape, rung.dtype(), make_target(arch))).kernels)
      if (std::string text = cuda_kernel(kernel); compiled.insert(text).second)
        expect_compiled(nvrtc, kernel, text, arch);
  }
  return compiled.size();
}

class Architecture : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    std::string why_not;
    nvrtc_ = find_nvrtc(why_not);
    if (!nvrtc_)
      GTEST_SKIP() << "needs NVRTC: " << why_not;
    std::vector<Arch> known = nvrtc_->arches();
    if (std::ranges::find(known, Arch::parse(GetParam())) == known.end())
      GTEST_SKIP() << "NVRTC " << nvrtc_->version() << " does not compile for " << GetParam();
  }
  const cuda::Nvrtc *nvrtc_ = nullptr;
};

/// Compiles each rung for one architecture. tests/nvrtc_all.sh compiles all rungs for all architectures, also
/// in f16 and for all sizes.
TEST_P(Architecture, TakesItsRungsWithoutSpills) {
  EXPECT_GT(compile_sample(*nvrtc_, GetParam(), 1, false), 0U);
}

/// Compiles each rung for two more architectures.
TEST_P(Architecture, TakesMoreRungsWithoutSpills) {
  EXPECT_GT(compile_sample(*nvrtc_, GetParam(), 3, true), 5U);
}

INSTANTIATE_TEST_SUITE_P(All, Architecture, testing::ValuesIn(test::architectures()),
                         [](const auto &info) { return info.param; });

/// Includes the architecture-specific forms: sm_90a, sm_100f.
TEST(Architectures, ThatNvrtcListsTakeARung) {
  std::string why_not;
  const cuda::Nvrtc *nvrtc = find_nvrtc(why_not);
  if (!nvrtc)
    GTEST_SKIP() << "needs NVRTC: " << why_not;
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == "deep_dive/shared")
      for (const std::string &arch : names(nvrtc->arches())) {
        SCOPED_TRACE(arch);
        const kernel::Kernel kernel = lower(rung.build({512, 512, 512}, DType::f32, make_target(arch))).only();
        expect_compiled(*nvrtc, kernel, cuda_kernel(kernel), arch);
      }
}

TEST(Names, ThatCppOrCudaTakeCompile) {
  std::string why_not;
  const cuda::Nvrtc *nvrtc = find_nvrtc(why_not);
  if (!nvrtc)
    GTEST_SKIP() << "needs NVRTC: " << why_not;
  for (bool symbolic : {false, true})
    for (DType dtype : {DType::u32, DType::f32}) {
      const kernel::Kernel kernel = lower(taken_names(symbolic, dtype)).only();
      expect_compiled(*nvrtc, kernel, cuda_kernel(kernel), "sm_90");
    }
}

} // namespace
} // namespace nestsmith
