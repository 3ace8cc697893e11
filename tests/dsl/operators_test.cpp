/// Tests the C++ operators on expressions and numbers: their meaning and their refusals.

#include "dsl/expr/math.h"
#include "tests/dsl/support.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace nestsmith {
namespace {

using test::expect_user_error;

Expr var(const char *name, DType dtype) { return make_var(name, dtype); }

/// Returns the value of an expression of x and y.
class Values {
public:
  explicit Values(DType dtype) : x(var("x", dtype)), y(var("y", dtype)), dtype_(dtype) {}
  template <class T> Scalar of(const Expr &e, T a, T b) const {
    return evaluate(e, {{*x.as<Var>(), Scalar::of(dtype_, a)}, {*y.as<Var>(), Scalar::of(dtype_, b)}});
  }
  const Expr x, y;

private:
  DType dtype_;
};

const float floats[] = {0.0F,
                        -0.0F,
                        1.0F,
                        -1.0F,
                        0.3F,
                        -2.75F,
                        1e-45F,
                        3e38F,
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()};

TEST(Operators, OnFloatsMeanWhatTheyMeanInCpp) {
  Values v(DType::f32);
  auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (float a : floats)
    for (float b : floats) {
      auto truth = [&](const Expr &e) { return v.of(e, a, b).bits != 0; };
      auto number = [&](const Expr &e) { return bits(v.of(e, a, b).as<float>()); };
      EXPECT_EQ(truth(v.x > v.y), a > b) << a << " " << b;
      EXPECT_EQ(truth(v.x >= v.y), a >= b) << a << " " << b;
      EXPECT_EQ(truth(v.x == v.y), a == b) << a << " " << b;
      EXPECT_EQ(truth(v.x != v.y), a != b) << a << " " << b;
      EXPECT_EQ(truth(!(v.x < v.y)), !(a < b)) << a << " " << b;
      EXPECT_EQ(truth(v.x > 0.3 && 1 >= v.y), a > 0.3F && 1 >= b) << a << " " << b;
      if (std::isnan(a) || std::isnan(b))
        continue;
      EXPECT_EQ(number(-v.x), bits(-a)) << a;
      EXPECT_EQ(number(-(-v.x)), bits(a)) << a;
      EXPECT_EQ(number(+v.x), bits(a)) << a;
      EXPECT_EQ(number(v.x * 0.5), bits(a * 0.5F)) << a;
      EXPECT_EQ(number(0.1 * v.x), bits(0.1F * a)) << "the nearest f32, once: " << a;
      EXPECT_EQ(number(v.x / 2), bits(a / 2)) << a;
      EXPECT_EQ(number(v.x / 3.0), bits(a / 3.0F)) << a;
      EXPECT_EQ(number(v.x - 1), bits(a - 1)) << a;
      EXPECT_EQ(number(min(v.x, 0.5)), bits(a < 0.5F ? a : 0.5F)) << a;
      EXPECT_EQ(number(max(1, v.x)), bits(1 < a ? a : 1.0F)) << a;
      Expr sum = v.x;
      sum += v.y;
      sum *= 2;
      sum -= 0.25F;
      sum /= 4;
      volatile float expected = a + b;
      expected = expected * 2;
      expected = expected - 0.25F;
      if (!std::isnan(expected / 4)) {
        EXPECT_EQ(number(sum), bits(expected / 4)) << a << " " << b;
      }
    }
}

TEST(Operators, OnIntegersRoundDown) {
  Values v(DType::i64);
  const std::int64_t numbers[] = {-9, -4, -1, 0, 1, 3, 4, 17};
  for (std::int64_t a : numbers)
    for (std::int64_t b : {1, 2, 3, 8}) {
      auto number = [&](const Expr &e) { return v.of(e, a, b).as<std::int64_t>(); };
      EXPECT_EQ(number(v.x / v.y), floor_div(a, b));
      EXPECT_EQ(number(v.x % v.y), floor_mod(a, b));
      EXPECT_EQ(number(v.x % 3), floor_mod(a, 3));
      EXPECT_EQ(number(v.x / v.y * v.y + v.x % v.y), a);
      EXPECT_EQ(number(-v.x), -a);
      EXPECT_EQ(v.of(v.x >= 3, a, b).bits != 0, a >= 3);
      EXPECT_EQ(v.of(3 > v.x, a, b).bits != 0, 3 > a);
      if (a >= 0) {
        EXPECT_EQ(number(v.x / v.y), a / b) << "as in C++";
        EXPECT_EQ(number(v.x % v.y), a % b) << "as in C++";
      }
    }
  EXPECT_EQ(as_int(Expr(7) / 2), 3) << "constants too";
  EXPECT_EQ(as_int(Expr(-7) / 2), -4);
  EXPECT_EQ(as_int(Expr(-7) % 4), 1);
  EXPECT_EQ(as_int(-Expr(7)), -7);
}

TEST(Operators, WrapInTheRing) {
  Values v(DType::u32);
  for (std::uint32_t a : {0U, 1U, 7U, 0x80000000U, 0xffffffffU}) {
    auto number = [&](const Expr &e) { return v.of(e, a, a).as<std::uint32_t>(); };
    EXPECT_EQ(number(-v.x), 0U - a);
    EXPECT_EQ(number(v.x * -3), a * 0xfffffffdU);
    EXPECT_EQ(number(v.x / 3), a / 3);
    EXPECT_EQ(number(v.x % 10), a % 10);
  }
}

TEST(Operators, ReadAsTheyAreWritten) {
  Expr x = var("x", DType::f32), y = var("y", DType::f32), i = var("i", DType::i64);
  EXPECT_EQ(to_string(-x), "-x");
  EXPECT_EQ(to_string(-(-x)), "-(-x)");
  EXPECT_EQ(to_string(-(x + y) * 0.5), "-(x + y)*0.5");
  EXPECT_EQ(to_string(x - -y), "x - -y");
  EXPECT_EQ(to_string(-0.0 - x), "-x") << "it is the same";
  EXPECT_EQ(to_string(0.0 - x), "0.0 - x");
  EXPECT_EQ(to_string(x > 0.5), "0.5 < x");
  EXPECT_EQ(to_string(x >= y), "y <= x");
  EXPECT_EQ(to_string(!(x == y) || x != 1), "not (x == y) or x != 1.0");
  EXPECT_EQ(to_string(i / 2 + i % 2), "i//2 + i%2");
  EXPECT_FALSE(same(-x, 0.0 - x)) << "-0.0 is another number";
}

TEST(Constants, TakeTheDtypeOfTheOtherOperand) {
  for (DType dtype : {DType::f32, DType::i32, DType::i64, DType::u32, DType::u64}) {
    Expr x = var("x", dtype);
    EXPECT_EQ((x * 3).dtype(), dtype);
    EXPECT_EQ((3U + x).dtype(), dtype);
    EXPECT_EQ(select(x > 2, x, 0).dtype(), dtype);
    EXPECT_EQ(min(std::size_t{4}, x).dtype(), dtype);
  }
  Expr x = var("x", DType::f32), h = var("h", DType::f16), condition = var("b", DType::boolean);
  for (const Expr &e : {x * 0.5, 0.5F * x, x + 1.0L, max(x, -1.5), select(condition, 0.25, x)})
    EXPECT_EQ(e.dtype(), DType::f32);
  EXPECT_EQ(select(condition, h, 0.5).dtype(), DType::f16) << "0.5 is an f16";
  EXPECT_EQ((x * 16777216).dtype(), DType::f32);
  EXPECT_EQ(select(true, x, 0).get(), x.get());
  EXPECT_EQ(to_string((x < 1) && true), "x < 1.0");
  EXPECT_EQ(to_string(false || (x < 1)), "x < 1.0");
  EXPECT_EQ(as_int(var("u", DType::u64) - var("u", DType::u64) + std::numeric_limits<std::int64_t>::max()),
            std::nullopt);
  Expr sum = var("u", DType::u64) + std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(as_int(sum.as<Binary>()->b), std::numeric_limits<std::int64_t>::max())
      << "no bit is lost on the way";
}

TEST(Constants, AreRefusedWhereTheyHaveNoSuchValue) {
  Expr x = var("x", DType::f32), i = var("i", DType::i32), u = var("u", DType::u32), h = var("h", DType::f16);
  auto refused = [](const std::function<void()> &f, const std::string &message) {
    expect_user_error(f, ExitCode::usage, message);
  };
  refused([&] { x * 1e39; }, "the constant 1e+39 is out of the range of f32, which is 1e-45 to 3.4028235e+38");
  refused([&] { x + 1e-50; }, "the constant 1e-50 is out of the range of f32");
  refused([&] { x * 16777217; }, "the constant 16777217 is not exact in f32, the dtype of the other operand; "
                                 "write an exact value, such as 16777216.0");
  refused([&] { i + 3000000000; },
          "the constant 3000000000 does not fit the other operand, which is i32, expected "
          "-2147483648 to 2147483647; convert that with cast(DType::i64, …)");
  refused([&] { (void)(u < 5000000000); },
          "the constant 5000000000 does not fit the other operand, which is u32, expected "
          "-2147483648 to 4294967295");
  refused([&] { i * 0.5; },
          "in i * 0.5, the operands of an expression are i32 and f32, expected one dtype; convert one of them "
          "with cast(dtype, …)");
  refused([&] { select(x > 0, h, 0.1); }, "the operands of an expression are f16 and f32, expected one dtype");
  refused([&] { h * 0.5; },
          "in h * 0.5, f16 is a storage type without arithmetic; convert with cast(DType::f32, …)");
  refused([&] { Expr(std::numeric_limits<std::uint64_t>::max()); },
          "the constant 18446744073709551615 does not fit an i64, expected at most 2^63 - 1");
  EXPECT_EQ(to_string(x * std::numeric_limits<double>::infinity()), "x*inf") << "infinity is an f32";
}

TEST(Conditions, AreNoNumbers) {
  Expr x = var("x", DType::f32), y = var("y", DType::f32), inside = x < y, i = var("i", DType::i64);
  auto refused = [](const std::function<void()> &f, const std::string &message) {
    expect_user_error(f, ExitCode::usage, message);
  };
  std::string advice =
      "; use select(condition, a, b) to choose between numbers, and &&, || and ! to combine conditions";
  refused([&] { inside *inside; }, "* takes numbers, got bool and bool" + advice);
  refused([&] { inside *x; }, "* takes numbers, got bool and f32" + advice);
  refused([&] { 2 * inside; }, "* takes numbers, got i64 and bool" + advice);
  refused([&] { inside + inside; }, "+ takes numbers, got bool and bool" + advice);
  refused([&] { inside - 1; }, "- takes numbers, got bool and i64" + advice);
  refused([&] { -inside; }, "- takes numbers, got bool and bool" + advice);
  refused([&] { inside / 2.0; }, "/ takes numbers, got bool and f32" + advice);
  refused([&] { inside % 2; }, "floormod takes numbers, got bool and i64" + advice);
  refused([&] { min(inside, inside); }, "min takes numbers, got bool and bool" + advice);
  refused([&] { max(x, inside); }, "max takes numbers, got f32 and bool" + advice);
  refused([&] { (void)(inside < inside); }, "< takes numbers, got bool and bool" + advice);
  refused([&] { bit_xor(inside, inside); }, "bit_xor takes numbers, got bool and bool" + advice);
  EXPECT_EQ(to_string(inside == (y < x)), "x < y == (y < x)") << "conditions can be compared";

  refused([&] { x &&inside; }, "&& takes conditions, got f32; compare it: x != 0");
  refused([&] { inside || i; }, "|| takes conditions, got i64; compare it: x != 0");
  refused([&] { !x; }, "! takes conditions, got f32; compare it: x != 0");
  refused([&] { select(x, x, y); }, "select takes conditions, got f32; compare it: x != 0");
  refused([&] { branch(i, x, y); }, "branch takes conditions, got i64; compare it: x != 0");
  refused([&] { x % 2; }, "% works on integers, got f32; floormod(a, b) is a - b*floor(a/b)");
}

/// The value of x < y is known only in the kernel, so `if (x < y)` does not compile.
TEST(Conditions, HaveNoValueInCpp) {
  static_assert(!std::is_convertible_v<Expr, bool>);
  EXPECT_FALSE(Expr().exists());
  EXPECT_TRUE((Expr(1) < Expr(2)).exists());
}

} // namespace
} // namespace nestsmith
