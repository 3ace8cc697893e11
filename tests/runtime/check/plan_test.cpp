/// Tests plans of two kernels on the simulator, and with a driver that runs on the host.

#include "lowering/plan.h"
#include "runtime/check/gpu_executor.h"
#include "runtime/check/gpu_plan.h"
#include "runtime/check/sim_executor.h"
#include "tests/runtime/cuda/fake_cuda.h"

#include <cmath>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::fake_cuda;
using test::FakeLaunch;

constexpr std::int64_t n = 40;

Buffer global(const char *name, Role role) {
  return std::make_shared<const BufferNode>(BufferNode{name, DType::f32, {Expr(n)}, Scope::global, role});
}

/// T = X + X for the first `made` elements, and Y = T*factor.
struct TwoKernels {
  explicit TwoKernels(std::int64_t made = n) {
    Buffer x = global("X", Role::input), y = global("Y", Role::output), t = global("T", Role::temporary);
    Var factor = make_var("factor", DType::f32), other = make_var("other", DType::f32);
    plan.name = "two";
    plan.params = {x, y};
    plan.scalars = {other, factor};
    plan.add_workspace(t);
    Var i = make_var("i", DType::i32), j = make_var("j", DType::i32);
    kernel::Kernel first, second;
    first.name = "first";
    first.params = {x, t};
    first.indices = {{Axis::thread_x, i, made}};
    first.body = kernel::make(kernel::Store{t, {i}, load(x, {i}) + load(x, {i})});
    second.name = "second";
    second.params = {y, t};
    second.scalars = {factor};
    second.indices = {{Axis::block_x, j, n}};
    second.body = kernel::make(kernel::Store{y, {j}, load(t, {j}) * Expr(factor)});
    plan.kernels = {first, second};
    for (std::int64_t at = 0; at < n; ++at)
      arrays[0].view<float>()[static_cast<std::size_t>(at)] = static_cast<float>(at);
  }
  kernel::Plan plan;
  std::vector<Array> arrays = std::vector<Array>(2, Array(DType::f32, {n}));
  std::vector<Scalar> scalars = {Scalar::from_double(DType::f32, 100), Scalar::from_double(DType::f32, 3)};
};

TEST(SimulatedPlan, KernelsHandOnTheirWorkspace) {
  TwoKernels two;
  SimExecutor simulator;
  EXPECT_EQ(simulator.run(two.plan, two.arrays, two.scalars).diagnostics, std::vector<std::string>());
  for (std::size_t at = 0; at < n; ++at)
    EXPECT_EQ(two.arrays[1].view<float>()[at], 6 * static_cast<float>(at));
  EXPECT_EQ(simulator.stats().loads_global, 3U * n);
  EXPECT_EQ(simulator.stats().stores_global, 2U * n);
}

TEST(SimulatedPlan, FindsWhatNoKernelHasWritten) {
  TwoKernels two(n - 1);
  std::vector<std::string> diagnostics = SimExecutor().run(two.plan, two.arrays, two.scalars).diagnostics;
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_TRUE(diagnostics[0].starts_with("kernel second: ")) << diagnostics[0];
  EXPECT_NE(diagnostics[0].find("T[39]"), std::string::npos) << diagnostics[0];
}

TEST(SimulatedPlan, FindsAnOutputThatIsReadBeforeItIsWritten) {
  TwoKernels two;
  std::swap(two.plan.kernels[0], two.plan.kernels[1]);
  EXPECT_FALSE(SimExecutor().run(two.plan, two.arrays, two.scalars).diagnostics.empty());
  // The second kernel may read an output of the first one.
  TwoKernels good;
  good.plan.kernels[0].params = {good.plan.params[0], good.plan.params[1]};
  Expr i = good.plan.kernels[0].indices[0].var;
  good.plan.kernels[0].body =
      kernel::make(kernel::Store{good.plan.params[1], {i}, load(good.plan.params[0], {i})});
  Expr j = good.plan.kernels[1].indices[0].var;
  good.plan.kernels[1].params = {good.plan.params[1]};
  good.plan.kernels[1].scalars = {};
  good.plan.kernels[1].body =
      kernel::make(kernel::Store{good.plan.params[1], {j}, load(good.plan.params[1], {j}) + Expr(1.0F)});
  EXPECT_EQ(SimExecutor().run(good.plan, good.arrays, good.scalars).diagnostics, std::vector<std::string>());
  EXPECT_EQ(good.arrays[1].view<float>()[5], 6);
}

std::vector<cuda::Compiled> compiled(const kernel::Plan &plan, Arch arch) {
  std::vector<cuda::Compiled> all;
  for (const kernel::Kernel &kernel : plan.kernels) {
    all.emplace_back();
    all.back().kernel_name = kernel.name;
    all.back().cubin = {'E', 'L', 'F'};
    all.back().arch = arch;
  }
  return all;
}

class GpuPlanTest : public testing::Test {
protected:
  void SetUp() override {
    test::reset_fake_cuda();
    device = cuda::Device::open(test::fake_driver());
    fake_cuda().kernels["first"] = [this](const FakeLaunch &launch) {
      launches += "first ";
      float *x = launch.pointer<float>(0), *t = launch.pointer<float>(1);
      for (std::int64_t i = 0; i < made; ++i)
        t[i] = x[i] + x[i];
    };
    fake_cuda().kernels["second"] = [this](const FakeLaunch &launch) {
      launches += "second ";
      EXPECT_EQ(launch.grid[0], static_cast<unsigned>(n));
      float *y = launch.pointer<float>(0), *t = launch.pointer<float>(1);
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = t[i] * launch.scalar<float>(2);
      if (beyond != 0)
        t[beyond] = 0;
    };
  }
  void TearDown() override {
    device.reset();
    EXPECT_TRUE(fake_cuda().memory.empty());
    EXPECT_EQ(fake_cuda().modules, 0);
  }
  std::unique_ptr<cuda::Device> device;
  std::string launches;
  std::int64_t made = n, beyond = 0;
};

TEST_F(GpuPlanTest, LaunchesTheKernelsInOrderOnOneWorkspace) {
  TwoKernels two;
  GpuExecutor executor(*device, compiled);
  EXPECT_EQ(executor.run(two.plan, two.arrays, two.scalars).diagnostics, std::vector<std::string>());
  EXPECT_EQ(launches, "first second ");
  EXPECT_EQ(two.arrays[1].view<float>()[5], 30);
  executor.time(two.plan, two.arrays, two.scalars,
                {.launch = cuda::LaunchMode::single, .rounds = 1, .warm_up = 1});
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 8);
}

/// A kernel that awaits the one before it is launched with the attribute that lets it start early.
TEST_F(GpuPlanTest, LaunchesEarlyWhatAwaitsTheKernelBefore) {
  TwoKernels two;
  two.plan.kernels[1].launches_early = true;
  GpuExecutor executor(*device, compiled);
  EXPECT_EQ(executor.run(two.plan, two.arrays, two.scalars).diagnostics, std::vector<std::string>());
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 2);
  EXPECT_EQ(fake_cuda().early, 1);
}

TEST_F(GpuPlanTest, AWorkspaceStartsAsPoison) {
  made = n - 1;
  TwoKernels two;
  GpuExecutor(*device, compiled).run(two.plan, two.arrays, two.scalars);
  EXPECT_TRUE(std::isnan(two.arrays[1].view<float>()[n - 1]));
}

TEST_F(GpuPlanTest, AWorkspaceLiesBetweenGuardBands) {
  beyond = n;
  TwoKernels two;
  std::vector<std::string> diagnostics =
      GpuExecutor(*device, compiled).run(two.plan, two.arrays, two.scalars).diagnostics;
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_TRUE(
      diagnostics[0].starts_with("buffer T: written out of bounds, at byte offset 160 of its 160 bytes"))
      << diagnostics[0];
}

TEST_F(GpuPlanTest, CountersAreZeroBeforeAndAfterALaunch) {
  auto counters = std::make_shared<const BufferNode>(
      BufferNode{"arrived", DType::u32, {Expr(n)}, Scope::global, Role::temporary});
  Buffer y = global("Y", Role::output);
  Var i = make_var("i", DType::i32);
  kernel::Kernel kernel;
  kernel.name = "counts";
  kernel.params = {y, counters};
  kernel.indices = {{Axis::thread_x, i, n}};
  kernel.body = kernel::make(kernel::Store{y, {i}, Expr(0.0F)});
  kernel::Plan plan;
  plan.name = "counts";
  plan.params = {y};
  plan.add_workspace(counters, true);
  plan.kernels = {kernel};

  unsigned left = 0;
  fake_cuda().kernels["counts"] = [&](const FakeLaunch &launch) {
    float *result = launch.pointer<float>(0);
    unsigned *counts = launch.pointer<unsigned>(1);
    for (std::int64_t at = 0; at < n; ++at)
      result[at] = static_cast<float>(counts[at]);
    counts[7] = left;
  };
  std::vector<Array> arrays = {Array(DType::f32, {n})};
  GpuExecutor executor(*device, compiled);
  EXPECT_EQ(executor.run(plan, arrays, {}).diagnostics, std::vector<std::string>());
  for (std::size_t at = 0; at < n; ++at)
    EXPECT_EQ(arrays[0].view<float>()[at], 0);
  left = 1;
  std::vector<std::string> diagnostics = executor.run(plan, arrays, {}).diagnostics;
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0], "buffer arrived: a counter of arrivals is not zero after the launch");
}

} // namespace
} // namespace nestsmith
