/// Tests the execution on a GPU with a driver that runs on the host (tests/runtime/cuda/fake_cuda.h).

#include "runtime/check/gpu_executor.h"
#include "runtime/check/gpu_plan.h"
#include "runtime/check/guarded_buffer.h"
#include "tests/runtime/cuda/fake_cuda.h"
#include "tests/runtime/environment.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace nestsmith::cuda {
namespace {

using test::fake_cuda;
using test::FakeLaunch;
using test::says;

/// out[i] = factor * in[i] + acc[i], with one thread per element and 4 threads per block.
constexpr std::int64_t n = 6;

kernel::Kernel scale_kernel(DType dtype = DType::f32) {
  auto buffer = [&](const char *name, Role role) {
    return std::make_shared<const BufferNode>(BufferNode{name, dtype, {Expr(2), Expr(3)}, Scope::global, role});
  };
  kernel::Kernel kernel;
  kernel.name = "scale";
  kernel.params = {buffer("in", Role::input), buffer("out", Role::output), buffer("acc", Role::inout)};
  kernel.scalars = {make_var("factor", dtype)};
  kernel.indices = {{Axis::block_x, make_var("b"), 2}, {Axis::thread_x, make_var("t"), 4}};
  return kernel;
}

Compiled compiled_scale() {
  Compiled compiled;
  compiled.kernel_name = "scale";
  compiled.cubin = {'E', 'L', 'F'};
  compiled.arch = {90, 'a'};
  return compiled;
}

/// Executes the kernel above on the host, and then `also`.
template <class T> std::function<void(const FakeLaunch &)> scale(std::function<void(T *, T *, T *)> also = {}) {
  return [also](const FakeLaunch &launch) {
    T *in = launch.pointer<T>(0), *out = launch.pointer<T>(1), *acc = launch.pointer<T>(2);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(launch.grid[0] * launch.block[0], n); ++i) {
      acc[i] = launch.scalar<T>(3) * in[i] + acc[i];
      out[i] = acc[i];
    }
    if (also)
      also(in, out, acc);
  };
}

class Gpu : public ::testing::Test {
protected:
  void SetUp() override {
    test::reset_fake_cuda();
    device = Device::open(test::fake_driver());
    for (int i = 0; i < n; ++i) {
      arrays[0].view<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
      arrays[2].view<float>()[static_cast<std::size_t>(i)] = 100;
    }
  }
  void TearDown() override {
    device.reset();
    EXPECT_TRUE(fake_cuda().memory.empty());
    EXPECT_EQ(fake_cuda().modules, 0);
    EXPECT_EQ(fake_cuda().events, 0);
    EXPECT_EQ(fake_cuda().contexts + fake_cuda().streams, 0);
  }
  std::vector<std::string> run(std::function<void(float *, float *, float *)> also = {}) {
    fake_cuda().kernels["scale"] = scale<float>(std::move(also));
    return GpuPlan(*device, scale_kernel(), {compiled_scale()}).run(arrays, std::vector{factor});
  }
  void expect_problem(const std::vector<std::string> &problems, const std::string &text) {
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0], text);
  }
  template <class F> UserError refusal(F f) {
    try {
      f();
    } catch (const UserError &error) {
      return error;
    }
    ADD_FAILURE() << "not refused";
    return {ExitCode::good, ""};
  }

  std::unique_ptr<Device> device;
  std::vector<Array> arrays = std::vector<Array>(3, Array(DType::f32, {2, 3}));
  Scalar factor = Scalar::from_double(DType::f32, 2);
};

TEST_F(Gpu, DescribesTheDevice) {
  const DeviceInfo &info = device->info();
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(to_string(info.arch()), "sm_90a");
  EXPECT_EQ(info.target().arch, info.arch());
  EXPECT_EQ(info.sm_count, 132);
  EXPECT_EQ(info.l2_bytes, 65536u);
  EXPECT_EQ(info.memory_bytes, std::size_t(80) << 30);
  EXPECT_EQ(info.driver_version, 12040);
  EXPECT_EQ(info.memory_bus_bits, 0); // the fake driver does not report it
  auto arch = [](int major, int minor) {
    DeviceInfo other;
    other.major = major;
    other.minor = minor;
    return to_string(other.arch());
  };
  EXPECT_EQ(arch(7, 5), "sm_75");
  EXPECT_EQ(arch(8, 9), "sm_89");
  EXPECT_EQ(arch(12, 0), "sm_120a");
}

TEST_F(Gpu, RunsAKernelOnHostArrays) {
  EXPECT_EQ(run(), std::vector<std::string>());
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(arrays[0].view<float>()[i], static_cast<float>(i));
    EXPECT_EQ(arrays[1].view<float>()[i], 100 + 2 * static_cast<float>(i));
    EXPECT_EQ(arrays[2].view<float>()[i], 100 + 2 * static_cast<float>(i));
  }
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 1);
}

/// Sizes are passed between pointers and scalars, and determine the grid. Elements between the rows may stay
/// unwritten.
TEST_F(Gpu, LaunchesOneKernelForTheSizesOfThePlan) {
  Var rows = make_size("R", {}), distance = make_size("ld", {});
  auto strides = std::make_shared<const std::vector<Expr>>(std::vector<Expr>{distance, 1});
  kernel::Kernel kernel = scale_kernel();
  for (Buffer &param : kernel.params) {
    BufferNode node = *param;
    node.shape = {rows, 3};
    node.strides = strides;
    param = std::make_shared<const BufferNode>(std::move(node));
  }
  kernel.sizes = {{rows, make_size("R", {}, DType::i32)}, {distance, make_size("ld", {}, DType::i32)}};
  kernel.indices = {{Axis::block_x, make_var("b"), rows}, {Axis::thread_x, make_var("t"), 3}};
  kernel.body = kernel::make(kernel::Seq{});
  fake_cuda().kernels["scale"] = [](const FakeLaunch &launch) {
    EXPECT_EQ(launch.grid[0], 2);
    EXPECT_EQ(launch.scalar<int>(3), 2);
    EXPECT_EQ(launch.scalar<int>(4), 5);
    EXPECT_EQ(launch.scalar<float>(5), 2);
    for (int i : {0, 1, 2, 5, 6, 7})
      launch.pointer<float>(1)[i] = 1;
  };
  std::vector<Array> memory(3, Array(DType::f32, {8}));
  memory[1].view<float>()[3] = memory[1].view<float>()[4] = 7;
  GpuPlan plan(*device, with_sizes(kernel, std::vector<std::int64_t>{2, 5}), {compiled_scale()});
  EXPECT_EQ(plan.run(memory, std::vector{factor}), std::vector<std::string>());
  const float written[] = {1, 1, 1, 7, 7, 1, 1, 1};
  EXPECT_TRUE(std::ranges::equal(memory[1].view<float>(), written)) << "what lies between the rows is kept";
}

TEST_F(Gpu, BuffersAreAlignedAsAllocationsAre) {
  EXPECT_EQ(run([](float *in, float *out, float *acc) {
              for (float *p : {in, out, acc})
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0u);
            }),
            std::vector<std::string>());
}

TEST_F(Gpu, FindsAWriteAfterABuffer) {
  expect_problem(
      run([](float *, float *out, float *) { out[n] = 0; }),
      "buffer out: written out of bounds, at byte offset 24 of its 24 bytes (32-bit words changed within "
      "65536 bytes after its end: 1)");
  expect_problem(
      run([](float *, float *, float *acc) { acc[n + 1000] = acc[n + 1002] = 1; }),
      "buffer acc: written out of bounds, at byte offset 4024 of its 24 bytes (32-bit words changed within "
      "65536 bytes after its end: 2)");
}

TEST_F(Gpu, FindsAWriteBeforeABuffer) {
  expect_problem(
      run([](float *in, float *, float *) { in[-2] = 0; }),
      "buffer in: written out of bounds, 8 bytes before its start (32-bit words changed within 65536 bytes "
      "before it: 1)");
}

TEST_F(Gpu, AllowsMoreThan48KbOfSharedMemory) {
  fake_cuda().kernels["scale"] = scale<float>();
  kernel::Kernel kernel = scale_kernel();
  kernel.shared_bytes = 49152;
  GpuPlan(*device, kernel, {compiled_scale()}).run(arrays, std::vector{factor});
  EXPECT_EQ(fake_cuda().count("cuFuncSetAttribute"), 0);
  kernel.shared_bytes = 65536;
  EXPECT_EQ(GpuPlan(*device, kernel, {compiled_scale()}).run(arrays, std::vector{factor}),
            std::vector<std::string>());
  EXPECT_EQ(fake_cuda().count("cuFuncSetAttribute"), 1);
  EXPECT_EQ(fake_cuda().allowed_shared, 65536U);
  kernel.shared_bytes = 131072;
  UserError error = refusal([&] { GpuPlan(*device, kernel, {compiled_scale()}); });
  EXPECT_TRUE(says(error.what(), "cannot give kernel scale 131072 bytes of shared memory")) << error.what();
}

TEST_F(Gpu, FindsAWriteToAnInput) {
  expect_problem(run([](float *in, float *, float *) { in[3] = -1; }),
                 "buffer in: written to, though it is an input");
  EXPECT_EQ(arrays[0].view<float>()[3], 3); // the caller's array is unchanged
}

TEST_F(Gpu, FindsElementsThatWereNeverWritten) {
  fake_cuda().kernels["scale"] = [](const FakeLaunch &launch) {
    for (int i : {0, 1, 2, 3, 5})
      launch.pointer<float>(1)[i] = 0;
  };
  expect_problem(GpuPlan(*device, scale_kernel(), {compiled_scale()}).run(arrays, std::vector{factor}),
                 "buffer out: 1 of 6 elements never written, the first out[1, 1]");
  EXPECT_TRUE(std::isnan(arrays[1].view<float>()[4]));
  EXPECT_EQ(arrays[1].view<float>()[5], 0);
}

TEST_F(Gpu, AnIntegerThatHappensToBePoisonIsNoUnwrittenElement) {
  std::vector<Array> integers(3, Array(DType::u32, {2, 3}));
  // The kernel stores the value that marks unwritten elements. These elements must count as written.
  std::uint32_t poison = 0;
  fake_cuda().kernels["scale"] = [&](const FakeLaunch &launch) {
    poison = launch.pointer<std::uint32_t>(1)[0];
  };
  GpuPlan plan(*device, scale_kernel(DType::u32), {compiled_scale()});
  std::vector<Scalar> one = {Scalar::of<std::uint32_t>(DType::u32, 1)};
  fake_cuda().kernels["scale"] = [&](const FakeLaunch &launch) {
    if (poison == 0)
      poison = launch.pointer<std::uint32_t>(1)[0];
    std::fill_n(launch.pointer<std::uint32_t>(1), n, poison);
  };
  EXPECT_EQ(plan.run(integers, one), std::vector<std::string>());
  EXPECT_EQ(integers[1].view<std::uint32_t>()[0], poison);
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 2);
}

TEST_F(Gpu, WhatIsReadOutOfBoundsOrUnwrittenIsNan) {
  run([](float *in, float *, float *acc) {
    EXPECT_TRUE(std::isnan(in[-1]));
    EXPECT_TRUE(std::isnan(in[n]));
    EXPECT_TRUE(std::isnan(acc[n + 5000]));
  });
}

TEST_F(Gpu, AFaultOfTheKernelIsAWrongResult) {
  fake_cuda().fail["cuCtxSynchronize"] = 700;
  UserError error = refusal([&] { run(); });
  EXPECT_EQ(error.code(), ExitCode::wrong_result);
  EXPECT_STREQ(error.what(),
               "kernel scale failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)");
}

TEST_F(Gpu, TooLittleMemoryNamesTheAmounts) {
  fake_cuda().fail["cuMemAlloc_v2"] = 2;
  UserError error = refusal([&] { run(); });
  EXPECT_EQ(error.code(), ExitCode::no_device);
  EXPECT_STREQ(error.what(), "cannot allocate 131096 bytes on the GPU (5 MiB free of 81920 MiB): "
                             "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}

TEST_F(Gpu, EveryFailedCallIsAnErrorAndLeaksNothing) {
  fake_cuda().kernels["scale"] = scale<float>();
  GpuPlan(*device, scale_kernel(), {compiled_scale()}).run(arrays, std::vector{factor});
  GpuPlan(*device, scale_kernel(), {compiled_scale()}).time(arrays, std::vector{factor});
  device.reset();
  std::vector<std::string> symbols = fake_cuda().calls;
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  int failures = 0;
  for (const std::string &symbol : symbols) {
    bool frees =
        says(symbol, "Free") || says(symbol, "Unload") || says(symbol, "Release") || says(symbol, "Destroy");
    if (frees) // errors during cleanup are not reported
      continue;
    test::reset_fake_cuda();
    fake_cuda().kernels["scale"] = scale<float>();
    fake_cuda().fail[symbol] = 999;
    UserError error = refusal([&] {
      auto other = Device::open(test::fake_driver());
      GpuPlan plan(*other, scale_kernel(), {compiled_scale()});
      plan.run(arrays, std::vector{factor});
      plan.time(arrays, std::vector{factor});
    });
    EXPECT_TRUE(says(error.what(), "CUDA_ERROR_OTHER")) << symbol;
    EXPECT_EQ(error.code(), ExitCode::no_device) << symbol;
    EXPECT_TRUE(fake_cuda().memory.empty()) << symbol;
    EXPECT_EQ(fake_cuda().modules + fake_cuda().events + fake_cuda().contexts, 0) << symbol;
    ++failures;
  }
  EXPECT_GE(failures, 18);
}

TEST_F(Gpu, ADriverWithoutAFunctionOrADeviceIsRefused) {
  fake_cuda().missing = {"cuLaunchKernelEx"};
  UserError old = refusal([] { Device::open(test::fake_driver()); });
  EXPECT_EQ(old.code(), ExitCode::no_device);
  EXPECT_STREQ(old.what(), "the CUDA driver has no cuLaunchKernelEx; install a newer one (CUDA 12 or 13)");
  fake_cuda().missing.clear();
  fake_cuda().device_count = 0;
  UserError none = refusal([] { Device::open(test::fake_driver()); });
  EXPECT_STREQ(none.what(), "the CUDA driver sees no GPU; check CUDA_VISIBLE_DEVICES, or use --device sim");
}

TEST_F(Gpu, TimesSingleLaunchesOnCopies) {
  fake_cuda().kernels["scale"] = scale<float>();
  fake_cuda().elapsed_ms = {5, 1, 4, 2};
  GpuPlan plan(*device, scale_kernel(), {compiled_scale()});
  Spread ms = plan.time(arrays, std::vector{factor}, {.launch = LaunchMode::single, .rounds = 4, .warm_up = 3});
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 3 + 4 * (3 + 1));
  EXPECT_DOUBLE_EQ(ms.median, 3);
  EXPECT_DOUBLE_EQ(ms.min, 1);
  EXPECT_DOUBLE_EQ(ms.max, 5);
  EXPECT_EQ(arrays[2].view<float>()[0], 100); // nothing is written back
}

TEST_F(Gpu, TimesTwentyLaunchesByDefaultEachAfterAnother) {
  fake_cuda().kernels["scale"] = scale<float>();
  GpuPlan(*device, scale_kernel(), {compiled_scale()}).time(arrays, std::vector{factor});
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 1 + 20 * 2);
  EXPECT_EQ(fake_cuda().count("cuEventElapsedTime"), 20);
}

TEST_F(Gpu, TheExecutorCompilesForTheDeviceAndOnceForEachLaunch) {
  fake_cuda().kernels["scale"] = scale<float>();
  std::vector<std::string> compiled_for;
  GpuExecutor executor(*device, [&](const kernel::Plan &plan, Arch arch) {
    compiled_for.push_back(plan.name + " " + to_string(arch));
    return std::vector{compiled_scale()};
  });
  kernel::Kernel kernel = scale_kernel();
  kernel.body = kernel::make_seq({});
  EXPECT_EQ(executor.name(), "Fake GPU");
  EXPECT_TRUE(executor.run(kernel, arrays, std::vector{factor}).diagnostics.empty());
  EXPECT_EQ(arrays[1].view<float>()[5], 110);
  EXPECT_DOUBLE_EQ(executor.time(kernel, arrays, std::vector{factor}).median, 1);
  EXPECT_EQ(compiled_for, std::vector<std::string>{"scale sm_90a"});
  kernel.indices[0].extent = 1; // the same text with one block leaves the last two elements unwritten
  EXPECT_EQ(executor.run(kernel, arrays, std::vector{factor}).diagnostics,
            std::vector<std::string>{"buffer out: 2 of 6 elements never written, the first out[1, 1]"});
}

} // namespace
} // namespace nestsmith::cuda
