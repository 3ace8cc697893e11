/// Tests random integer expressions as values, masks and indices. The interpreter, the simulator and the
/// emitted text must give the same results, also if arithmetic wraps around, and if a divisor is 0 or negative.

#include "tests/dsl/integer_expressions.h"

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/sim_executor.h"
#include "tests/codegen/host_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::edges_of_integers;
using testing::HasSubstr;

constexpr std::int64_t elements = 50;

/// The use of the expression.
enum class Use : std::uint8_t { value, choice, index_of_data, index, mask, clamped_index, branch };

/// Returns a program that computes Y[i] by a random expression of i, of elements of each type, and of a scalar.
Program computation(std::uint64_t seed) {
  Workload w("random");
  std::map<DType, Tensor> inputs;
  for (DType type : {DType::i32, DType::i64, DType::u32, DType::u64, DType::i8})
    inputs.emplace(type, w.placeholder("x_" + std::string(name(type)), {elements}, type));
  Expr scalar = w.scalar("scalar", DType::i64);
  Tensor y = w.compute("Y", {elements}, {"i"}, [&](Expr i) -> Definition {
    int leaves = 0;
    auto data = [&](DType type) {
      ++leaves;
      return leaves % 7 == 0                         ? cast(type, inputs.at(DType::i8)(i))
             : leaves % 5 == 0 && type == DType::i64 ? scalar
                                                     : inputs.at(type)(i);
    };
    test::IntegerExpressions random(seed, {i}, data);
    DType type = random.any_type();
    const Tensor &x = inputs.at(type);
    auto as_index = [](const Expr &e) { return is_index(e.dtype()) ? e : cast(DType::i64, e); };
    switch (static_cast<Use>(seed % 7)) {
    case Use::value:
      return random.value(type, 3);
    case Use::choice:
      return select(random.condition(3), x(i), constant(type, 1));
    case Use::index_of_data:
      return x(floormod(as_index(random.value(random.any_type(), 3)), elements));
    case Use::index:
      return x(floormod(random.index(3), elements));
    case Use::mask: {
      Expr at = random.chance(50) ? random.index(3) : as_index(random.value(DType::i32, 3));
      return x.where(constant(at.dtype(), 0) <= at && at < constant(at.dtype(), elements), at);
    }
    case Use::clamped_index:
      return x(max(0, min(random.index(3), elements - 1)));
    case Use::branch:
      return branch(random.condition(2), random.value(type, 2), x(i));
    }
    return x(i);
  });
  return w.output({y});
}

/// Schedules one full block, or several blocks of which the last one is partial.
Schedule schedule_of(const Program &program, bool tail) {
  Schedule s(program);
  Loop i = s.loop("i");
  if (tail) {
    auto [outer, inner] = s.split(i, {infer, 16});
    s.bind(outer, Axis::block_x);
    i = inner;
  }
  s.bind(i, Axis::thread_x);
  return s;
}

std::vector<Array> inputs_of(const Program &program, std::uint64_t seed) {
  std::vector<Array> arrays;
  std::mt19937_64 random(seed);
  for (const Buffer &param : program.params) {
    Array &array = arrays.emplace_back(param->dtype, std::vector{elements});
    with_number(param->dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>)
        for (std::int64_t n = 0; n < elements; ++n)
          array.set(n, Scalar::of(param->dtype,
                                  static_cast<T>(edges_of_integers[random() % std::size(edges_of_integers)])));
      return 0;
    });
  }
  return arrays;
}

TEST(IntegerExpressions, HaveTheSameResultInAllThatRunsThem) {
  constexpr std::uint64_t simulated = 300, on_host = 30;
  std::vector<host::Run> launches;
  std::vector<std::vector<Array>> expected;
  std::vector<std::string> texts;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= simulated; ++seed) {
    try {
      Program program = computation(seed);
      Schedule s = schedule_of(program, seed % 2 == 0);
      kernel::Plan plan = lower(s);
      std::string text = kernel::print(plan);
      std::vector<Array> arrays = inputs_of(program, seed), memory = arrays, before = arrays;
      std::vector<Scalar> scalars{
          Scalar::of(DType::i64, edges_of_integers[seed % std::size(edges_of_integers)])};
      interpret(s.source(), arrays, scalars);
      EXPECT_TRUE(SimExecutor().run(plan, memory, scalars).diagnostics.empty()) << text;
      EXPECT_EQ(memory, arrays) << text;
      if (seed > on_host)
        continue;
      launches.push_back({plan, before, scalars});
      expected.push_back(arrays);
      texts.push_back(text);
    } catch (const UserError &error) {
      EXPECT_THAT(error.what(), HasSubstr("does not fit in 64 bits"));
      ++refused;
    }
  }
  EXPECT_LT(refused, simulated / 20);
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<host::Outcome> outcomes = host::run(launches);
  for (std::size_t n = 0; n < outcomes.size(); ++n) {
    EXPECT_EQ(outcomes[n].fault, "") << texts[n];
    EXPECT_TRUE(!outcomes[n].fault.empty() || outcomes[n].arrays == expected[n]) << texts[n];
  }
}

/// Returns the kernel of Y[i] = value(i, X[i]) for 20 elements of i32.
std::string text_of(const std::function<Expr(const Tensor &x, Expr i)> &value) {
  Workload w("text");
  Tensor x = w.placeholder("X", {64}, DType::i32);
  Tensor y = w.compute("Y", {20}, {"i"}, [&](Expr i) -> Definition { return value(x, i); });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::block_x);
  return cuda_kernels(lower(s));
}

TEST(IntegerExpressions, DivideIndicesByAnyDivisor) {
  EXPECT_THAT(text_of([](const Tensor &x, Expr i) { return x(floormod(i, -7) + 6); }),
              HasSubstr("Y[i] = X[floormod_i64((long long)i, -7LL) + 6];"));
  EXPECT_THAT(text_of([](const Tensor &x, Expr i) { return x(min(floordiv(i * 3, i) + 1, 3)); }),
              HasSubstr("Y[i] = X[min(floordiv_i64((long long)(i * 3), (long long)i) + 1, 3LL)];"));
  EXPECT_THAT(text_of([](const Tensor &x, Expr i) { return x(floormod(i - 7, 4)); }),
              HasSubstr("X[(i + 1) % 4]"))
      << "a positive divisor needs no function";
}

TEST(IntegerExpressions, WrapAroundInIndices) {
  EXPECT_THAT(text_of([](const Tensor &x, Expr i) {
                return x(floormod(cast(DType::i64, cast(DType::i32, i) * 1103515245 + 12345), 64));
              }),
              HasSubstr("X[floormod_i64((long long)(int)((unsigned int)i * 1103515245u + 12345u), 64LL)]"));
  // The index is converted to 32 bits.
  EXPECT_THAT(
      text_of([](const Tensor &x, Expr i) { return x(floormod(cast(DType::i32, i * 3000000000), 64)); }),
      HasSubstr("(int)(unsigned long long)"));
}

/// The difference is 0, but the kernel computes its operands in unsigned arithmetic, so their range is unknown.
TEST(IntegerExpressions, OfADifferenceOfEqualDataMayBeMultiplied) {
  EXPECT_THAT(
      text_of([](const Tensor &x, Expr i) { return cast(DType::i32, cast(DType::i64, x(i) - x(i)) * 7); }),
      HasSubstr("* 7ULL"));
}

} // namespace
} // namespace nestsmith
