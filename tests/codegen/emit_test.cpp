/// Tests emitted files: the header comment, the launcher, and standalone programs that check their result.

#include "codegen/emit.h"

#include "codegen/standalone.h"
#include "codegen/text.h"
#include "dsl/expr/error.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "tests/codegen/hand_built.h"
#include "tests/codegen/nvcc.h"
#include "tests/gemm_sizes.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

EmitInfo gemm_info(std::int64_t m, std::int64_t n, std::int64_t k) {
  EmitInfo info;
  info.title = "a tiled product";
  info.target = "sm_90";
  info.trace = {"s.unroll(k);"};
  info.sizes = gemm_sizes(m, n, k);
  info.notes = {"sm_90: 40 registers per thread"};
  info.operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return info;
}

Program gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Workload w("tile1d");
  Tensor A = w.placeholder("A", {Expr(m), Expr(k)}), B = w.placeholder("B", {Expr(k), Expr(n)});
  Tensor C = w.inout("C", {Expr(m), Expr(n)});
  Expr alpha = w.scalar("alpha"), beta = w.scalar("beta");
  Reduce r = reduce_axis("k", Expr(k));
  Tensor AB = w.compute("AB", {Expr(m), Expr(n)}, {"i", "j"},
                        [&](Expr i, Expr j) { return sum(A(i, r) * B(r, j), r); });
  w.update(C, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return alpha * AB(x[0], x[1]) + beta * C(x[0], x[1]);
  });
  return w.output();
}

/// An elementwise program of a, b and out, and the same kernel built by hand with one thread per element.
struct Elementwise {
  Program program;
  kernel::Kernel kernel;
};
Elementwise elementwise(DType dtype, const std::function<Expr(Expr, Expr)> &f) {
  Workload w("elementwise");
  Tensor a = w.placeholder("a", {100}, dtype), b = w.placeholder("b", {100}, dtype);
  Tensor out = w.compute("out", {100}, {"i"}, [&](Expr i) { return Definition(f(a(i), b(i))); });
  kernel::Elementwise by_hand(dtype);
  return {w.output({out}), by_hand.kernel(f(by_hand.at_a(), by_hand.at_b()))};
}

TEST(Emit, TheHeaderSaysWhatItIsAndHowItWasMade) {
  std::string text = emit(gemm_info(1000, 777, 333), kernel::tile1d(1000, 777, 333));
  EXPECT_TRUE(text.starts_with("// a tiled product\n"));
  EXPECT_THAT(text, HasSubstr("// A: float [1000, 333], row-major, read\n"));
  EXPECT_THAT(text, HasSubstr("// C: float [1000, 777], row-major, read and written\n"));
  EXPECT_THAT(text,
              HasSubstr("// Launch: grid 13 x 16, block 64 x 8, 4096 bytes of shared memory per block\n"));
  EXPECT_THAT(text, HasSubstr("// Requires: exactly these shapes"));
  EXPECT_THAT(text, HasSubstr("// sm_90: 40 registers per thread\n"));
  EXPECT_THAT(text, HasSubstr("// Schedule:\n//   s.unroll(k);\n"));
}

TEST(Emit, RowsWithGapsAreNotSaidToBeContiguous) {
  for (bool gaps : {false, true}) {
    Workload w("rows");
    Tensor x = w.placeholder("x", {9, 10}, DType::f32, Stored{gaps ? Expr(12) : Expr()});
    Program rows = w.output({w.compute("y", {9, 10}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; })});
    std::string text = emit({}, lower(Schedule(rows)));
    EXPECT_EQ(text.find("rows 12 apart") != std::string::npos, gaps);
    EXPECT_EQ(text.find("contiguous rows") != std::string::npos, !gaps);
  }
}

TEST(Emit, NoTitleOrNoteEscapesFromItsComment) {
  EmitInfo info = gemm_info(64, 64, 64);
  info.title = "first\nint second \\";
  info.notes = {"", "a\nb\\"};
  EXPECT_TRUE(emit(info, kernel::tile1d(64, 64, 64)).starts_with("// first int second\n//\n"));
  EXPECT_THAT(emit(info, kernel::tile1d(64, 64, 64)), HasSubstr("\n//\n// a b\n//\n// Schedule:"));
  info.title = "a\rint b;\vint c;\x7f ?"
               "?/";
  info.trace = {"s.f(\"x\nint d;\");", "s.g();\\ "};
  EXPECT_TRUE(emit(info, kernel::tile1d(64, 64, 64))
                  .starts_with("// a int b; int c;  ?"
                               "? /\n//\n"));
  EXPECT_THAT(emit(info, kernel::tile1d(64, 64, 64)),
              HasSubstr("// Schedule:\n//   s.f(\"x int d;\");\n//   s.g();\n\n"));
}

/// A line that is wrapped at a backslash would continue in the next one.
TEST(Emit, NoWrappedCommentEndsInABackslash) {
  TextWriter out;
  std::string word(TextWriter::width - 10, 'x');
  out.comment(word + " \\ " + word);
  out.doc("", word + " \\ \n" + word);
  EXPECT_THAT(out.take(), Not(HasSubstr("\\\n")));
  out.doc("", "one\nint two;");
  EXPECT_EQ(out.take(), "/// one int two;\n");
}

TEST(Emit, TheLauncherTakesPointersSizesScalarsAndAStream) {
  std::string text = emit(gemm_info(1000, 777, 333), kernel::tile1d(1000, 777, 333));
  EXPECT_THAT(
      text,
      HasSubstr(
          "extern \"C\" cudaError_t tile1d_launch(const float *A, const float *B, float *C, long long M,"));
  EXPECT_THAT(text, ContainsRegex("long long N,[ \n]+long long K,[ \n]+long long lda,[ \n]+long long ldb,"));
  EXPECT_THAT(text, ContainsRegex("long long ldc,[ \n]+float alpha,[ \n]+float beta,"));
  EXPECT_THAT(text, HasSubstr("cudaStream_t stream) {"));
  EXPECT_THAT(text, HasSubstr("tile1d<<<dim3(13, 16), dim3(64, 8), 0, stream>>>(A, B, C, alpha, beta);"));
}

TEST(Emit, TheLauncherRefusesWhatTheKernelWasNotGeneratedFor) {
  std::string text = emit(gemm_info(1000, 777, 333), kernel::tile1d(1000, 777, 333));
  for (const char *check :
       {"  if (A == nullptr)\n    return \"A must not be null\";\n",
        "  if (M != 1000)\n    return \"M must be 1000, for which the kernel was generated\";\n",
        "  if (ldc != 777)\n    return \"ldc must be 777, for which the kernel was generated\";\n"})
    EXPECT_THAT(text, HasSubstr(check));
  EXPECT_THAT(text, HasSubstr("  if (tile1d_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {\n"
                              "    return cudaErrorInvalidValue;"));
  EXPECT_THAT(text, HasSubstr("overlap(A, 333000LL * sizeof(float), C, 777000LL * sizeof(float))"));
  EXPECT_THAT(text, Not(HasSubstr("overlap(A, 333000LL * sizeof(float), B"))) << "two inputs may be one array";
}

TEST(Emit, WithoutAShapeTheLauncherTakesTheSizeOfEachDimension) {
  auto [program, kernel] = elementwise(DType::f32, [](Expr a, Expr b) { return a + b; });
  EXPECT_THAT(
      emit({}, kernel),
      ContainsRegex(
          "long long a_dim0,[ \n]+long long b_dim0,[ \n]+long long out_dim0,[ \n]+cudaStream_t stream"));
}

/// The launcher takes an array of this type, although no kernel reads it.
TEST(Emit, HeadersOfTheTypesOfUnusedArraysAreIncluded) {
  Workload w("unused");
  for (auto [name, dtype] : {std::pair{"a", DType::f16}, {"b", DType::bf16}})
    w.placeholder(name, {100}, dtype);
  Tensor used = w.placeholder("used", {100}, DType::f32);
  Tensor out = w.compute("out", {100}, {"i"}, [&](Expr i) { return Definition(used(i) + 1); });
  std::string text = emit({}, lower(Schedule(w.output({out}))));
  EXPECT_THAT(text, HasSubstr("const __half *a"));
  EXPECT_THAT(text, HasSubstr("#include <cuda_fp16.h>\n"));
  EXPECT_THAT(text, HasSubstr("#include <cuda_bf16.h>\n"));
}

TEST(Emit, SizesThatAreNamedLikeAnArrayGetAnotherName) {
  EmitInfo info = gemm_info(64, 64, 64);
  info.sizes[0].name = "A";
  EXPECT_THAT(emit(info, kernel::tile1d(64, 64, 64)), ContainsRegex("long long A_1,[ \n]+long long N"));
}

TEST(Emit, NvccTakesItWithoutAWarning) {
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  std::vector<std::string> flags = {"-c"};
  for (const char *arch : {"75", "80", "90", "120"})
    flags.push_back(std::string("-gencode=arch=compute_") + arch + ",code=sm_" + arch);
  EXPECT_EQ(nvcc.messages(emit(gemm_info(65, 33, 17), kernel::tile1d(65, 33, 17)), flags), "");
}

TEST(EmitStandalone, ChecksAgainstPlainLoopsAndCountsTheRoundings) {
  std::string text = emit_standalone(gemm_info(64, 64, 64), kernel::tile1d(64, 64, 64), gemm(64, 64, 64));
  EXPECT_THAT(text, HasSubstr("sum = sum + Real(A[i * 64 + k]) * Real(B[k * 64 + j]);"));
  EXPECT_THAT(text, HasSubstr("return alpha * AB_reference[i * 64 + j] + beta * Real(C[i * 64 + j]);"));
  EXPECT_THAT(text, HasSubstr("reference.AB_reference[n] = reference.AB_at(n / 64, n % 64);"));
  EXPECT_THAT(text, Not(HasSubstr("reference_stage_0")));
}

TEST(EmitStandalone, ALargeReferenceRunsOnTheDevice) {
  std::string text =
      emit_standalone(gemm_info(1024, 1024, 1024), kernel::tile1d(1024, 1024, 1024), gemm(1024, 1024, 1024));
  EXPECT_THAT(text, HasSubstr("reference_stage_0<<<4096, 256>>>(reference);"));
}

TEST(EmitStandalone, IntegersAreComparedBitForBit) {
  auto [program, kernel] = elementwise(DType::u32, [](Expr a, Expr b) { return a * b; });
  std::string text = emit_standalone({}, kernel, program);
  EXPECT_THAT(text, HasSubstr("return got == expected ? 0 : INFINITY;"));
  EXPECT_THAT(text, Not(HasSubstr("Real")));
}

TEST(EmitStandalone, NvccBuildsAProgramWithoutAWarning) {
  const Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  std::vector<std::string> files = {
      emit_standalone(gemm_info(64, 33, 17), kernel::tile1d(64, 33, 17), gemm(64, 33, 17)),
      emit_standalone(gemm_info(1024, 512, 512), kernel::tile1d(1024, 512, 512), gemm(1024, 512, 512))};
  auto add = [&](DType dtype, const std::function<Expr(Expr, Expr)> &f) {
    auto [program, kernel] = elementwise(dtype, f);
    files.push_back(emit_standalone({}, kernel, program));
  };
  add(DType::u32, [](Expr a, Expr b) { return a * b - a; });
  add(DType::i64, [](Expr a, Expr b) { return min(a, b) + 3; });
  add(DType::boolean, [](Expr a, Expr b) { return a && logical_not(b); });
  add(DType::f32,
      [](Expr a, Expr b) { return select(a <= b, min(a, b) / Expr(3.0f), max(a - b, Expr(-0.5f))); });
  for (const std::string &file : files)
    EXPECT_EQ(nvcc.messages(file, {"-arch", "sm_90", "-o", nvcc.output()}), "") << file;
}

TEST(EmitStandalone, AProgramWhoseErrorHasNoBoundIsRefused) {
  auto [program, kernel] = elementwise(DType::f32, [](Expr a, Expr b) { return floordiv(a, b); });
  try {
    emit_standalone({}, kernel, program);
    FAIL() << "expected a refusal";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("cannot check a program that rounds f32 down"));
  }
}

} // namespace
} // namespace nestsmith
