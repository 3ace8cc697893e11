/// Tests the calls of cuBLASLt with a fake that computes column-major products on the host (fake_cuda.h).

#include "dsl/expr/error.h"
#include "runtime/cuda/cublaslt.h"
#include "tests/runtime/cuda/fake_cuda.h"
#include "tests/runtime/environment.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith::cuda {
namespace {

using test::fake_cuda;
using test::says;

class CublasLtTest : public ::testing::Test {
protected:
  void SetUp() override {
    test::reset_fake_cuda();
    device = Device::open(test::fake_driver());
  }
  Memory matrix(std::int64_t elements, DType type, int seed) {
    Array array(type == DType::tf32 ? DType::f32 : type, {elements});
    for (std::int64_t i = 0; i < elements; ++i)
      array.set(i, Scalar::from_double(array.dtype(), static_cast<double>((i * 7 + seed) % 13 - 6)));
    Memory memory(*device, array.bytes());
    memory.write(0, array.data(), array.bytes());
    return memory;
  }
  static std::vector<float> content(const Memory &memory) {
    std::vector<float> values(memory.bytes() / 4);
    memory.read(0, values.data(), memory.bytes());
    return values;
  }
  std::unique_ptr<Device> device;
};

/// A product of 3 x 5 elements with 7 terms.
TEST_F(CublasLtTest, ComputesWhatCublasComputesWithEveryAlgorithm) {
  auto lt = CublasLt::open(*device, test::fake_cublaslt());
  EXPECT_EQ(lt->version(), "12.5.6");
  auto cublas = Cublas::open(*device, test::fake_cublas());
  for (DType type : {DType::f32, DType::f16, DType::bf16, DType::tf32})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        GemmShape shape{3, 5, 7, ta, tb};
        Memory a = matrix(21, type, 1), b = matrix(35, type, 2), expected = matrix(15, DType::f32, 3);
        cublas->gemm(Cublas::Mode::standard, shape, type, 2, a.address(), b.address(), -3, expected.address());
        CublasLt::Product product(*lt, shape, type);
        ASSERT_EQ(product.algorithms(), 2U) << "the one with the status of an error is left out";
        for (std::size_t n = 0; n < product.algorithms(); ++n) {
          Memory c = matrix(15, DType::f32, 3);
          product.enqueue(n, 2, a.address(), b.address(), -3, c.address());
          EXPECT_EQ(content(c), content(expected)) << name(type) << ta << tb << n;
        }
      }
}

/// D = max(A * B + bias, 0) of 3 x 5 elements with 7 terms, in f32 and in the type of the operands.
TEST_F(CublasLtTest, TheEpilogueAddsABiasForEachColumnAndStoresTheMaximumWithZero) {
  auto lt = CublasLt::open(*device, test::fake_cublaslt());
  GemmShape shape{3, 5, 7, false, true};
  for (DType type : {DType::f32, DType::f16, DType::bf16})
    for (DType result : std::set{DType::f32, type}) {
      Memory a = matrix(21, type, 1), b = matrix(35, type, 2), bias = matrix(5, result, 4);
      Memory plain = matrix(15, DType::f32, 0);
      CublasLt::Product(*lt, shape, type).enqueue(0, 1, a.address(), b.address(), 0, plain.address());
      const std::vector<float> sums = content(plain);
      CublasLt::Product product(*lt, shape, type, {result, true, true});
      ASSERT_EQ(product.algorithms(), 2U);
      Memory got = matrix(15, result, 0);
      product.enqueue(1, 1, a.address(), b.address(), 0, got.address(), bias.address());
      Array stored(result, {15}), added(result, {5});
      got.read(0, stored.data(), stored.bytes());
      bias.read(0, added.data(), added.bytes());
      std::size_t zeros = 0;
      for (std::int64_t n = 0; n < 15; ++n) {
        double expected = std::max(0.0, sums[static_cast<std::size_t>(n)] + added.at(n % 5).to_double());
        EXPECT_EQ(stored.at(n).to_double(), expected) << name(type) << " " << name(result) << " " << n;
        zeros += expected == 0 ? 1 : 0;
      }
      EXPECT_TRUE(zeros > 0 && zeros < 15) << zeros;
    }
}

TEST_F(CublasLtTest, AFailureNamesTheStatusAndLeaksNothing) {
  for (const char *call :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    fake_cuda().fail = {{call, 3}};
    try {
      auto lt = CublasLt::open(*device, test::fake_cublaslt());
      CublasLt::Product product(*lt, {2, 2, 2}, DType::f32);
      product.enqueue(0, 1, 0, 0, 0, 0);
      ADD_FAILURE() << call;
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::no_device);
      EXPECT_TRUE(says(error.what(), "of cuBLASLt 12.5.6 failed: CUBLAS_STATUS_ALLOC_FAILED")) << call;
    }
    EXPECT_EQ(fake_cuda().handles, 0) << call;
    EXPECT_TRUE(fake_cuda().memory.empty()) << call;
  }
}

TEST_F(CublasLtTest, ALibraryWithoutAFunctionIsRefused) {
  fake_cuda().missing = {"cublasLtMatmul"};
  try {
    CublasLt::open(*device, test::fake_cublaslt());
    FAIL() << "not refused";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device);
    EXPECT_STREQ(error.what(), "cuBLASLt has no cublasLtMatmul; cuBLASLt 12 or newer is needed");
  }
}

} // namespace
} // namespace nestsmith::cuda
