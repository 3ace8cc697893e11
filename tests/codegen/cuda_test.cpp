/// Tests the CUDA C++ text of kernels: expressions, statements, declarations and names.

#include "codegen/cuda.h"

#include "tests/codegen/hand_built.h"
#include "tests/golden.h"

#include <gmock/gmock.h>
#include <limits>

namespace nestsmith::kernel {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CudaKernel, ATiledProductReadsAsIfWrittenByHand) {
  EXPECT_TRUE(matches_golden("hand_built_tile1d.cu", cuda_kernel(tile1d(1000, 777, 333))));
}

TEST(Golden, AMissingOrDifferingFileFailsAndSaysWhatItGot) {
  if (std::getenv("NESTSMITH_REWRITE_GOLDENS"))
    GTEST_SKIP() << "goldens are being rewritten";
  testing::AssertionResult missing = matches_golden("no_such_file.cu", "the text\n");
  EXPECT_FALSE(missing);
  EXPECT_THAT(missing.message(), HasSubstr("no golden file"));
  EXPECT_THAT(missing.message(), HasSubstr("the text\n"));
  std::string text = cuda_kernel(tile1d(1000, 777, 333));
  testing::AssertionResult longer = matches_golden("hand_built_tile1d.cu", text + "more\n");
  EXPECT_FALSE(longer);
  EXPECT_THAT(longer.message(), HasSubstr("expected: (end)\n  got:      more"));
}

TEST(CudaKernel, TheSameKernelGivesTheSameText) {
  EXPECT_EQ(cuda_kernel(tile1d(65, 33, 17)), cuda_kernel(tile1d(65, 33, 17)));
}

/// Returns the right-hand side of the only assignment in the kernel's text.
std::string spelled(const Elementwise &e, Expr value) {
  std::string text = cuda_kernel(e.kernel(std::move(value)));
  std::size_t from = text.find("out[i] = ") + 9;
  return text.substr(from, text.find(";\n", from) - from);
}

TEST(CudaKernel, ParenthesesStandOnlyWherePrecedenceNeedsThem) {
  Elementwise e;
  Expr a = e.at_a(), b = e.at_b();
  EXPECT_EQ(spelled(e, a + b * a), "a[i] + b[i] * a[i]");
  EXPECT_EQ(spelled(e, (a + b) * a), "(a[i] + b[i]) * a[i]");
  EXPECT_EQ(spelled(e, a - b - a), "a[i] - b[i] - a[i]");
  EXPECT_EQ(spelled(e, a - (b - a)), "a[i] - (b[i] - a[i])");
  EXPECT_EQ(spelled(e, a / (b * a)), "a[i] / (b[i] * a[i])");
  EXPECT_EQ(spelled(e, a * (b / a)), "a[i] * (b[i] / a[i])");
}

TEST(CudaKernel, AFloatingPointSumKeepsItsShapeAndAnIndexSumIsFlat) {
  Elementwise e;
  Expr a = e.at_a(), b = e.at_b(), i = e.i;
  EXPECT_EQ(spelled(e, a + (b + a)), "a[i] + (b[i] + a[i])");
  EXPECT_EQ(spelled(e, get(e.a, i + (i + i32(4)))), "a[i + i + 4]");
  EXPECT_EQ(spelled(e, get(e.a, i + (i + i32(-4)))), "a[i + (i - 4)]");
  EXPECT_EQ(spelled(e, get(e.a, i + i32(-1))), "a[i - 1]");
}

TEST(CudaKernel, FloorDivisionOfIndicesIsSpelledAsDivision) {
  Elementwise e;
  Expr i = e.i;
  EXPECT_EQ(spelled(e, get(e.a, floordiv(i, i32(3)) * i32(3) + floormod(i, i32(3)))), "a[i / 3 * 3 + i % 3]");
  EXPECT_EQ(spelled(e, get(e.a, i32(3) * floordiv(i, i32(2)))), "a[3 * (i / 2)]");
  EXPECT_EQ(spelled(e, get(e.a, floormod(i * i32(7), i32(100)))), "a[i * 7 % 100]");
}

TEST(CudaKernel, ConditionsAreSpelledSoThatNoCompilerWarns) {
  Elementwise e;
  Expr a = e.at_a(), i = e.i, low = i32(1) <= i, high = i < i32(9), odd = equal(floormod(i, i32(2)), i32(1));
  EXPECT_EQ(spelled(e, select(low && high && odd, a, 0.0f)), "1 <= i && i < 9 && i % 2 == 1 ? a[i] : 0.0f");
  EXPECT_EQ(spelled(e, select(low && (high && odd), a, 0.0f)), "1 <= i && i < 9 && i % 2 == 1 ? a[i] : 0.0f");
  EXPECT_EQ(spelled(e, select((low && high) || odd, a, 0.0f)), "(1 <= i && i < 9) || i % 2 == 1 ? a[i] : 0.0f");
  EXPECT_EQ(spelled(e, select((low || high) && odd, a, 0.0f)), "(1 <= i || i < 9) && i % 2 == 1 ? a[i] : 0.0f");
  EXPECT_EQ(spelled(e, select(logical_not(low), a, 0.0f)), "!(1 <= i) ? a[i] : 0.0f");
  EXPECT_EQ(spelled(e, select(not_equal(i, i32(4)), a, 0.0f) * a), "(i != 4 ? a[i] : 0.0f) * a[i]");
}

TEST(CudaKernel, BitwiseOperandsStandInParentheses) {
  Elementwise u(DType::u32);
  Expr a = u.at_a(), b = u.at_b();
  EXPECT_EQ(spelled(u, bit_xor(a, b)), "a[i] ^ b[i]");
  EXPECT_EQ(spelled(u, bit_xor(bit_xor(a, shift_right(a, 16)), b + a)),
            "(a[i] ^ (a[i] >> 16u)) ^ (b[i] + a[i])");
  EXPECT_EQ(spelled(u, shift_right(a * b, 3) * a + b), "((a[i] * b[i]) >> 3u) * a[i] + b[i]");
  EXPECT_EQ(spelled(u, get(u.a, bit_xor(u.i, shift_right(u.i, 2)))), "a[i ^ (i >> 2)]");
}

TEST(CudaKernel, AnIfHasItsElse) {
  Elementwise e;
  kernel::If branch{
      Expr(e.i) < i32(9), set(e.out, e.i, 1.0F), set(e.out, e.i, 2.0F), {Purpose::Kind::full_tiles}};
  EXPECT_THAT(cuda_kernel(e.kernel({make(std::move(branch))})),
              HasSubstr(R"(  if (i < 9) {  // all tiles are full
    out[i] = 1.0f;
  } else {
    out[i] = 2.0f;
  }
)"));
}

TEST(CudaKernel, AMaskedLoadDoesNotTouchMemoryWhereItsMaskIsFalse) {
  Elementwise e;
  Expr i = e.i, masked = load(e.a, {i * i32(2)}, i < i32(50), Expr(0.0f));
  EXPECT_EQ(spelled(e, masked), "i < 50 ? a[i * 2] : 0.0f");
  EXPECT_EQ(spelled(e, masked * e.at_b()), "(i < 50 ? a[i * 2] : 0.0f) * b[i]");
}

TEST(CudaKernel, ConstantsReadBackAsTheSameBits) {
  Elementwise f;
  EXPECT_EQ(spelled(f, Expr(0.0f)), "0.0f");
  EXPECT_EQ(spelled(f, Expr(-0.5f)), "-0.5f");
  EXPECT_EQ(spelled(f, Expr(0.1f)), "0.1f");
  EXPECT_EQ(spelled(f, Expr(1e30f)), "1e+30f");
  EXPECT_EQ(spelled(f, Expr(16777217.0f)), "16777216.0f");
  EXPECT_EQ(spelled(f, Expr(std::numeric_limits<float>::infinity())), "__int_as_float(0x7f800000)");
  EXPECT_EQ(spelled(f, Expr(-std::numeric_limits<float>::infinity())), "__int_as_float(0xff800000)");
  Elementwise u(DType::u32);
  EXPECT_EQ(spelled(u, u.at_a() * int_imm(4294967295, DType::u32)), "a[i] * 4294967295u");
  Elementwise l(DType::i64);
  EXPECT_EQ(spelled(l, l.at_a() + Expr(5)), "a[i] + 5");
  EXPECT_EQ(spelled(l, l.at_a() + Expr(std::int64_t{3000000000})), "a[i] + 3000000000LL");
  EXPECT_EQ(spelled(l, select(equal(l.at_a(), 0), 1, 2) * l.at_b()), "(a[i] == 0 ? 1LL : 2LL) * b[i]");
  EXPECT_EQ(spelled(l, cast(DType::i64, l.i) * Expr(100)), "(long long)i * 100");
}

TEST(CudaKernel, MinAndMaxOfFloatsAreHelpersWithOurMeaningOfNan) {
  Elementwise e;
  std::string text = cuda_kernel(e.kernel(max(e.at_a(), 0.0f)));
  EXPECT_THAT(text, HasSubstr("out[i] = max_f32(a[i], 0.0f);"));
  EXPECT_THAT(text, HasSubstr("float max_f32(float a, float b) { return a < b ? b : a; }"));
  EXPECT_THAT(text, Not(HasSubstr("min_f32")));
  EXPECT_EQ(spelled(e, get(e.a, min(Expr(e.i), i32(7)))), "a[min(i, 7)]");
}

TEST(CudaKernel, AddingToAnElementIsSpelledWithPlusEquals) {
  Elementwise e;
  Expr old = get(e.out, e.i);
  EXPECT_THAT(cuda_kernel(e.kernel(old + e.at_a() * e.at_b())), HasSubstr("out[i] += a[i] * b[i];"));
  EXPECT_THAT(cuda_kernel(e.kernel(e.at_a() + old)), HasSubstr("out[i] = a[i] + out[i];"));
  EXPECT_THAT(cuda_kernel(e.kernel(get(e.out, Expr(e.i) + i32(1)) + e.at_a())),
              HasSubstr("out[i] = out[i + 1] + a[i];"));
}

TEST(CudaKernel, ABufferThatIsOnlyReadIsConst) {
  Elementwise e;
  std::string text = cuda_kernel(e.kernel(e.at_a()));
  EXPECT_THAT(text, HasSubstr("const float *__restrict__ a"));
  EXPECT_THAT(text, HasSubstr(" float *__restrict__ out"));
}

TEST(CudaKernel, AScalarIsDeclaredByItsFirstAssignment) {
  Elementwise e;
  Buffer x = storage("x", Scope::local, 1);
  auto text = [&](std::vector<kernel::Stmt> body) {
    Kernel k = e.kernel(std::move(body));
    k.local = {{x, 0, {1}}};
    return cuda_kernel(k);
  };
  Expr zero = i32(0);
  kernel::Stmt out = set(e.out, e.i, get(x, zero));
  EXPECT_THAT(text({set(x, zero, e.at_a()), out}), HasSubstr("\n  const float x = a[i];\n"));
  EXPECT_THAT(text({set(x, zero, e.at_a()), set(x, zero, get(x, zero) + e.at_b()), out}),
              HasSubstr("\n  float x = a[i];\n  x += b[i];\n"));
  Expr small = Expr(e.i) < i32(9);
  EXPECT_THAT(text({when(small, {set(x, zero, e.at_a()), out})}), HasSubstr("\n    const float x = a[i];\n"));
  // Read after the branch that assigns it: declared before it.
  EXPECT_THAT(text({when(small, {set(x, zero, e.at_a())}), out}),
              HasSubstr("\n  float x;\n\n  if (i < 9) {\n    x = a[i];\n  }\n  out[i] = x;\n"));
  // The condition reads it before the body assigns it.
  EXPECT_THAT(text({when(get(x, zero) < Expr(1.0f), {set(x, zero, e.at_a())})}), HasSubstr("\n  float x;\n"));
  // Its value lives on from one iteration to the next: declared outside of the loop.
  EXPECT_THAT(text({loop(index("k"), 3, kernel::Serial{}, {set(x, zero, get(x, zero) + e.at_a()), out})}),
              HasSubstr("\n  float x;\n\n  for (int k = 0; k < 3; ++k) {\n    x += a[i];\n"));
}

TEST(CudaKernel, NamesAreUniqueWhereTheyMeetAndFreeAgainAfterTheirScope) {
  Elementwise e;
  Var first = index("k"), second = index("k"), nested = index("k");
  std::string text = cuda_kernel(e.kernel(
      {loop(first, 2, kernel::Serial{}, {set(e.out, first, e.at_a())}),
       loop(second, 3, kernel::Serial{},
            {loop(nested, 4, kernel::Serial{}, {set(e.out, Expr(second) + Expr(nested), e.at_a())})})}));
  EXPECT_THAT(text, HasSubstr("for (int k = 0; k < 2; ++k)"));
  EXPECT_THAT(text, HasSubstr("for (int k = 0; k < 3; ++k)"));
  EXPECT_THAT(text, HasSubstr("for (int k_1 = 0; k_1 < 4; ++k_1)"));
  EXPECT_THAT(text, HasSubstr("out[k + k_1] = a[i];"));
}

TEST(CudaKernel, WordsThatAreTakenGetASuffix) {
  Elementwise e;
  e.i = index("threadIdx");
  e.a = global("float", {Expr(100)}, Role::input);
  e.b = global("2nd.b", {Expr(100)}, Role::input);
  Kernel k = e.kernel(e.at_a() + e.at_b());
  k.name = "exp";
  EXPECT_EQ(entry_name(k), "exp_kernel");
  std::string text = cuda_kernel(k);
  EXPECT_THAT(text, HasSubstr("exp_kernel(const float *__restrict__ float_, const float *__restrict__ v2nd_b"));
  EXPECT_THAT(text, HasSubstr("const int threadIdx_ = threadIdx.x;"));
  EXPECT_THAT(text, HasSubstr("out[threadIdx_] = float_[threadIdx_] + v2nd_b[threadIdx_];"));
}

TEST(CudaKernel, ASerialLoopCanBeUnrolledByANumber) {
  Elementwise e;
  Kernel copy = e.kernel(e.at_a());
  copy.body = make(kernel::Loop{make_var("k", DType::i32), i32(7), kernel::Serial{.copies = 4}, copy.body});
  EXPECT_THAT(cuda_kernel(copy), HasSubstr("  #pragma unroll 4\n  for (int k = 0; k < 7; ++k) {\n"));
}

TEST(CudaKernel, BarriersSayWhatTheyAreFor) {
  Elementwise e;
  std::string text = cuda_kernel(e.kernel({make(Barrier{SyncScope::block, {{.buffer = e.a}}}),
                                           make(Barrier{SyncScope::warp}), set(e.out, e.i, e.at_a())}));
  EXPECT_THAT(text, HasSubstr("\n  __syncthreads();  // a: written above, read below\n  __syncwarp();\n"));
}

TEST(CudaKernel, NoLineIsLongerThanAHundredColumns) {
  Elementwise e;
  Expr sum = e.at_a();
  for (int n = 0; n < 30; ++n)
    sum = sum + e.at_a() * e.at_b();
  std::istringstream lines(cuda_kernel(e.kernel(sum)) + cuda_kernel(tile1d(100000, 77777, 33333)));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 100u) << line;
}

TEST(CudaKernelDeathTest, AVariableOutOfScopeIsOurError) {
  Elementwise e;
  EXPECT_DEATH(cuda_kernel(e.kernel(get(e.a, index("stray")))), "used outside of its scope");
}

} // namespace
} // namespace nestsmith::kernel
