/// Compiles the rungs of the worklog for sm_90 and analyses the CUBIN, without a GPU. A scheduler issues one
/// instruction per clock, so the share of FFMA in the hottest loop limits the performance of the rung.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/machine_code.h"
#include "schedules/rung.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace nestsmith {
namespace {

struct Share {
  const char *rung;
  int percent; ///< FFMA in the hottest loop; for the worklog: of the published kernel, compiled by nvcc 13
  int registers = 255; ///< maximum, so that the expected number of blocks fits on an SM
};

struct HotLoop {
  std::int64_t instructions = 0, ffma = 0;
};

/// Returns the loop with the most FFMA instructions, or the shortest of several such loops.
HotLoop hot_loop(const std::vector<model::Instruction> &code) {
  HotLoop best;
  for (const model::CodeLoop &loop : model::loops(code)) {
    auto begin = code.begin() + static_cast<std::ptrdiff_t>(loop.begin),
         end = code.begin() + static_cast<std::ptrdiff_t>(loop.end) + 1;
    HotLoop found{end - begin, std::count_if(begin, end, [](const auto &x) { return x.ffma; })};
    if (found.ffma >= best.ffma)
      best = found;
  }
  return best;
}

class Dense : public testing::TestWithParam<Share> {};

TEST_P(Dense, HottestLoopIsMultiplyAdds) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  const auto &rungs = builtin_rungs();
  auto rung =
      std::find_if(rungs.begin(), rungs.end(), [](const Rung &x) { return x.full_name() == GetParam().rung; });
  ASSERT_NE(rung, rungs.end());
  kernel::Kernel kernel = lower(rung->build({4096, 4096, 4096}, DType::f32, Target{.arch = {90}})).only();
  cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), "sm_90");
  EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
  HotLoop loop = hot_loop(model::machine_code(compiled.cubin, entry_name(kernel)));
  EXPECT_GT(loop.ffma, 0) << "no loop with FFMA was found";
  EXPECT_GE(100 * loop.ffma, GetParam().percent * loop.instructions)
      << loop.ffma << " of " << loop.instructions;
  EXPECT_LE(compiled.registers, GetParam().registers);
  RecordProperty("ffma", std::to_string(loop.ffma));
  RecordProperty("instructions", std::to_string(loop.instructions));
}

std::string share_name(const testing::TestParamInfo<Share> &info) {
  std::string name = info.param.rung;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rungs, Dense,
                         testing::Values(Share{"worklog/2", 22}, Share{"worklog/3", 37}, Share{"worklog/4", 60},
                                         Share{"worklog/5", 79}, Share{"worklog/6", 84},
                                         Share{"ladder/warps", 87, 128}, Share{"ladder/async", 85, 128}),
                         share_name);

/// The data of asynchronous copies must not pass through registers.
TEST(AsyncCopies, AreInstructionsOfTheirOwn) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  const auto &rungs = builtin_rungs();
  auto rung = std::ranges::find(rungs, "ladder/async", &Rung::full_name);
  ASSERT_NE(rung, rungs.end());
  for (const char *arch : {"sm_80", "sm_90a"}) {
    kernel::Kernel kernel = lower(rung->build({1024, 1024, 1024}, DType::f32, make_target(arch))).only();
    cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
    EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
    std::map<int, int> copies; // number of copies, by bytes
    for (const model::Instruction &x : model::machine_code(compiled.cubin, entry_name(kernel))) {
      EXPECT_NE(x.unit, model::Unit::shared_store);
      if (x.unit == model::Unit::async_copy)
        ++copies[x.bytes];
    }
    // One step of the prologue and one of the loop contain eight copies of A and two of B each.
    EXPECT_EQ(copies, (std::map<int, int>{{4, 16}, {16, 4}})) << arch;
  }
}

} // namespace
} // namespace nestsmith
