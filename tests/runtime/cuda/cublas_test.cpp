/// Tests the calls of cuBLAS with a fake that computes column-major products on the host (fake_cuda.h).

#include "dsl/expr/error.h"
#include "runtime/cuda/cublas.h"
#include "tests/runtime/cuda/fake_cuda.h"
#include "tests/runtime/environment.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace nestsmith::cuda {
namespace {

using test::fake_cuda;
using test::says;

class CublasTest : public ::testing::Test {
protected:
  void SetUp() override {
    test::reset_fake_cuda();
    device = Device::open(test::fake_driver());
  }
  static Array matrix(std::int64_t rows, std::int64_t columns, int seed) {
    Array array(DType::f32, {rows, columns});
    for (std::int64_t i = 0; i < array.size(); ++i)
      array.view<float>()[static_cast<std::size_t>(i)] = static_cast<float>((i * 7 + seed) % 13 - 6);
    return array;
  }
  std::unique_ptr<Device> device;
};

TEST_F(CublasTest, ComputesTheRowMajorProductOfEveryShape) {
  auto cublas = Cublas::open(*device, test::fake_cublas());
  EXPECT_EQ(cublas->version(), "12.5.6");
  for (GemmShape shape : {GemmShape{3, 5, 7}, GemmShape{7, 3, 2}, GemmShape{1, 4, 3}, GemmShape{4, 1, 3},
                          GemmShape{3, 4, 1}, GemmShape{1, 1, 1}}) {
    Array a = matrix(shape.m, shape.k, 1), b = matrix(shape.k, shape.n, 2), c = matrix(shape.m, shape.n, 3);
    Array result = cublas->run(shape, DType::f32, 2, a, b, -3, c).c;
    for (std::int64_t i = 0; i < shape.m; ++i)
      for (std::int64_t j = 0; j < shape.n; ++j) {
        auto at = [](Array &array, std::int64_t index) {
          return array.view<float>()[static_cast<std::size_t>(index)];
        };
        float sum = 0;
        for (std::int64_t k = 0; k < shape.k; ++k)
          sum += at(a, i * shape.k + k) * at(b, k * shape.n + j);
        EXPECT_EQ(at(result, i * shape.n + j), 2 * sum - 3 * at(c, i * shape.n + j));
      }
  }
}

/// Products of 3 x 5 elements with 7 terms, for each type, and with each operand plain or transposed.
TEST_F(CublasTest, ComputesProductsOfNarrowAndTransposedOperands) {
  auto cublas = Cublas::open(*device, test::fake_cublas());
  auto stored = [](const Array &plain, std::int64_t columns, bool transposed, DType type) {
    DType element = type == DType::tf32 ? DType::f32 : type;
    std::int64_t rows = plain.size() / columns;
    Array result(element, {plain.size()});
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        result.set(transposed ? c * rows + r : r * columns + c, plain.at(r * columns + c).to(element));
    return result;
  };
  Array a = matrix(3, 7, 1), b = matrix(7, 5, 2), c = matrix(3, 5, 3);
  Array expected = cublas->run({3, 5, 7}, DType::f32, 2, a, b, -3, c).c;
  for (DType type : {DType::f32, DType::f16, DType::bf16, DType::tf32})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        Cublas::Result got =
            cublas->run({3, 5, 7, ta, tb}, type, 2, stored(a, 7, ta, type), stored(b, 5, tb, type), -3, c);
        EXPECT_EQ(got.c, expected) << name(type) << ta << tb;
      }
  EXPECT_EQ(fake_cuda().count("cublasGemmEx_64") > 0, true);
}

TEST_F(CublasTest, TakesTheFasterOfTheTwoTrueFp32Modes) {
  auto cublas = Cublas::open(*device, test::fake_cublas());
  auto run = [&](std::vector<float> ms) {
    fake_cuda().elapsed_calls = 0;
    fake_cuda().elapsed_ms = std::move(ms);
    return cublas->run({2, 2, 2}, DType::f32, 1, matrix(2, 2, 1), matrix(2, 2, 2), 0, matrix(2, 2, 3),
                       {.launch = LaunchMode::single, .rounds = 1});
  };
  Cublas::Result standard = run({2, 3});
  EXPECT_EQ(standard.mode, Cublas::Mode::standard);
  EXPECT_DOUBLE_EQ(standard.ms.median, 2);
  EXPECT_EQ(fake_cuda().math_mode, 2); // CUBLAS_PEDANTIC_MATH was measured last
  Cublas::Result pedantic = run({3, 2});
  EXPECT_EQ(pedantic.mode, Cublas::Mode::pedantic);
  EXPECT_DOUBLE_EQ(pedantic.ms.median, 2);
  EXPECT_STREQ(name(pedantic.mode), "pedantic");
  EXPECT_STREQ(name(standard.mode), "default");
}

TEST_F(CublasTest, WithBetaZeroTheOldContentDoesNotMatter) {
  auto cublas = Cublas::open(*device, test::fake_cublas());
  Array c = matrix(2, 2, 3);
  c.view<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  Array result = cublas->run({2, 2, 2}, DType::f32, 1, matrix(2, 2, 1), matrix(2, 2, 2), 0, c).c;
  EXPECT_FALSE(std::isnan(result.view<float>()[0]));
}

TEST_F(CublasTest, AFailureNamesTheStatusAndLeaksNothing) {
  for (const char *call : {"cublasCreate_v2", "cublasSetMathMode", "cublasSgemm_v2_64"}) {
    fake_cuda().fail = {{call, 3}};
    try {
      Cublas::open(*device, test::fake_cublas())
          ->run({2, 2, 2}, DType::f32, 1, matrix(2, 2, 1), matrix(2, 2, 2), 0, matrix(2, 2, 3));
      FAIL() << call;
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::no_device);
      EXPECT_TRUE(says(error.what(), "of cuBLAS 12.5.6 failed: CUBLAS_STATUS_ALLOC_FAILED"));
    }
    EXPECT_EQ(fake_cuda().handles, 0);
    EXPECT_TRUE(fake_cuda().memory.empty());
  }
}

TEST_F(CublasTest, ALibraryWithoutAFunctionIsRefused) {
  fake_cuda().missing = {"cublasSgemm_v2_64"};
  try {
    Cublas::open(*device, test::fake_cublas());
    FAIL() << "not refused";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device);
    EXPECT_STREQ(error.what(), "cuBLAS has no cublasSgemm_v2_64; cuBLAS 12 or newer is needed");
  }
}

} // namespace
} // namespace nestsmith::cuda
