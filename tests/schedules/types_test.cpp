/// Tests the element types, from the computation to the compiled kernel.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/codegen/nvcc.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/functions.h"
#include "tests/schedules/rung.h"
#include "tests/schedules/sample.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;
using testing::Not;

using test::all_messages;
using test::rung;

CheckResult checked(const Schedule &schedule, const kernel::Plan &plan) {
  SimExecutor simulator;
  return check(schedule, plan, simulator);
}

// ---- every rung ----------------------------------------------------------------------------------

class NarrowRung : public testing::TestWithParam<test::Part> {};

/// Operands of one byte, with extents near those of a tile.
TEST_P(NarrowRung, IsRightOnBytesInTheSimulator) {
  const auto &[rung, others] = GetParam();
  std::vector<std::pair<DType, int>> all;
  for (int by : {-1, 0, 1})
    for (DType dtype : {DType::i8, DType::u8})
      all.emplace_back(dtype, by);
  for (auto [dtype, by] : test::sample(*rung, all, 2, others)) {
    Shape shape = test::near_tile(*rung, by);
    if (test::rounds(*rung, DType::f32) && dtype == DType::i8) {
      test::expect_user_error([&] { rung->build(shape, dtype, Target{}); }, ExitCode::usage,
                              std::string(rung->tutorial == "softmax" ? "exp" : "rsqrt") +
                                  " takes f32 or f64, got i32; convert the operand with cast(DType::f32, …)");
      continue;
    }
    Schedule schedule = rung->build(shape, dtype, Target{});
    CheckResult result = checked(schedule, lower(schedule));
    EXPECT_TRUE(result.passed) << name(dtype) << " " << to_string(shape) << "\n" << all_messages(result);
    EXPECT_NE(result.find(CheckRun::ring), nullptr);
  }
}

/// One tile, and one more in each dimension, so that there is a tail everywhere.
TEST_P(NarrowRung, IsRightInTheSimulator) {
  const auto &[rung, others] = GetParam();
  Shape shape = test::near_tile(*rung, 1);
  for (DType dtype : test::sample(*rung, std::vector<DType>{DType::f16, DType::bf16, DType::tf32}, 1, others)) {
    if (rung->dtype(dtype) != dtype)
      continue;
    Schedule schedule = rung->build(shape, dtype, Target{});
    CheckResult result = checked(schedule, lower(schedule));
    EXPECT_TRUE(result.passed) << name(dtype) << "\n" << all_messages(result);
    EXPECT_TRUE(test::rounds(*rung, dtype) || result.exact() == true)
        << "integers are exact in every type, unless a function rounds";
    EXPECT_NE(result.find(CheckRun::random), nullptr);
  }
}

INSTANTIATE_SAMPLED(NarrowRung);

// ---- the check sees the type ---------------------------------------------------------------------

TEST(Types, AMissingOrAnAdditionalRoundingToTF32IsFound) {
  const Rung &shared = rung("deep_dive/shared");
  Shape shape{33, 20, 9};
  Schedule rounded = shared.build(shape, DType::tf32, Target{}),
           plain = shared.build(shape, DType::f32, Target{});
  EXPECT_FALSE(checked(rounded, lower(plain)).passed);
  EXPECT_FALSE(checked(plain, lower(rounded)).passed);
}

TEST(Types, ProductsOfNarrowOperandsAreRecognized) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::tf32}) {
    auto found = as_gemm(gemm({3, 4, 5}, dtype, {.a = true}));
    ASSERT_TRUE(found.has_value()) << name(dtype);
    EXPECT_EQ(found->product.x_type, dtype);
    EXPECT_EQ(found->product.y_type, dtype);
    EXPECT_EQ(found->c->dtype, DType::f32);
    EXPECT_TRUE(found->product.x_transposed);
    EXPECT_FALSE(found->product.y_transposed);
    EXPECT_TRUE(found->reads_c);
  }
  for (auto [stored, sums] : {std::pair{DType::i8, DType::i32}, std::pair{DType::u8, DType::u32}}) {
    auto found = as_gemm(gemm({3, 4, 5}, stored));
    ASSERT_TRUE(found.has_value()) << name(stored);
    EXPECT_EQ(found->product.x_type, stored);
    EXPECT_EQ(found->product.y_type, stored);
    EXPECT_EQ(found->c->dtype, sums);
    EXPECT_EQ(found->alpha->dtype, sums);
  }
  auto sum = as_gemm(accumulate_nt({3, 4, 5}, DType::f32));
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->alpha, nullptr);
  EXPECT_EQ(sum->beta, nullptr);
  EXPECT_TRUE(sum->reads_c && sum->product.y_transposed);
  EXPECT_FALSE(as_gemm(matmul({3, 4, 5}, DType::f16))->reads_c);
  EXPECT_FALSE(as_gemm(gemm_bias_relu({3, 4, 5}, DType::f32)).has_value());
  EXPECT_FALSE(as_gemm(batched_gemm({2, 3, 4, 5}, DType::f32)).has_value());
}

TEST(Types, ProductsWithTheEpilogueOfALibraryAreRecognized) {
  auto plain = as_gemm_with_epilogue(gemm({3, 4, 5}, DType::f32));
  ASSERT_TRUE(plain.has_value());
  EXPECT_TRUE(plain->bias == nullptr && !plain->relu && plain->reads_c);
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::tf32}) {
    auto scaled = as_gemm_with_epilogue(gemm_bias_relu({3, 4, 5}, dtype));
    ASSERT_TRUE(scaled.has_value()) << name(dtype);
    EXPECT_EQ(scaled->alpha->name, "alpha");
    EXPECT_EQ(scaled->bias->name, "bias");
    EXPECT_TRUE(scaled->relu && !scaled->reads_c);
    EXPECT_EQ(scaled->c->dtype, DType::f32);
    auto narrow = as_gemm_with_epilogue(linear({3, 4, 5}, dtype));
    ASSERT_TRUE(narrow.has_value()) << name(dtype);
    EXPECT_EQ(narrow->product.x_type, dtype);
    EXPECT_TRUE(narrow->bias != nullptr && narrow->relu && narrow->product.y_transposed);
    EXPECT_EQ(narrow->c->dtype, dtype == DType::tf32 ? DType::f32 : dtype);
  }
  EXPECT_FALSE(as_gemm_with_epilogue(batched_gemm({2, 3, 4, 5}, DType::f32)).has_value());
}

/// A bias of each row, a maximum with another number, and a product of the bias are other computations.
TEST(Types, OtherEpiloguesAreNotThoseOfALibrary) {
  using Value = std::function<Expr(const Tensor &ab, const Tensor &bias, const Expr &i, const Expr &j)>;
  auto recognized = [](const Value &value) {
    Workload w("epilogue");
    Tensor a = w.placeholder("A", {4, 5}, DType::f32), b = w.placeholder("B", {5, 4}, DType::f32);
    Tensor bias = w.placeholder("bias", {4}, DType::f32);
    Reduce k = reduce_axis("k", 5);
    Tensor ab = w.compute("AB", {4, 4}, {"i", "j"},
                          [&](const Expr &i, const Expr &j) { return sum(a(i, k) * b(k, j), k); });
    Tensor d =
        w.compute("D", {4, 4}, {"i", "j"}, [&](const Expr &i, const Expr &j) { return value(ab, bias, i, j); });
    return as_gemm_with_epilogue(w.output({d})).has_value();
  };
#define VALUE(...)                                                                                             \
  [](const Tensor &ab, const Tensor &bias, const Expr &i, const Expr &j) -> Expr { return __VA_ARGS__; }
  EXPECT_TRUE(recognized(VALUE(ab(i, j) + bias(j))));
  EXPECT_TRUE(recognized(VALUE(relu(bias(j) + ab(i, j)))));
  EXPECT_FALSE(recognized(VALUE(ab(i, j) + bias(i))));
  EXPECT_FALSE(recognized(VALUE(ab(i, j) * bias(j))));
  EXPECT_FALSE(recognized(VALUE(relu(ab(i, j)) + bias(j))));
  EXPECT_FALSE(recognized(VALUE(ab(i, j) + bias(j) + bias(j))));
  EXPECT_FALSE(recognized(VALUE(maximum(ab(i, j) + bias(j), constant(DType::f32, 1)))));
#undef VALUE
}

/// Compares the product path of the reference with the elementwise path, which an added zero selects.
TEST(Types, BothPathsOfTheReferenceRoundAlike) {
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32}) {
    auto build = [&](bool plain) {
      Workload w("w");
      DType stored = dtype == DType::tf32 ? DType::f32 : dtype;
      Tensor a = w.placeholder("A", {4, 6}, stored), b = w.placeholder("B", {6, 5}, stored);
      auto factor = [&](Expr e) {
        return cast(DType::f32, dtype == DType::tf32 ? cast(dtype, std::move(e)) : std::move(e));
      };
      Reduce k = reduce_axis("k", 6);
      Tensor c = w.compute("C", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) {
        Expr product = factor(a(i, k)) * factor(b(k, j));
        return sum(plain ? product : product + 0.0F, k);
      });
      return w.output({c});
    };
    Program plain = build(true), padded = build(false);
    Inputs in = make_inputs(plain, CheckRun::random, 5);
    Reference once = reference(plain, in.arrays, in.scalars), twice = reference(padded, in.arrays, in.scalars);
    ASSERT_TRUE(as_contraction(*blocks_of(plain.body)[0]).has_value());
    ASSERT_FALSE(as_contraction(*blocks_of(padded.body)[0]).has_value());
    for (std::size_t n = 0; n < 20; ++n) {
      EXPECT_NEAR(once.outputs[0].value[n], twice.outputs[0].value[n], 1e-14) << name(dtype);
      EXPECT_NEAR(once.outputs[0].magnitude[n], twice.outputs[0].magnitude[n], 1e-14) << name(dtype);
    }
  }
}

/// The kernel and the reference round different values of a*x + b to the type of y.
TEST(Types, ResultsMayBeStoredInNarrowTypes) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    auto build = [&](float more) {
      Workload w("store");
      Tensor x = w.placeholder("x", {300});
      Expr a = w.scalar("a"), b = w.scalar("b");
      Tensor y =
          w.compute("y", {300}, {"i"}, [&](Expr i) { return cast(dtype, a * x(i) + b * x(i) * x(i) * more); });
      Schedule s(w.output({y}));
      s.bind(s.loop("i"), Axis::thread_x);
      return s;
    };
    Schedule s = build(1);
    CheckResult result = checked(s, lower(s));
    EXPECT_TRUE(result.passed) << all_messages(result);
    EXPECT_EQ(result.exact(), true);
    EXPECT_FALSE(checked(s, lower(build(1.05F))).passed);
  }
}

TEST(Types, ProductsOfIntegersAreExact) {
  for (DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u64}) {
    Schedule s = rung("gemm/tt").build({65, 33, 17}, dtype, Target{});
    CheckResult result = checked(s, lower(s));
    EXPECT_TRUE(result.passed) << name(dtype) << "\n" << all_messages(result);
    EXPECT_EQ(result.exact(), true);
  }
}

/// Compares the product path of the reference, the elementwise path, the interpreter and the simulator for sums
/// that exceed 32 bits.
TEST(Types, ProductsOfBytesWrapInTheTypeOfTheirSums) {
  for (DType dtype : {DType::i8, DType::u8})
    for (const Shape &shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{33, 31, 64}}) {
      Schedule s = rung("gemm/nt").build(shape, dtype, Target{});
      Program p = s.source();
      Inputs in = make_inputs(p, CheckRun::ring, 3);
      for (std::size_t n = 0; n < 2; ++n) // alternately products of 2^14 and of 255^2
        for (std::int64_t at = 0; at < in.arrays[n].size(); ++at)
          in.arrays[n].set(at, Scalar{dtype, at % 3 == 0 ? 0x80U : at % 3 == 1 ? 0x7fU : 0xffU});
      for (std::int64_t at = 0; at < in.arrays[2].size(); ++at)
        in.arrays[2].set(at, Scalar{p.params[2]->dtype, 0x7ffffff0});
      in.scalars = {Scalar{p.scalars[0]->dtype, 0x40001}, Scalar{p.scalars[1]->dtype, 1}};
      Reference right = reference(p, in.arrays, in.scalars);
      std::vector<Array> interpreted = in.arrays, simulated = in.arrays;
      interpret(p, interpreted, in.scalars);
      Execution execution = SimExecutor().run(lower(s), simulated, in.scalars);
      EXPECT_TRUE(execution.diagnostics.empty());
      EXPECT_EQ(simulated[2], interpreted[2]) << name(dtype) << " " << to_string(shape);
      for (std::int64_t at = 0; at < interpreted[2].size(); ++at)
        ASSERT_EQ(extended(interpreted[2].at(at)), right.outputs[0].integer[static_cast<std::size_t>(at)]);
    }
}

TEST(Types, AWrongCastOfNarrowIntegersIsFound) {
  auto build = [](DType stored, DType through) {
    Workload w("widened");
    Tensor x = w.placeholder("x", {300}, stored);
    Tensor y = w.compute("y", {300}, {"i"}, [&](Expr i) {
      return cast(DType::i32, cast(through, x(i))) * cast(DType::i32, x(i));
    });
    Schedule s(w.output({y}));
    s.bind(s.loop("i"), Axis::thread_x);
    return s;
  };
  for (auto [stored, wrong] :
       {std::pair{DType::i8, DType::u8}, std::pair{DType::i16, DType::u16}, std::pair{DType::i16, DType::i8}}) {
    EXPECT_TRUE(checked(build(stored, stored), lower(build(stored, stored))).passed);
    EXPECT_FALSE(checked(build(stored, stored), lower(build(stored, wrong))).passed) << name(wrong);
  }
}

/// y[i] = element(i) for 70 elements, with one thread each.
Schedule elementwise(const std::function<Expr(const Tensor &, Expr)> &element, DType type) {
  Workload w("elementwise");
  Tensor x = w.placeholder("x", {70}, type);
  Tensor y = w.compute("y", {70}, {"i"}, [&](Expr i) { return element(x, i); });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::thread_x);
  return s;
}

/// Index arithmetic is narrowed to i32. Data keeps its type.
TEST(Types, WhatIsStoredHasTheTypeOfItsMemory) {
  Schedule mixed = elementwise(
      [](const Tensor &x, Expr i) {
        return select(i < 9, i * 3, x(i)) + x.where(Expr(5) < i, i - 6) + branch(x(i) < 0, i, x(i));
      },
      DType::i64);
  Schedule index = elementwise([](const Tensor &, Expr i) { return i * 5; }, DType::i64);
  for (const Schedule &s : {mixed, index}) {
    CheckResult result = checked(s, lower(s));
    EXPECT_TRUE(result.passed) << all_messages(result);
  }
}

/// Compares the interpreter, the simulator and the reference, and expects these parts in the text.
void expect_agreement(const Schedule &s, const std::vector<std::string> &parts) {
  Program p = s.source();
  kernel::Plan plan = lower(s);
  test::Values values = test::make_values(p), expected = test::make_values(p);
  interpret(p, expected.arrays, expected.scalars);
  Execution execution = SimExecutor().run(plan, values.arrays, values.scalars);
  EXPECT_TRUE(execution.diagnostics.empty()) << execution.diagnostics.front();
  Reference right = reference(p, expected.arrays, expected.scalars);
  EXPECT_EQ(values.arrays[1], expected.arrays[1]) << print(p);
  for (std::int64_t at = 0; at < 70; ++at)
    EXPECT_EQ(values.arrays[1].at(at).to_double(), right.outputs[0].value[static_cast<std::size_t>(at)]);
  for (const std::string &part : parts)
    EXPECT_THAT(cuda_kernels(plan), HasSubstr(part));
}

TEST(Types, WideAndNarrowIntegersAgreeInAllThatRunsThem) {
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return cast(DType::u16, cast(DType::u32, x(i)) * 3 + 65535); },
                  DType::u16),
      {"const unsigned short *__restrict__ x", "y[i] = (unsigned short)((unsigned int)x[i] * 3u + 65535u);"});
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return cast(DType::i16, cast(DType::i32, x(i)) * 3 - 40000); },
                  DType::i16),
      {"const short *__restrict__ x", "y[i] = (short)(int)((unsigned int)(int)x[i] * 3u - 40000u);"});
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return select(i < 5, x(i), x.where(Expr(9) < i, i - 9)); },
                  DType::i16),
      {"(short)0"});
  expect_agreement(elementwise(
                       [](const Tensor &x, Expr i) {
                         return max(shift_right(x(i), 3), bit_xor(x(i), cast(DType::u64, i))) +
                                cast(DType::u64, i) * 7;
                       },
                       DType::u64),
                   {"unsigned long long *__restrict__ y", "(unsigned long long)i * 7ULL", ">> 3ULL"});
  expect_agreement(elementwise([](const Tensor &x, Expr i) { return x(i) * x(i) - 1; }, DType::i32),
                   {"y[i] = (int)((unsigned int)x[i] * (unsigned int)x[i] - 1u);"});
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return cast(DType::f32, x(i)) + cast(DType::f32, i); },
                  DType::u16),
      {"(float)x[i] + (float)i"});
}

TEST(Types, BytesAgreeInAllThatRunsThem) {
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return cast(DType::i8, cast(DType::i32, x(i)) * 3 - 100); },
                  DType::i8),
      {"const signed char *__restrict__ x", "y[i] = (signed char)(int)((unsigned int)(int)x[i] * 3u - 100u);"});
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return cast(DType::u8, cast(DType::u32, x(i)) * 3 + 255); },
                  DType::u8),
      {"const unsigned char *__restrict__ x", "y[i] = (unsigned char)((unsigned int)x[i] * 3u + 255u);"});
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return select(i < 5, x(i), x.where(Expr(9) < i, i - 9)); },
                  DType::i8),
      {"(signed char)0"});
  expect_agreement(
      elementwise([](const Tensor &x, Expr i) { return cast(DType::f32, x(i)) + cast(DType::f32, i); },
                  DType::i8),
      {"(float)x[i] + (float)i"});
}

// ---- the text ------------------------------------------------------------------------------------

TEST(Types, TheTextIncludesWhatItUsesAndNoMore) {
  auto text = [&](DType dtype) {
    return cuda_kernels(lower(rung("deep_dive/shared").build({33, 20, 9}, dtype, {})));
  };
  std::string half = text(DType::f16), bfloat = text(DType::bf16), tf32 = text(DType::tf32);
  EXPECT_THAT(text(DType::f32), Not(HasSubstr("#include")));
  EXPECT_TRUE(half.starts_with("#include <cuda_fp16.h>\n\n")) << half;
  EXPECT_THAT(half, HasSubstr("const __half *__restrict__ A"));
  EXPECT_THAT(half, HasSubstr("__half2float(A_shared["));
  EXPECT_THAT(half, HasSubstr(": __float2half_rn(0.0f);"));
  EXPECT_TRUE(bfloat.starts_with("#include <cuda_bf16.h>\n\n")) << bfloat;
  EXPECT_THAT(bfloat, HasSubstr("__bfloat162float(A_shared["));
  EXPECT_THAT(tf32, Not(HasSubstr("#include")));
  EXPECT_THAT(tf32, HasSubstr("round_tf32(A_shared["));
  EXPECT_THAT(tf32, HasSubstr("__device__ __forceinline__ float round_tf32(float x) {"));
}

TEST(Types, NvrtcCompilesThemForEveryArchitecture) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  if (!cuda::find_headers(nvrtc->library().path))
    GTEST_SKIP() << "needs cuda_fp16.h";
  for (const char *name : {"deep_dive/tile1d", "gemm/tn"})
    for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u8})
      for (const char *arch : {"sm_75", "sm_80", "sm_90", "sm_90a"}) {
        kernel::Kernel kernel = lower(rung(name).build({129, 130, 131}, dtype, Target{})).only();
        cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
        EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0) << name << " " << arch;
        EXPECT_EQ(compiled.shared_bytes, kernel.shared_bytes);
      }
}

std::string standalone(const std::string &name, const Shape &shape, DType dtype) {
  Schedule schedule = rung(name).build(shape, dtype, Target{});
  return emit_standalone({}, lower(schedule), schedule.source());
}

TEST(Types, AStandaloneFileChecksBytesOnTheHost) {
  for (DType dtype : {DType::i8, DType::u8})
    for (const char *name : {"deep_dive/naive", "gemm/bias_relu"}) {
      EXPECT_EQ(run_on_host(standalone(name, {33, 20, 9}, dtype)), 0) << name;
      std::string wrong = standalone(name, {33, 20, 9}, dtype);
      std::size_t at = wrong.find("+ k]", wrong.find("__global__"));
      ASSERT_NE(at, std::string::npos) << wrong;
      wrong.replace(at, 4, "+ 0]");
      EXPECT_EQ(run_on_host(wrong), 1) << "a wrong element is found";
    }
}

TEST(Types, AStandaloneFileChecksTF32OnTheHost) {
  EXPECT_EQ(run_on_host(standalone("deep_dive/naive", {33, 20, 9}, DType::tf32)), 0);
  std::string unrounded = standalone("deep_dive/naive", {33, 20, 9}, DType::tf32);
  std::size_t at = unrounded.find("is_nan ? x : __uint");
  ASSERT_NE(at, std::string::npos);
  unrounded.replace(at, 6, "true  ");
  EXPECT_EQ(run_on_host(unrounded), 1) << "a rounding that is missing is found";
}

TEST(Types, NvccTakesStandaloneFilesOfNarrowTypes) {
  Nvcc nvcc;
  if (!nvcc.found())
    GTEST_SKIP() << "no nvcc on this machine";
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32})
    EXPECT_EQ(nvcc.messages(standalone("gemm/nt", {65, 33, 17}, dtype), {"-arch=sm_80", "-c"}), "")
        << name(dtype);
  Workload w("store");
  Tensor x = w.placeholder("x", {300}, DType::bf16);
  Tensor y =
      w.compute("y", {300}, {"i"}, [&](Expr i) { return cast(DType::f16, relu(cast(DType::f32, x(i)))); });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::thread_x);
  EXPECT_EQ(nvcc.messages(emit_standalone({}, lower(s), s.source()), {"-arch=sm_80", "-c"}), "");
}

} // namespace
} // namespace nestsmith
