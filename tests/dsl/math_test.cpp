/// Tests the functions of mathematics: what they take, their text, their traces, and their hashes in ring mode.

#include "dsl/expr/math.h"
#include "dsl/expr/math_functions.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <cmath>
#include <set>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_user_error;

Expr call_on(const MathFunction &function, const Expr &x) {
  return call_math(function, std::vector<Expr>(static_cast<std::size_t>(function.operands), x));
}

TEST(Math, HasOneRowForEachFunction) {
  Expr x = make_var("x", DType::f32), y = make_var("y", DType::f32), z = make_var("z", DType::f32);
  std::vector<Expr> all = {exp(x), exp2(x), log(x), log2(x), sqrt(x),  rsqrt(x),     tanh(x),
                           erf(x), sin(x),  cos(x), abs(x),  floor(x), fma(x, y, z), pow(x, y)};
  for (const Expr &fast : {fast_exp(x), fast_log(x), fast_log2(x), fast_sin(x), fast_cos(x), fast_tanh(x),
                           fast_pow(x, y), fast_divide(x, y)})
    all.push_back(fast);
  std::set<const MathFunction *> rows;
  for (const Expr &e : all)
    rows.insert(math_function(e));
  EXPECT_EQ(rows.size(), math_functions().size());
  EXPECT_EQ(rows.count(nullptr), 0U);
  EXPECT_EQ(to_string(fma(exp(x), y, -z)), "fma(exp(x), y, -z)");
  EXPECT_EQ(to_string(fast_divide(fast_exp(x), y)), "fast_divide(fast_exp(x), y)");
  EXPECT_EQ(to_string(sigmoid(x)), "1.0/(1.0 + exp(-x))");
  EXPECT_EQ(to_string(silu(x)), "x/(1.0 + exp(-x))");
  EXPECT_EQ(to_string(gelu(x)), "x*0.5*(1.0 + erf(x*0.7071067690849304))");
}

TEST(Math, TakesConstantsThatAreExact) {
  Expr x = make_var("x", DType::f32);
  EXPECT_EQ(to_string(pow(x, 2)), "pow(x, 2.0)");
  EXPECT_EQ(to_string(exp(1)), "exp(1.0)");
  EXPECT_EQ(to_string(abs(-3)), "abs(-3.0)");
  expect_user_error([&] { pow(x, 16777217); }, ExitCode::usage,
                    "pow takes f32 or f64, got the constant 16777217; write a value that is exact in f32");
}

TEST(Math, OfOtherTypesIsRefused) {
  for (DType type :
       {DType::i32, DType::i64, DType::u64, DType::f16, DType::bf16, DType::tf32, DType::boolean}) {
    Expr x = make_var("x", type);
    for (const MathFunction &function : math_functions())
      expect_user_error([&] { call_on(function, x); }, ExitCode::usage,
                        std::string(function.name) + " takes f32 or f64, got " + std::string(name(type)) +
                            "; convert the operand with cast(DType::f32, …)");
    expect_user_error([&] { silu(x); }, ExitCode::usage,
                      "silu takes f32 or f64, got " + std::string(name(type)));
  }
  Expr x = make_var("x", DType::f32);
  expect_user_error([&] { fma(x, x, make_var("h", DType::f16)); }, ExitCode::usage,
                    "fma takes f32 or f64, got f16");
  expect_user_error([&] { call_math(*find_math_function("pow"), {x}); }, ExitCode::usage,
                    "pow has 1 operands, expected 2");
}

TEST(Math, AbsOfAnIntegerIsAnInteger) {
  Expr i = make_var("i");
  EXPECT_EQ(to_string(abs(i)), "max(i, 0 - i)");
  EXPECT_EQ(abs(Expr(make_var("n", DType::i32))).dtype(), DType::i32);
}

TEST(Math, InRingModeIsADifferentHashForEachFunction) {
  std::set<std::uint32_t> seen;
  std::size_t hashes = 0;
  auto word = [](std::uint32_t x) { return int_imm(x, DType::u32); };
  auto value = [](const Expr &e) { return static_cast<std::uint32_t>(as_int(e).value()); };
  for (std::uint32_t x : {0U, 1U, 12345U, 0xfffffffbU}) {
    for (const MathFunction &function : math_functions()) {
      if (function.name == "fma")
        continue;
      std::uint32_t once = value(call_on(function, word(x)));
      EXPECT_NE(once, 0U) << function.name << ": what is applied to padding shows";
      EXPECT_NE(value(call_on(function, word(2 * x + 3))), 2 * once + 3) << function.name;
      EXPECT_NE(value(call_on(function, word(once))), once) << function.name << " twice";
      seen.insert(once);
      ++hashes;
    }
    for (Expr (*made)(Expr) : {sigmoid, silu, gelu, relu}) {
      seen.insert(value(made(word(x))));
      ++hashes;
    }
  }
  EXPECT_EQ(seen.size(), hashes);
  EXPECT_NE(value(pow(word(3), 5)), value(pow(word(5), 3)));
  EXPECT_EQ(value(fma(word(3), word(5), word(7))), 22U) << "a sum of a product is one in the ring too";
}

Program every_function(std::int64_t n) {
  Workload w("functions");
  Tensor x = w.placeholder("X", {n});
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition {
    Expr at = x(i) + 2, sum = 0.0F;
    for (const MathFunction &function : math_functions())
      sum = sum + call_on(function, at);
    return sum;
  });
  return w.output({y});
}

TEST(Math, IsEvaluatedAsTheRowSays) {
  for (std::int64_t n : {1, 7}) {
    Program program = every_function(n);
    std::vector<Array> arrays{Array(DType::f32, {n}), Array(DType::f32, {n})};
    for (std::int64_t i = 0; i < n; ++i)
      arrays[0].view<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i) / 8;
    interpret(program, arrays, {});
    for (std::int64_t i = 0; i < n; ++i) {
      double x = static_cast<double>(i) / 8 + 2;
      double expected = std::exp(x) + std::exp2(x) + std::log(x) + std::log2(x) + std::sqrt(x) +
                        1 / std::sqrt(x) + std::tanh(x) + std::erf(x) + std::sin(x) + std::cos(x) + x +
                        std::floor(x) + x * x + x + std::pow(x, x);
      double fast = std::exp(x) + std::log(x) + std::log2(x) + std::sin(x) + std::cos(x) + std::tanh(x) +
                    std::pow(x, x) + 1;
      expected += fast;
      EXPECT_NEAR(arrays[1].view<float>()[static_cast<std::size_t>(i)], expected, 1e-5 * expected);
    }
  }
}

TEST(Math, KnowsTheHashOfRingMode) {
  Workload w("hash");
  const Expr x = w.placeholder("X", {8}, DType::u32)(0);
  EXPECT_TRUE(has_ring_hash(relu(x) + x));
  EXPECT_TRUE(has_ring_hash(exp(x)));
  EXPECT_FALSE(has_ring_hash(x * int_imm(0x9e3779b1, DType::u32)));
}

TEST(Math, IsInTraces) {
  Program program = every_function(4);
  std::string text = to_json(trace_file(Schedule(program), {4}, DType::f32));
  TraceFile file = parse_trace(text, "t.json");
  ASSERT_TRUE(file.computation.has_value()) << text;
  EXPECT_EQ(print(Schedule(*file.computation).source()), print(Schedule(program).source()));
  EXPECT_EQ(to_json(file), text);
  auto refuse = [&](const std::string &from, const std::string &to, const std::string &message) {
    std::string changed = text;
    std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    changed.replace(at, from.size(), to);
    expect_user_error([&] { parse_trace(changed, "t.json"); }, ExitCode::usage, message);
  };
  refuse("\"exp\"", "\"exp3\"", "unknown operator 'exp3'");
  refuse("\"exp\"", "\"pow\"", "the operator 'pow' has 1 operands, expected 2");
}

} // namespace
} // namespace nestsmith
