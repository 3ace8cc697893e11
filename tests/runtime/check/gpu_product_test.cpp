/// Tests the products of the reference on a fake GPU: each layout is passed correctly, and large products run
/// on the GPU.

#include "runtime/check/gpu_product.h"

#include "dsl/expr/error.h"
#include "runtime/check/check.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/runtime/check/gemm_program.h"
#include "tests/runtime/cuda/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using cuda::Device;
using test::fake_cuda;
using test::FakeLaunch;

/// Executes on the host what the CUDA text of the product does.
template <class T> void product(const FakeLaunch &launch) {
  const auto *x = launch.pointer<double>(0), *y = launch.pointer<double>(1);
  auto *z = launch.pointer<double>(2);
  std::int64_t size[7];
  for (int i = 0; i < 7; ++i)
    size[i] = launch.scalar<std::int64_t>(3 + i);
  auto [m, n, k, x_row, x_column, y_row, y_column] = size;
  auto as = [](double value) { return std::is_integral_v<T> ? T(static_cast<std::int64_t>(value)) : T(value); };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t a = 0; a < k; ++a)
        sum += as(x[i * x_row + a * x_column]) * as(y[a * y_row + j * y_column]);
      z[i * n + j] = static_cast<double>(sum);
    }
}

struct GpuProductTest : testing::Test {
  void SetUp() override {
    test::reset_fake_cuda();
    fake_cuda().kernels["reference_product"] = product<double>;
    fake_cuda().kernels["reference_ring_product"] = product<std::uint32_t>;
    device = Device::open(test::fake_driver());
  }
  GpuProduct make() {
    return GpuProduct(*device, [](const std::string &, const std::string &name, Arch arch) {
      cuda::Compiled compiled;
      compiled.kernel_name = name;
      compiled.arch = arch;
      compiled.cubin = {'x'};
      return compiled;
    });
  }
  std::unique_ptr<Device> device;
};

TEST_F(GpuProductTest, TakesEveryLayoutInFp64AndInTheRing) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};                              // 2 x 3
  const std::vector<double> x_transposed = {1, 4, 2, 5, 3, 6};                   // 3 x 2
  const std::vector<double> y = {1, 0, 2, 0, 0, 3, 4294967295.0, 1, 0, 1, 0, 2}; // 3 x 4
  const std::vector<double> y_transposed = {1, 0, 0, 0, 3, 1, 2, 4294967295.0, 0, 0, 1, 2};
  GpuProduct product = make();
  for (bool left : {false, true})
    for (bool right : {false, true}) {
      std::vector<double> real =
          product.multiply({2, 4, 3, left, right, false}, left ? x_transposed : x, right ? y_transposed : y);
      EXPECT_THAT(real, testing::ElementsAre(1, 9, 8589934592.0, 8, 4, 21, 21474836483.0, 17)) << left << right;
      std::vector<double> ring =
          product.multiply({2, 4, 3, left, right, true}, left ? x_transposed : x, right ? y_transposed : y);
      EXPECT_THAT(ring, testing::ElementsAre(1, 9, 0, 8, 4, 21, 3, 17)) << left << right;
    }
}

TEST_F(GpuProductTest, ServesLargeProductsThatFitTheMemory) {
  GpuProduct product = make();
  EXPECT_TRUE(product.serves({4096, 4096, 4096, false, false, false}));
  EXPECT_FALSE(product.serves({1, 1 << 20, 1 << 18, false, false, false})); // 2 TB
  EXPECT_FALSE(product.serves({4095, 4096, 4096, false, false, false}));
  EXPECT_FALSE(product.serves({16 * 65535 + 1, 512, 512, false, false, false})); // too many rows
}

/// Sends every product to the GPU.
struct Always : Multiplier {
  explicit Always(GpuProduct &product) : product(product) {}
  bool serves(const Product &) const override { return true; }
  std::vector<double> multiply(const Product &p, const std::vector<double> &x,
                               const std::vector<double> &y) override {
    ++calls;
    return product.multiply(p, x, y);
  }
  GpuProduct &product;
  int calls = 0;
};

TEST_F(GpuProductTest, GivesTheReferenceThatTheCpuGives) {
  GpuProduct product = make();
  for (DType dtype : {DType::f32, DType::u32}) {
    Program program = test::checked_gemm(5, 7, 130, dtype);
    Inputs in = make_inputs(program, dtype == DType::f32 ? CheckRun::random : CheckRun::ring, 3);
    Always gpu(product);
    Reference there = reference(program, in.arrays, in.scalars, &gpu);
    Reference here = reference(program, in.arrays, in.scalars);
    EXPECT_EQ(gpu.calls, dtype == DType::f32 ? 2 : 1); // one call for the value, and one for its magnitude
    for (std::size_t n = 0; n < here.outputs[0].value.size(); ++n) {
      EXPECT_NEAR(there.outputs[0].value[n], here.outputs[0].value[n], dtype == DType::f32 ? 1e-12 : 0);
      EXPECT_NEAR(there.outputs[0].magnitude[n], here.outputs[0].magnitude[n], 1e-12);
      auto at = static_cast<std::int64_t>(n);
      EXPECT_NEAR(there.outputs[0].error_at(at), here.outputs[0].error_at(at), 1e-12);
    }
  }
}

TEST(GpuProduct, ItsTextCompiles) {
  try {
    cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  test::reset_fake_cuda();
  fake_cuda().kernels["reference_product"] = product<double>;
  std::unique_ptr<Device> device = Device::open(test::fake_driver());
  int spilled = -1;
  GpuProduct product(*device, [&](const std::string &source, const std::string &name, Arch arch) {
    cuda::Compiled compiled = cuda::compile(source, name, arch);
    spilled = static_cast<int>(compiled.spill_stores);
    return compiled;
  });
  EXPECT_EQ(product.multiply({1, 1, 2, false, false, false}, {2, 3}, {5, 7}), std::vector<double>{31});
  EXPECT_EQ(spilled, 0);
}

} // namespace
} // namespace nestsmith
