/// Compares simplified integer expressions with the interpreter. The expressions wrap around and have divisors
/// of any sign.

#include "tests/dsl/integer_expressions.h"

#include "dsl/expr/expr_limits.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "tests/dsl/support.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::edges_of_integers;

/// Index variables with ranges, a size, and a data variable for each type that has arithmetic.
struct Scene {
  Var i = make_var("i"), j = make_var("j"), m = make_size("m", {.min = 1, .max = 20});
  std::map<DType, Var> data;
  Bounds bounds;

  Scene() {
    for (DType type : {DType::i32, DType::i64, DType::u32, DType::u64})
      data[type] = make_data(std::string(name(type)), type);
    bounds.set_extent(i, 13);
    bounds.set_extent(j, m);
  }

  /// Returns whether the index arithmetic in `e` stays in range for all values of the variables.
  bool is_defined(const Expr &e) const {
    Var any = make_var("any");
    Bounds all;
    all.set(i, {0, 12});
    all.set(j, {0, 19});
    all.set(any, {1, 20});
    return !index_out_of_range(substitute(e, std::map<Var, Expr>{{m, Expr(any)}}), all).exists();
  }

  std::map<Var, Scalar> point(test::IntegerExpressions &random) const {
    auto number = [](std::size_t n) { return Scalar::of(DType::i64, static_cast<std::int64_t>(n)); };
    std::size_t size = 1 + random.below(20);
    std::map<Var, Scalar> values{
        {i, number(random.below(13))}, {j, number(random.below(size))}, {m, number(size)}};
    for (const auto &[type, var] : data)
      values[var] = with_number(type, [&, t = type]<class T>() -> Scalar {
        if constexpr (std::is_integral_v<T>)
          return Scalar::of(t, static_cast<T>(edges_of_integers[random.below(std::size(edges_of_integers))]));
        return {};
      });
    return values;
  }
};

TEST(IntegerExpressions, KeepTheirValuesWhenSimplified) {
  Scene scene;
  int simplified = 0, bounded = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    test::IntegerExpressions random(seed, {scene.i, scene.j, scene.m},
                                    [&](DType type) { return Expr(scene.data.at(type)); });
    Expr e = random.chance(40)   ? random.index(4)
             : random.chance(25) ? random.condition(4)
                                 : random.value(random.chance(50) ? DType::i32 : DType::i64, 4);
    if (!scene.is_defined(e))
      continue;
    Expr result = simplify(e, scene.bounds);
    auto range = is_index(e.dtype()) ? range_of(e, scene.bounds) : std::nullopt;
    simplified += !same(result, e);
    bounded += range.has_value();
    for (int n = 0; n < 10; ++n) {
      auto values = scene.point(random);
      Scalar expected = evaluate(e, values);
      ASSERT_EQ(evaluate(result, values).bits, expected.bits)
          << to_string(e) << "\nbecame " << to_string(result);
      std::int64_t number =
          expected.dtype == DType::i32 ? expected.as<std::int32_t>() : expected.as<std::int64_t>();
      ASSERT_TRUE(!range || (range->low <= number && number <= range->high))
          << number << " is not in the range of " << to_string(e);
    }
  }
  EXPECT_GT(simplified, 1000);
  EXPECT_GT(bounded, 1000);
}

/// The product may wrap around, so its quotient by one factor is not always the other factor.
TEST(IntegerExpressions, AProductOfDataIsNotDividedByItsFactor) {
  Scene scene;
  Expr m = scene.m, data = scene.data.at(DType::i64), small = cast(DType::i64, data % 7);
  EXPECT_EQ(to_string(simplify(floordiv(m * data, m), scene.bounds)), "m*i64//m");
  EXPECT_EQ(to_string(simplify(floordiv(m * scene.i, m), scene.bounds)), "i");
  EXPECT_EQ(to_string(simplify(floormod(m * small, m), scene.bounds)), "0") << "its range is known";
}

TEST(IntegerExpressions, RangesAtTheEndsOf64BitsDoNotWrapAround) {
  Scene scene;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
  auto range = range_of(min(Expr(0), Expr(scene.m) - 30) + most, scene.bounds);
  EXPECT_TRUE(!range || range->low <= range->high);
  Expr shifted = shift_right(floormod(max(Expr(scene.j), 12), 2) * least, 21);
  auto low = range_of(shifted, scene.bounds);
  EXPECT_TRUE(!low || low->low <= -(std::int64_t{1} << 42));
  // The offset of the dividend is not reduced, because i - 8 + most would overflow.
  EXPECT_EQ(to_string(simplify(floormod(Expr(scene.i) - 8, most), scene.bounds)),
            "(i - 8)%9223372036854775807");
}

TEST(IndexOutOfRange, IsTheFirstOperationThatOverflows) {
  Var i = make_var("i"), m = make_size("m", {});
  Bounds bounds;
  bounds.set(i, {0, 7});
  auto found = [&](const Expr &e) {
    Expr operation = index_out_of_range(e, bounds);
    return operation.exists() ? to_string(operation) : "";
  };
  constexpr std::int64_t large = std::int64_t{1} << 60, most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(found(Expr(i) * large), "") << "7 * 2^60 fits";
  EXPECT_EQ(found(floormod(Expr(i) * (2 * large), 7) + 1), "i*2305843009213693952");
  EXPECT_EQ(found(Expr(i) + (most - 7)), "");
  EXPECT_EQ(found(Expr(i) + (most - 6)), "i + 9223372036854775801");
  EXPECT_EQ(found(-(most - 6) - 3 - Expr(i)), "-9223372036854775804 - i");
  EXPECT_EQ(found(floordiv(Expr(i) + 3, Expr(i) - 4) * (large / 2)), "") << "at most 10, and 10 * 2^59 fits";
  EXPECT_EQ(found(floordiv(Expr(i) + 3, Expr(i) - 4) * (2 * large)), "(i + 3)//(i - 4)*2305843009213693952");
  EXPECT_EQ(found(floormod(Expr(i), Expr(i) - 4) * large), "") << "-3 to 7";
  EXPECT_EQ(found(select(Expr(i) < 3, Expr(i), Expr(i) * (2 * large))), "i*2305843009213693952");
  EXPECT_EQ(found(Expr(m) * large), "") << "m may be 1";
  EXPECT_EQ(found(cast(DType::i64, cast(DType::u64, i) * (2 * large))), "") << "data wrap around";
}

TEST(IndexOutOfRange, IsRefusedInAComputation) {
  auto read = [](const std::function<Expr(Expr)> &index) {
    Workload w("work");
    Tensor x = w.placeholder("X", {8});
    w.compute("Y", {8}, {"i"}, [&](Expr i) -> Definition { return x(floormod(index(i), 8)); });
  };
  constexpr std::int64_t large = std::int64_t{1} << 61;
  test::expect_user_error([&] { read([=](Expr i) { return i * large; }); }, ExitCode::usage,
                          "stage 'Y' computes i*2305843009213693952 from its axes, which does not fit in 64 "
                          "bits; index arithmetic does not wrap around: use smaller constants, or convert an "
                          "axis with cast(DType::u64, …), whose arithmetic does");
  read([=](Expr i) { return i * (large / 2); });
  read([=](Expr i) { return cast(DType::i64, cast(DType::u64, i) * large); });
}

} // namespace
} // namespace nestsmith
