/// Tests vectors and intrinsics in CUDA C++, and the requirements of the launcher for them.

#include "codegen/emit.h"

#include "codegen/cuda.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "lowering/lower.h"
#include "tests/codegen/nvcc.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Y = 2*X where beta is not 0, in groups of `lanes` elements along the rows.
kernel::Kernel doubled(DType dtype, std::int64_t lanes, std::int64_t m = 16) {
  Workload w("doubled");
  Tensor x = w.placeholder("X", {m, 32}, dtype);
  Expr beta = w.scalar("beta", dtype);
  Tensor y = w.compute("Y", {m, 32}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    return x.where(not_equal(beta, constant(dtype, 0)), i, j) * constant(dtype, 2);
  });
  Schedule s(w.output({y}));
  auto [outer, inner] = s.split(s.loop("j"), {infer, lanes});
  s.bind(outer, Axis::thread_x);
  s.vectorize(inner);
  return lower(s).only();
}

kernel::Kernel dots(DType dtype) {
  DType sums = arithmetic_type(dtype);
  Workload w("dots");
  Tensor a = w.placeholder("A", {3, 16}, dtype), b = w.placeholder("B", {5, 16}, dtype);
  Reduce k = reduce_axis("k", 16);
  Tensor c = w.compute("C", {3, 5}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(cast(sums, a(i, k)) * cast(sums, b(j, k)), k); });
  Schedule s(w.output({c}));
  s.bind(s.loop("i"), Axis::thread_y);
  s.bind(s.loop("j"), Axis::thread_x);
  s.tensorize(s.split(s.loop("k"), {infer, 4})[1], byte_size(dtype) == 1 ? "dp4a" : "dot4");
  return lower(s).only();
}

TEST(CudaVectors, AreLoadedAndStoredWhole) {
  std::string text = cuda_kernel(doubled(DType::f32, 4));
  EXPECT_THAT(text, HasSubstr("    const float4 X_v =\n"
                              "        beta != 0.0f ? *reinterpret_cast<const float4 *>(&X[i * 32 + j])\n"
                              "        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);\n"
                              "    *reinterpret_cast<float4 *>(&Y[i * 32 + j]) =\n"));
  EXPECT_THAT(text, HasSubstr("make_float4(X_v.x * 2.0f, X_v.y * 2.0f, X_v.z * 2.0f, X_v.w * 2.0f);\n"));
}

TEST(CudaVectors, HaveTheNamesOfTheirTypes) {
  EXPECT_THAT(cuda_kernel(doubled(DType::f32, 2)), HasSubstr("const float2 X_v =\n"));
  EXPECT_THAT(cuda_kernel(doubled(DType::u32, 4)), HasSubstr("make_uint4(X_v.x * 2u, "));
  EXPECT_THAT(cuda_kernel(doubled(DType::i32, 4)), HasSubstr("const int4 X_v =\n"));
  EXPECT_THAT(cuda_kernel(doubled(DType::i64, 2)), HasSubstr("const longlong2 X_v =\n"));
}

TEST(CudaVectors, AreProvedToBeAlignedAndTheLauncherAsksForIt) {
  kernel::Kernel kernel = doubled(DType::f32, 4);
  std::string text = emit({}, kernel);
  EXPECT_THAT(text, HasSubstr(", X\n// and Y aligned to 16 bytes\n"));
  for (const char *name : {"X", "Y"})
    EXPECT_THAT(text, HasSubstr(fmt::format("  if ((size_t){0} % 16 != 0)\n"
                                            "    return \"{0} must be aligned to 16 bytes\";\n",
                                            name)));
}

TEST(CudaIntrinsics, AreCalledAndTheirPreludeStandsOnceBeforeTheKernel) {
  for (auto [dtype, scalar, vector] :
       {std::tuple{DType::f32, "float", "float4"}, std::tuple{DType::u32, "unsigned int", "uint4"}}) {
    std::string text = cuda_kernel(dots(dtype));
    std::string head =
        fmt::format("__device__ __forceinline__ {0} dot4({1} a, {1} b, {0} sum) {{\n", scalar, vector);
    std::size_t at = text.find(head);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(head, at + 1), std::string::npos);
    EXPECT_LT(at, text.find("__global__"));
    EXPECT_THAT(text,
                HasSubstr(fmt::format("const {} A_v = *reinterpret_cast<const {} *>(&A[", vector, vector)));
    EXPECT_THAT(text, HasSubstr(" = dot4(A_v, B_v, C["));
  }
  EXPECT_THAT(cuda_kernel(doubled(DType::f32, 4)), Not(HasSubstr("dot4")));
}

TEST(CudaVectors, FourBytesAreOneOperandOfDp4a) {
  for (auto [dtype, word] : {std::pair{DType::i8, "int"}, std::pair{DType::u8, "unsigned int"}}) {
    std::string text = cuda_kernel(dots(dtype));
    EXPECT_THAT(text, HasSubstr(fmt::format("__device__ __forceinline__ {0} dp4a({0} a, {0} b, {0} sum) {{\n"
                                            "  return __dp4a(a, b, sum);\n",
                                            word)));
    EXPECT_THAT(text, HasSubstr(fmt::format("const {0} A_v = *reinterpret_cast<const {0} *>(&A[", word)));
    EXPECT_THAT(text, HasSubstr(" = dp4a(A_v, B_v, C["));
    EXPECT_THAT(text, Not(HasSubstr("packed_word")));
  }
}

TEST(CudaVectors, NvccTakesThemWithoutAWarning) {
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  for (const kernel::Kernel &kernel : {doubled(DType::f32, 4), doubled(DType::i64, 2), doubled(DType::i32, 4),
                                       dots(DType::f32), dots(DType::u32), dots(DType::i8), dots(DType::u8)})
    EXPECT_EQ(nvcc.messages(emit({}, kernel), {"-c", "-arch", "sm_90"}), "") << cuda_kernel(kernel);
}

} // namespace
} // namespace nestsmith
