/// Tests files of several kernels: one launcher runs the kernels in order and takes their workspace.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "codegen/standalone.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "tests/codegen/host_text.h"
#include "tests/codegen/nvcc.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// T = max(X, 0) + 1, U = T*scale, Y = U - T by three kernels. T and U are in the workspace.
struct Chain {
  Program source;
  kernel::Plan plan;
};
Chain chain(std::int64_t n, std::int64_t threads) {
  Workload w("chain");
  Tensor x = w.placeholder("X", {n});
  Expr scale = w.scalar("scale");
  Tensor t = w.compute("T", {n}, {"i"}, [&](Expr i) -> Definition { return max(x(i), 0.0F) + 1.0F; });
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition { return t(i) * scale; });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return max(u(i), 0.5F) - t(i); });
  Schedule s(w.output({y}));
  for (const char *block : {"T", "U", "Y"}) {
    auto [outer, inner] = s.split(s.loops(s.block(block)).front(), {infer, threads});
    s.bind(outer, Axis::block_x);
    s.bind(inner, Axis::thread_x);
  }
  return {s.source(), lower(s)};
}

TEST(EmitPlan, HelpersStandOnceAboveAllKernels) {
  std::string text = cuda_kernels(chain(100, 32).plan);
  EXPECT_EQ(text.find("max_f32(float a"), text.rfind("max_f32(float a"));
  EXPECT_TRUE(text.starts_with("static __device__ __forceinline__ float max_f32"));
  EXPECT_LT(text.find("\nchain_T("), text.find("\nchain_U("));
  EXPECT_LT(text.find("\nchain_U("), text.find("\nchain_Y("));
}

TEST(EmitPlan, TheLauncherTakesTheWorkspaceAndLaunchesInOrder) {
  std::string text = emit({}, chain(100, 32).plan);
  EXPECT_THAT(text, HasSubstr("// T: float [100], row-major, workspace\n"));
  EXPECT_THAT(text, HasSubstr("// Launch: chain_T, grid 4, block 32\n// Launch: chain_U, grid 4, block 32\n"));
  EXPECT_THAT(text, HasSubstr("// Workspace: 912 bytes\n"));
  EXPECT_THAT(text, HasSubstr("extern \"C\" size_t chain_workspace_bytes() { return 912; }\n"));
  EXPECT_THAT(text, ContainsRegex("void .workspace,[ \n]+size_t workspace_bytes,[ \n]+cudaStream_t stream"));
  EXPECT_THAT(text, HasSubstr("  float *T = (float *)workspace;\n"
                              "  float *U = (float *)((char *)workspace + 512);\n"
                              "  chain_T<<<4, 32, 0, stream>>>(X, T);\n"
                              "  chain_U<<<4, 32, 0, stream>>>(T, U, scale);\n"
                              "  chain_Y<<<4, 32, 0, stream>>>(Y, T, U);\n"
                              "  return cudaGetLastError();\n"));
}

TEST(EmitPlan, OneKernelNeedsNoWorkspace) {
  Workload w("copy");
  Tensor x = w.placeholder("X", {8});
  Schedule s(w.output({w.compute("Y", {8}, {"i"}, [&](Expr i) -> Definition { return x(i); })}));
  EXPECT_THAT(emit({}, lower(s)), Not(HasSubstr("workspace")));
}

TEST(EmitPlan, NamesThatAUserTakesGetOutOfTheWay) {
  Workload w("p");
  Tensor x = w.placeholder("workspace", {8});
  Tensor t = w.compute("launch", {8}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1.0F; });
  Tensor y = w.compute("workspace_bytes", {8}, {"i"}, [&](Expr i) -> Definition { return t(i) * 2.0F; });
  std::string text = emit({}, lower(Schedule(w.output({y})))) +
                     "int main() {\n"
                     "  alignas(256) float x[8] = {1}, y[8], room[64];\n"
                     "  if (p_launch_(x, y, 8, 8, room, sizeof(room), nullptr) != cudaSuccess) return 1;\n"
                     "  return y[0] == 4 && p_workspace_bytes_() == 32 ? 0 : 2;\n}\n";
  EXPECT_EQ(run_on_host(text), 0) << text;
}

TEST(LauncherOfAPlan, RefusesAWorkspaceThatDoesNotServe) {
  std::string text = emit({}, chain(100, 32).plan) + R"(
int main() {
  alignas(256) static float X[100], Y[100], room[512];
  auto launch = [&](void *workspace, size_t bytes) {
    return chain_launch(X, Y, 100, 100, 2.0f, workspace, bytes, nullptr);
  };
  if (launch(room, chain_workspace_bytes()) != cudaSuccess) return 1;
  if (Y[7] != 1) return 2;
  if (launch(nullptr, sizeof(room)) != cudaErrorInvalidValue) return 3;
  if (launch(room, chain_workspace_bytes() - 1) != cudaErrorInvalidValue) return 4;
  if (launch(room + 1, sizeof(room) - 4) != cudaErrorInvalidValue) return 5;
  if (launch(X, sizeof(room)) != cudaErrorInvalidValue) return 6;
  return 0;
}
)";
  EXPECT_EQ(run_on_host(text), 0);
}

TEST(StandaloneOfAPlan, ChecksWhatTheKernelsMakeTogether) {
  for (std::int64_t n : {1, 31, 100}) {
    Chain right = chain(n, 32);
    EXPECT_EQ(run_on_host(emit_standalone({}, right.plan, right.source)), 0);
  }
  Chain wrong = chain(100, 32);
  std::swap(wrong.plan.kernels[0], wrong.plan.kernels[1]); // U reads T before T is written
  EXPECT_EQ(run_on_host(emit_standalone({}, wrong.plan, wrong.source)), 1);
}

TEST(EmitPlan, NvccTakesItWithoutAWarning) {
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  Chain chained = chain(1000, 256);
  std::vector<std::string> flags = {"-c"};
  for (const char *arch : {"75", "80", "90", "120"})
    flags.push_back(std::string("-gencode=arch=compute_") + arch + ",code=sm_" + arch);
  EXPECT_EQ(nvcc.messages(emit({}, chained.plan), flags), "");
  EXPECT_EQ(
      nvcc.messages(emit_standalone({}, chained.plan, chained.source), {"-arch", "sm_90", "-o", nvcc.output()}),
      "");
}

} // namespace
} // namespace nestsmith
