/// Tests functions of mathematics from the schedule to the text: the simulator, NVRTC, and the host.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/expr/math.h"
#include "dsl/expr/math_functions.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/tensor.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;

/// Y = function(X*W), the product in registers, and the function where they are written back.
Schedule epilogue(const Shape &shape, DType dtype, Expr (*function)(Expr)) {
  Expr M = shape.at(0), N = shape.at(1), K = shape.at(2);
  DType result = arithmetic_type(dtype);
  Workload w("epilogue");
  Tensor X = w.placeholder("X", {M, K}, dtype), W = w.placeholder("W", {K, N}, dtype);
  Reduce k = reduce_axis("k", K);
  Tensor P = w.compute("P", {M, N}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(cast(result, X(i, k)) * cast(result, W(k, j)), k); });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"},
                       [&](Expr i, Expr j) -> Definition { return cast(dtype, function(P(i, j))); });
  Schedule s(w.output({Y}));
  auto [i, j] = s.loops<2>(s.block("Y"));
  auto [i_block, i_thread] = s.split(i, {infer, 8});
  auto [j_block, j_thread, j_result] = s.split(j, {infer, 8, 2});
  s.reorder({i_block, j_block, i_thread, j_thread, j_result});
  s.compute_at(s.block("P"), j_thread);
  s.set_scope(s.block("P"), Scope::local);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  return s;
}

/// One output and one kernel for each function, with one thread for each element.
Schedule of_each(std::int64_t n) {
  Workload w("each");
  Tensor x = w.placeholder("X", {n});
  std::vector<Tensor> outputs;
  for (const MathFunction &function : math_functions())
    outputs.push_back(w.compute("Y_" + std::string(function.name), {n}, {"i"}, [&](Expr i) -> Definition {
      std::vector<Expr> operands(static_cast<std::size_t>(function.operands), x(i) * 0.5F + 1.5F);
      return call_math(function, std::move(operands));
    }));
  Schedule s(w.output({outputs.begin(), outputs.end()}));
  for (const MathFunction &function : math_functions()) {
    auto [block, thread] = s.split(s.loops<1>(s.block("Y_" + std::string(function.name)))[0], {infer, 32});
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
  }
  return s;
}

/// Y[i] = the sum of all functions of X.
Schedule of_all(std::int64_t n) {
  Workload w("all");
  Tensor x = w.placeholder("X", {n});
  Schedule s(w.output({w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition {
    Expr total = 0.0F;
    for (const MathFunction &function : math_functions())
      total = total + call_math(function, std::vector<Expr>(static_cast<std::size_t>(function.operands), x(i)));
    return total;
  })}));
  s.bind(s.loop("i"), Axis::thread_x);
  return s;
}

TEST(MathOfAKernel, IsRightInTheEpilogueOfAProduct) {
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{17, 15, 9}, Shape{16, 32, 7}})
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::u32})
      for (Expr (*function)(Expr) : {gelu, silu, sigmoid}) {
        SCOPED_TRACE(to_string(shape) + std::string(name(dtype)));
        test::expect_right(epilogue(shape, dtype, function));
      }
}

TEST(MathOfAKernel, IsRightInAKernelOfItsOwn) {
  for (std::int64_t n : {1, 31, 33})
    test::expect_right(of_each(n));
  test::expect_right(of_all(65));
}

TEST(MathOfAKernel, OnAPartOfTheSumIsFoundInRingMode) {
  auto part = [](Expr (*inner)(Expr), Expr (*outer)(Expr)) {
    Workload w("parts");
    Tensor x = w.placeholder("X", {8, 6}, DType::u32);
    Reduce k = reduce_axis("k", 6);
    Tensor p = w.compute("P", {8}, {"i"}, [&](Expr i) { return sum(inner(x(i, k)), k); });
    return w.output({w.compute("Y", {8}, {"i"}, [&](Expr i) -> Definition { return outer(p(i)); })});
  };
  Expr (*same)(Expr) = [](Expr x) { return x; };
  Program wanted = part(same, exp), wrong = part(exp, same);
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    interpret(wrong, arrays, {});
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
}

TEST(MathOfAKernel, HasThePreciseNameOfCuda) {
  std::string text = cuda_kernels(lower(epilogue({16, 16, 4}, DType::f32, gelu)));
  EXPECT_THAT(text, HasSubstr("(1.0f + erff("));
  std::string all = cuda_kernels(lower(of_all(64)));
  for (const MathFunction &function : math_functions())
    EXPECT_THAT(all, HasSubstr(" " + std::string(function.cuda) + "("));
}

TEST(MathOfAKernel, OfTheTextIsThatOfTheSimulator) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  Schedule each = of_each(33), gelus = epilogue({9, 10, 5}, DType::f32, gelu);
  std::vector<Subject> subjects = {{"each", each, lower(each)}, {"gelu", gelus, lower(gelus)}};
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(MathOfAKernel, NvrtcCompilesTheText) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  kernel::Kernel kernel = lower(of_all(64)).only();
  for (const char *arch : {"sm_75", "sm_90"}) {
    cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
    EXPECT_EQ(compiled.shared_bytes, 0);
  }
}

/// Softmax of rows in f32 by the fast functions; `shift` is subtracted from the exponents.
Schedule fast_softmax(std::int64_t m, std::int64_t n, bool subtracts, std::int64_t threads) {
  Workload w("fast_softmax");
  Tensor x = w.placeholder("X", {m, n});
  Reduce k = reduce_axis("k", n), l = reduce_axis("l", n);
  Tensor most = w.compute("most", {m}, {"i"}, [&](Expr i) { return max_over(x(i, k), k); });
  auto power = [&](const Expr &i, const Expr &j) { return fast_exp(subtracts ? x(i, j) - most(i) : x(i, j)); };
  Tensor total = w.compute("total", {m}, {"i"}, [&](Expr i) { return sum(power(i, l), l); });
  Schedule s(w.output({w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    return fast_divide(power(i, j), total(i));
  })}));
  for (const char *stage : {"most", "total"}) {
    BlockRef block = s.block(stage);
    s.bind(s.loops(block)[0], Axis::block_x);
    s.reduce_across(s.split<2>(s.loops(block).back(), {infer, threads})[1], Axis::thread_x);
  }
  s.bind(s.loops(s.block("Y"))[0], Axis::block_x);
  s.bind(s.split<2>(s.loops(s.block("Y"))[1], {infer, threads})[1], Axis::thread_x);
  return s;
}

TEST(FastMathOfAKernel, OfASoftmaxIsRight) {
  for (std::int64_t n : {1, 31, 65})
    for (std::int64_t threads : {1, 32})
      test::expect_right(fast_softmax(5, n, true, threads));
  std::string text = cuda_kernels(lower(fast_softmax(5, 65, true, 32)));
  EXPECT_THAT(text, HasSubstr("__expf("));
  EXPECT_THAT(text, HasSubstr("__fdividef("));
  EXPECT_EQ(
      run_on_host(
          emit_standalone({}, lower(fast_softmax(5, 33, true, 8)), fast_softmax(5, 33, true, 8).source()), 3),
      0);
  Program wanted = fast_softmax(5, 65, true, 32).source(), wrong = fast_softmax(5, 65, false, 32).source();
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    interpret(wrong, arrays, {});
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong) << "exp of large elements overflows";
}

/// gelu by its approximation with tanh.
Expr gelu_by_tanh(Expr x) {
  if (x.dtype() == DType::u32)
    return gelu(x);
  return x * 0.5F * (1 + fast_tanh(x * (0.79788456F + 0.035677408F * x * x)));
}

TEST(FastMathOfAKernel, OfAGeluIsRight) {
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{17, 15, 9}})
    test::expect_right(epilogue(shape, DType::f32, gelu_by_tanh));
  std::string text = emit_standalone({}, lower(epilogue({9, 10, 5}, DType::f32, gelu_by_tanh)),
                                     epilogue({9, 10, 5}, DType::f32, gelu_by_tanh).source());
  EXPECT_EQ(run_on_host(text), 0) << text;
  std::size_t at = text.find("0.035677", text.find("__global__"));
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 8, "0.095677");
  EXPECT_EQ(run_on_host(text), 1) << "a large error is found";
}

std::string standalone_of(const Schedule &s) { return emit_standalone({}, lower(s), s.source()); }

TEST(MathOfAKernel, IsCheckedByAStandaloneFile) {
  EXPECT_EQ(run_on_host(standalone_of(epilogue({9, 10, 5}, DType::f32, gelu))), 0);
  std::string wrong = standalone_of(epilogue({9, 10, 5}, DType::f32, gelu));
  std::size_t at = wrong.find("0.70710677f", wrong.find("__global__"));
  ASSERT_NE(at, std::string::npos) << wrong;
  wrong.replace(at, 11, "0.70720677f");
  EXPECT_EQ(run_on_host(wrong), 1) << "another constant is found";
  EXPECT_EQ(run_on_host(standalone_of(of_each(40)), 64), 0);
}

TEST(MathOfAKernel, OfWhatMayHaveNoValueIsNotCalledRightByAStandaloneFile) {
  Workload w("logarithm");
  Tensor x = w.placeholder("X", {64});
  Schedule s(w.output({w.compute("Y", {64}, {"i"}, [&](Expr i) -> Definition { return log(x(i)) + 1; })}));
  std::string output;
  EXPECT_EQ(run_on_host(standalone_of(s), 8, &output), 1);
  EXPECT_THAT(output, HasSubstr("check: Y UNKNOWN, 0 of 64 elements wrong"));
}

TEST(MathOfAKernel, KeepsTheNamesOfItsFunctions) {
  Workload w("expf");
  Tensor x = w.placeholder("expf", {40}), z = w.placeholder("exp_f32", {40});
  Tensor t = w.compute("exp", {40}, {"i"}, [&](Expr i) -> Definition { return exp(x(i)) + z(i); });
  Schedule s(
      w.output({w.compute("exp_of", {40}, {"spread_of"}, [&](Expr i) -> Definition { return exp(t(i)); })}));
  EXPECT_EQ(run_on_host(standalone_of(s)), 0) << standalone_of(s);
}

} // namespace
} // namespace nestsmith
