/// Compares simplified expressions with the interpreter at every point.

#include "dsl/expr/simplify.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace nestsmith {
namespace {

constexpr std::int64_t constants[] = {-7, -3, -1, 0, 1, 2, 3, 4, 5, 6, 8, 12};

/// Three variables of small ranges, and random expressions over them.
class World {
public:
  explicit World(unsigned seed) : random_(seed) {
    for (std::size_t n = 0; n < vars.size(); ++n) {
      vars[n] = make_var(std::string(1, static_cast<char>('x' + n)));
      std::int64_t low = pick(4) == 0 ? -3 : 0;
      ranges[n] = {low, low + pick(6)};
      bounds.set(vars[n], ranges[n]);
    }
  }

  std::int64_t pick(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  Expr any_var() { return vars[static_cast<std::size_t>(pick(3))]; }
  Expr any_constant() { return Expr(constants[pick(std::size(constants))]); }

  Expr index(int depth) {
    if (depth == 0)
      return pick(3) ? any_var() : any_constant();
    Expr a = index(depth - 1);
    switch (pick(9)) {
    case 0:
    case 1:
      return a + index(depth - 1);
    case 2:
      return a - index(depth - 1);
    case 3:
      return a * any_constant();
    case 4:
    case 5:
      return floordiv(a, Expr(1 + pick(8)));
    case 6:
    case 7:
      return floormod(a, Expr(1 + pick(8)));
    default:
      return pick(3) == 0 ? select(condition(depth - 1), a, index(depth - 1))
             : pick(2)    ? min(a, index(depth - 1))
                          : max(a, index(depth - 1));
    }
  }
  /// Returns an expression of sums, products with a constant, floor divisions and remainders only.
  Expr binding(int depth) {
    if (depth == 0)
      return any_var();
    Expr a = binding(depth - 1);
    switch (pick(4)) {
    case 0:
      return a + binding(depth - 1);
    case 1:
      return a * Expr(1 + pick(8));
    case 2:
      return floordiv(a, Expr(1 + pick(8)));
    default:
      return floormod(a, Expr(1 + pick(8)));
    }
  }
  Expr condition(int depth) {
    Expr a = index(depth), b = index(depth);
    switch (pick(6)) {
    case 0:
      return a < b;
    case 1:
      return a <= b;
    case 2:
      return equal(a, b);
    case 3:
      return not_equal(a, b);
    case 4:
      return depth > 0 ? condition(depth - 1) && condition(depth - 1) : a < b;
    default:
      return depth > 0 ? logical_not(condition(depth - 1)) || condition(depth - 1) : a < b;
    }
  }

  template <class F> void at_every_point(const F &f) const {
    std::map<Var, Scalar> point;
    for (std::int64_t x = ranges[0].low; x <= ranges[0].high; ++x)
      for (std::int64_t y = ranges[1].low; y <= ranges[1].high; ++y)
        for (std::int64_t z = ranges[2].low; z <= ranges[2].high; ++z) {
          point = {{vars[0], Scalar::of(DType::i64, x)},
                   {vars[1], Scalar::of(DType::i64, y)},
                   {vars[2], Scalar::of(DType::i64, z)}};
          f(point);
        }
  }

  std::array<Var, 3> vars;
  std::array<Range, 3> ranges{};
  Bounds bounds;

private:
  std::mt19937 random_;
};

TEST(Simplify, GivesTheSameValueAtEveryPoint) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    World world(seed);
    Expr e = seed % 4 == 0 ? world.condition(2) : world.index(3);
    Expr simple = simplify(e, world.bounds);
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    Range range = Range{least, std::numeric_limits<std::int64_t>::max()};
    if (is_index(e.dtype()))
      range = range_of(e, world.bounds).value_or(range);
    Range rough = rough_range(e, world.bounds).value_or(range);
    bool equal = true, inside = true;
    EXPECT_EQ(proves(e, world.bounds), is_true(simple)) << to_string(e);
    world.at_every_point([&](const std::map<Var, Scalar> &point) {
      Scalar value = evaluate(e, point);
      equal = equal && value == evaluate(simple, point);
      if (is_index(e.dtype()))
        inside = inside && value.as<std::int64_t>() >= std::max(range.low, rough.low) &&
                 value.as<std::int64_t>() <= std::min(range.high, rough.high);
    });
    ASSERT_TRUE(equal) << "seed " << seed << ": " << to_string(e) << " became " << to_string(simple);
    ASSERT_TRUE(inside) << "seed " << seed << ": " << to_string(e) << " leaves " << range.low << " to "
                        << range.high;
  }
}

/// Splits and fusions make such expressions as bindings. The simplification of a canonical form does not change
/// it.
TEST(Simplify, ChangesNothingTheSecondTime) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    World world(seed);
    Expr simple = simplify(world.binding(4), world.bounds);
    ASSERT_EQ(to_string(simplify(simple, world.bounds)), to_string(simple)) << "seed " << seed;
  }
}

TEST(Simplify, ProvesOnlyWhatHolds) {
  int proven = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    World world(seed);
    Expr e = world.condition(1);
    if (!proves(e, world.bounds))
      continue;
    ++proven;
    bool holds = true;
    world.at_every_point([&](const std::map<Var, Scalar> &point) { holds = holds && evaluate(e, point).bits; });
    ASSERT_TRUE(holds) << "seed " << seed << ": " << to_string(e);
  }
  EXPECT_GT(proven, 500);
}

/// x is below 8, y is below 4, and u has any value.
class Canonical : public testing::Test {
protected:
  Canonical() {
    bounds.set(x, {0, 7});
    bounds.set(y, {0, 3});
  }
  std::string form(const Expr &e) { return to_string(simplify(e, bounds)); }
  Var x = make_var("x"), y = make_var("y"), u = make_var("u");
  Bounds bounds;
};

TEST_F(Canonical, SumsAreCollected) {
  EXPECT_EQ(form(Expr(x) + y + x), "x*2 + y");
  EXPECT_EQ(form(Expr(y) + Expr(x) * 4), form(Expr(x) * 4 + y));
  EXPECT_EQ(form((Expr(x) + 3) * 2 - Expr(x) * 2), "6");
  EXPECT_EQ(form(Expr(x) - 5), "x - 5");
  EXPECT_EQ(form(Expr(x) - Expr(u) * 2), "x - u*2");
}

TEST_F(Canonical, DivisionOfAMixedRadixNumberGivesItsDigits) {
  Expr number = Expr(x) * 4 + y;
  EXPECT_EQ(form(floordiv(number, 4)), "x");
  EXPECT_EQ(form(floormod(number, 4)), "y");
  EXPECT_EQ(form(floordiv(number, 8)), "x//2");
  EXPECT_EQ(form(floormod(number, 8)), "x%2*4 + y");
  EXPECT_EQ(form(floordiv(number, 32)), "0");
  EXPECT_EQ(form(floormod(number, 32)), "x*4 + y");
}

TEST_F(Canonical, DigitsJoin) {
  EXPECT_EQ(form(floordiv(u, 4) * 4 + floormod(u, 4)), "u");
  EXPECT_EQ(form(floordiv(u, 12) * 3 + floormod(floordiv(u, 4), 3)), "u//4");
  EXPECT_EQ(form(floormod(floordiv(u, 2), 3) * 2 + floormod(u, 2)), "u%6");
  EXPECT_EQ(form(floordiv(floordiv(u, 4), 3)), "u//12");
  EXPECT_EQ(form(floormod(floormod(u, 12), 4)), "u%4");
  EXPECT_EQ(form(floordiv(floormod(u, 12), 4)), "u//4%3");
}

TEST_F(Canonical, NegativeNumbersRoundDown) {
  EXPECT_EQ(form(floordiv(Expr(-1), 4)), "-1");
  EXPECT_EQ(form(floormod(Expr(-1), 4)), "3");
  EXPECT_EQ(form(floordiv(Expr(y) - 4, 4)), "-1");
  EXPECT_EQ(form(floormod(Expr(y) - 4, 4)), "y");
}

TEST_F(Canonical, ComparisonsAreDecidedByRanges) {
  EXPECT_EQ(form(Expr(x) < 8), "true");
  EXPECT_EQ(form(Expr(x) < 7), "x < 7");
  EXPECT_EQ(form(Expr(x) + 8 <= y), "false");
  EXPECT_EQ(form(Expr(u) < Expr(u) + 1), "true");
  EXPECT_EQ(form(equal(Expr(x), Expr(x) + 1)), "false");
  EXPECT_EQ(form(not_equal(Expr(x) * 2, Expr(x) + x)), "false");
  EXPECT_EQ(form(min(Expr(x), 7)), "x");
  EXPECT_EQ(form(max(Expr(y), 3)), "3");
}

/// Some rules are valid for unbounded integers, but not for data at the ends of its range.
TEST_F(Canonical, DataWrap) {
  for (DType type : {DType::i32, DType::i64}) {
    Buffer b = std::make_shared<const BufferNode>(
        BufferNode{"b", type, {Expr(100)}, Scope::global, Role::input, nullptr, nullptr});
    Expr d = load(b, {x}), e = load(b, {y}), scalar = make_data("s", type);
    EXPECT_EQ(form(d + 2147483647 < d), "b[x] + 2147483647 < b[x]");
    EXPECT_EQ(form(d < d + 1), "b[x] < b[x] + 1");
    EXPECT_EQ(form(scalar < scalar + 1), "s < s + 1");
    EXPECT_EQ(form(d - e <= d - e - 1), "b[x] - b[y] <= b[x] - b[y] - 1");
    EXPECT_EQ(form(min(d, d + 1)), "min(b[x], b[x] + 1)");
    EXPECT_EQ(form((d * 4 + 1) / 4), "(b[x]*4 + 1)//4");
    EXPECT_EQ(form((d * 4 + 5) % 4), "(b[x]*4 + 5)%4");
    Expr large = type == DType::i32 ? constant(type, std::numeric_limits<std::int32_t>::max())
                                    : constant(type, std::numeric_limits<std::int64_t>::max());
    EXPECT_FALSE(range_of(d % 7 * large + d % 3, bounds));
    // With wrap-around, terms still cancel in sums and equalities, and a value still equals itself.
    EXPECT_EQ(form(d + e * 2 - d), "b[y]*2");
    EXPECT_EQ(form(equal(d + 1, d)), "false");
    EXPECT_EQ(form(d + 1 < Expr(1) + d), "false");
    // A value that provably stays in its range is simplified as an unbounded integer.
    EXPECT_EQ(form(d % 7 + 3 < 10), "true");
    EXPECT_EQ(form((d % 7 + 7) / 7), "1");
    EXPECT_EQ(form(d / 3 / 4), "b[x]//12");
  }
  Expr d = cast(DType::i32, Expr(x)); // the conversion wraps around
  EXPECT_EQ(form(d + 2147483647 < d), "i32(x) + 2147483647 < i32(x)");
  Buffer b = std::make_shared<const BufferNode>(
      BufferNode{"b", DType::i32, {Expr(100)}, Scope::global, Role::input, nullptr, nullptr});
  EXPECT_EQ(form(load(b, {x}) / 65536 / 65536), "b[x]//65536//65536");
}

/// Constants of data are equal modulo the range of their type, but they are ordered by value.
TEST_F(Canonical, ConstantsOfDataWrap) {
  Expr s = make_data("s", DType::i32), t = make_data("t", DType::i64);
  Expr most = constant(DType::i32, std::numeric_limits<std::int32_t>::max());
  Expr again = s + most + most + constant(DType::i32, 2);
  EXPECT_EQ(form(again), "s");
  EXPECT_EQ(form(s + most + most), "s - 2");
  EXPECT_EQ(form(equal(again, s)), "true");
  EXPECT_EQ(form(not_equal(again, s)), "false");
  EXPECT_EQ(form((again - s) % 3), "0");
  Expr least = int_imm(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(form(t % 16 <= least), "t%16 <= -9223372036854775808");
  EXPECT_EQ(form(t - t + least <= 1), "true");
  EXPECT_EQ(form(min(t % 16, least)), "min(t%16, -9223372036854775808)");
}

TEST_F(Canonical, UnknownVariablesHaveNoRange) {
  EXPECT_FALSE(range_of(u, bounds));
  EXPECT_FALSE(proves(Expr(u) < 100, bounds));
  auto digit = range_of(floormod(u, 5), bounds);
  ASSERT_TRUE(digit);
  EXPECT_EQ(digit->low, 0);
  EXPECT_EQ(digit->high, 4);
}

/// As an i32, 2^31 becomes -2^31.
TEST_F(Canonical, CastsThatWrapAreUnknown) {
  bounds.set(u, {0, std::int64_t{1} << 31});
  EXPECT_FALSE(range_of(cast(DType::i32, u), bounds));
  EXPECT_FALSE(proves(int_imm(0, DType::i32) <= cast(DType::i32, u), bounds));
  EXPECT_TRUE(proves(int_imm(0, DType::i32) <= cast(DType::i32, x), bounds));
}

TEST_F(Canonical, CastsToNarrowIntegersThatWrapAreUnknown) {
  bounds.set(u, {0, 255});
  EXPECT_EQ(range_of(cast(DType::u8, u), bounds)->high, 255);
  EXPECT_FALSE(range_of(cast(DType::i8, u), bounds));
  bounds.set(u, {0, 256});
  EXPECT_FALSE(range_of(cast(DType::u8, u), bounds));
  EXPECT_EQ(range_of(cast(DType::u16, u), bounds)->high, 256);
  bounds.set(u, {-1, 5});
  for (DType type : {DType::boolean, DType::u32, DType::u64})
    EXPECT_FALSE(range_of(cast(type, u), bounds)) << name(type);
}

TEST_F(Canonical, RangesThatOverflowAreUnknown) {
  EXPECT_FALSE(range_of(Expr(x) * (std::numeric_limits<std::int64_t>::max() / 2), bounds));
}

TEST(ShiftedVar, IsAVariablePlusAConstantAndNothingElse) {
  Var x = make_var("x"), y = make_var("y");
  for (const auto &[e, shift] :
       {std::pair(Expr(x), 0), std::pair(Expr(x) - 7, -7), std::pair(2 + Expr(x) + 3, 5)}) {
    auto found = as_shifted_var(e);
    ASSERT_TRUE(found) << to_string(e);
    EXPECT_EQ(found->var, x);
    EXPECT_EQ(found->shift, shift);
  }
  for (const Expr &e :
       {Expr(3), Expr(x) * 2, Expr(x) + Expr(y), floordiv(x, 2), floormod(x, 2) + 1, 1 - Expr(x)})
    EXPECT_FALSE(as_shifted_var(e)) << to_string(e);
}

TEST(Digit, IsAVariableWithoutAQuotientAndARemainder) {
  Var x = make_var("x");
  EXPECT_EQ(*Digit{x}.as_var(), x);
  EXPECT_FALSE((Digit{x, 2, 0}.as_var()));
  EXPECT_FALSE((Digit{x, 1, 3}.as_var()));
  EXPECT_TRUE(Digit{Expr(x) * Expr(x)}.is_base());
  EXPECT_FALSE(Digit{Expr(x) * Expr(x)}.as_var());
}

TEST(Evaluate, KeepsLargeIntegersExact) {
  std::int64_t odd = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(evaluate(Expr(odd), {}).as<std::int64_t>(), odd);
  Var x = make_var("x");
  EXPECT_EQ(evaluate(Expr(x) + Expr(odd), {{x, Scalar::of(DType::i64, std::int64_t{1})}}).as<std::int64_t>(),
            odd + 1);
}

} // namespace
} // namespace nestsmith
