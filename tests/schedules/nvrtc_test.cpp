/// Every rung's text, compiled by NVRTC for each architecture: no errors, no spills.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/schedules/taken_names.h"

#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

/// Of whole tiles and of ragged ones.
std::vector<Shape> shapes_of(const Rung &rung) {
  switch (rung.tile.size()) {
  case 1:
    return {{1 << 20}, {1000003}};
  case 4:
    return {{16, 256, 256, 256}, {3, 127, 129, 131}};
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

/// NVRTC, or null and why not.
const cuda::Nvrtc *find_nvrtc(std::string &why_not) {
  try {
    return &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    why_not = error.what();
    return nullptr;
  }
}

class Architecture : public testing::TestWithParam<const char *> {};

/// Texts that several rungs have are compiled once. What differs between the architectures is compiled for both
/// shapes on one of them, and on the others for each shape with every second rung; tests/nvrtc_all.sh compiles
/// all, and in f16 and for all sizes too.
TEST_P(Architecture, TakesEveryRungWithoutSpills) {
  const std::string arch = GetParam();
  std::string why_not;
  const cuda::Nvrtc *nvrtc = find_nvrtc(why_not);
  if (!nvrtc)
    GTEST_SKIP() << "needs NVRTC: " << why_not;
  std::vector<Arch> known = nvrtc->arches();
  if (std::ranges::find(known, Arch::parse(arch)) == known.end())
    GTEST_SKIP() << "NVRTC " << nvrtc->version() << " does not compile for " << arch;
  std::set<std::string> compiled;
  std::size_t turn = arch.back();
  for (const Rung &rung : builtin_rungs()) {
    if (rung.needs && !Arch::parse(arch)->has(*rung.needs))
      continue;
    std::vector<Shape> shapes = shapes_of(rung);
    if (arch != "sm_90")
      shapes = {shapes[turn++ % shapes.size()]};
    for (const Shape &shape : shapes) {
      SCOPED_TRACE(rung.full_name() + " " + to_string(shape));
      for (const kernel::Kernel &kernel : lower(rung.build(shape, rung.dtype(), make_target(arch))).kernels)
        if (std::string text = cuda_kernel(kernel); compiled.insert(text).second)
          expect_compiled(*nvrtc, kernel, text, arch);
    }
  }
  EXPECT_GE(compiled.size(), 30U);
}

INSTANTIATE_TEST_SUITE_P(All, Architecture,
                         testing::Values("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90",
                                         "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"),
                         [](const auto &info) { return std::string(info.param); });

/// With the forms of their own instructions: sm_90a, sm_100f.
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
