/// Tests the features of architectures against the assembler of CUDA.

#include "dsl/ir/arch.h"
#include "runtime/cuda/nvrtc.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace nestsmith::cuda {
namespace {

/// An instruction with a shared address %0, a global address %1, and registers.
struct Instruction {
  Feature feature;
  const char *text;
};
const Instruction instructions[] = {
    {Feature::vector_access, "ld.global.v4.b32 {a, b, c, d}, [%1];"},
    {Feature::dp4a, "dp4a.s32.s32 a, b, c, d;"},
    {Feature::ldmatrix, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {a}, [%0];"},
    {Feature::mma_f16_k8,
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {w, x, y, z}, {a, b}, {c}, {w, x, y, z};"},
    {Feature::mma_f16,
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {w, x, y, z}, {a, b, c, d}, {a, b}, {w, x, y, z};"},
    {Feature::mma_bf16,
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {w, x, y, z}, {a, b, c, d}, {a, b}, {w, x, y, z};"},
    {Feature::mma_tf32,
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {w, x, y, z}, {a, b, c, d}, {a, b}, {w, x, y, z};"},
    {Feature::mma_i8,
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {a, b, c, d}, {a, b, c, d}, {a, b}, {a, b, c, d};"},
    {Feature::cp_async, "cp.async.cg.shared.global [%0], [%1], 16;"},
    {Feature::mbarrier, "mbarrier.init.shared.b64 [%0], 1;"},
    {Feature::mbarrier_expect, "mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16;"},
    {Feature::tma, "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                   " [%0], [%1, {a, b}], [%0];"},
    {Feature::clusters, "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"},
    // NVRTC 13.0 ends the process for a constant address.
    {Feature::stmatrix, "mov.b32 a, %%tid.x; stmatrix.sync.aligned.m8n8.x1.shared.b16 [a], {b};"},
    {Feature::wgmma, "wgmma.fence.sync.aligned;"},
    {Feature::setmaxnreg, "setmaxnreg.inc.sync.aligned.u32 240;"},
    {Feature::griddepcontrol, "griddepcontrol.wait; griddepcontrol.launch_dependents;"},
};

TEST(Features, AreThoseThatTheAssemblerTakes) {
  const Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  std::vector<Arch> known = nvrtc->arches();
  for (const auto &[feature, text] : instructions) {
    std::string kernel = "extern \"C\" __global__ void __launch_bounds__(128, 1) only(float *global) {\n"
                         "  asm volatile(\"{.reg .b32 a, b, c, d; .reg .f32 w, x, y, z; " +
                         std::string(text) + "}\" :: \"r\"(0), \"l\"(global));\n}\n";
    for (const char *arch :
         {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"}) {
      Arch parsed = Arch::parse(arch).value();
      if (std::ranges::find(known, parsed) == known.end())
        continue;
      bool compiles = true;
      std::string message;
      try {
        nvrtc->compile(kernel, "only", arch);
      } catch (const CompileError &error) {
        compiles = false;
        message = error.what();
      }
      EXPECT_EQ(compiles, parsed.has(feature)) << name(feature) << " on " << arch << "\n" << message;
    }
  }
}

} // namespace
} // namespace nestsmith::cuda
