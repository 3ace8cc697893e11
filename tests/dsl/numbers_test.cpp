/// Compares narrow types with their definition, and tests computation in them. LLVM 14's APFloat is not a
/// reference: it rounds the f32 0x8000168d to a wrong f16.

#include "dsl/expr/numbers.h"
#include "tests/dsl/support.h"

#include <cmath>
#include <random>

namespace nestsmith {
namespace {

using test::expect_user_error;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
bool is_nan(std::uint32_t bits) { return std::isnan(float_of(bits)); }

TEST(Constants, OfIntegersAreExact) {
  std::uint64_t odd = (std::uint64_t{1} << 63) + 1;
  EXPECT_EQ(static_cast<std::uint64_t>(*as_int(constant(DType::u64, odd))), odd);
  EXPECT_EQ(as_int(constant(DType::i64, (std::int64_t{1} << 53) + 1)), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(static_cast<std::uint64_t>(*as_int(constant(DType::u64, 0x1p63))), std::uint64_t{1} << 63);
  EXPECT_EQ(as_int(constant(DType::u32, -1)), 0xffffffff);
  EXPECT_EQ(as_int(constant(DType::i32, std::uint64_t{1} << 32)), 0);
  EXPECT_EQ(as_int(constant(DType::u64, 2.5)), 2);
  EXPECT_TRUE(is_true(Expr(constant(DType::u64, odd)) > constant(DType::u64, 1)));
  // The conversion to f32 rounds once. With a first rounding to double, the number would become a tie and round
  // down.
  std::uint64_t above_a_tie = (std::uint64_t{1} << 60) + (std::uint64_t{1} << 36) + 1;
  EXPECT_EQ(constant(DType::f32, above_a_tie).as<FloatImm>()->value, 0x1p60 + 0x1p37);
}

/// The numbers of a 16-bit format by definition: a sign bit, exponent bits and fraction bits.
template <class T> struct Format;
template <> struct Format<F16> { static constexpr int fraction_bits = 10, bias = 15; };
template <> struct Format<BF16> { static constexpr int fraction_bits = 7, bias = 127; };

/// Returns the value of a pattern without its sign. Each value is exact in double. For infinity, it is the
/// power of two after the largest number, because rounding compares with it.
template <class T> double magnitude(std::uint16_t bits) {
  using F = Format<T>;
  constexpr int one = 1 << F::fraction_bits;
  int exponent = bits >> F::fraction_bits, fraction = bits % one;
  if (exponent == 0)
    return std::ldexp(fraction, 1 - F::bias - F::fraction_bits);
  return std::ldexp(one + fraction, exponent - F::bias - F::fraction_bits);
}
template <class T>
constexpr std::uint16_t pattern_of_infinity = static_cast<std::uint16_t>(0x7fff << Format<T>::fraction_bits &
                                                                         0x7fff);

template <class T> std::uint32_t widened(std::uint16_t bits) {
  std::uint16_t positive = bits & 0x7fff;
  auto sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  if (positive > pattern_of_infinity<T>)
    return sign | 0x7fc00000U;
  return sign | (positive == pattern_of_infinity<T> ? 0x7f800000U
                                                    : bits_of(static_cast<float>(magnitude<T>(positive))));
}

/// Returns the pattern of the number nearest to `value`, found by bisection. In a tie, it is the pattern whose
/// last bit is 0.
template <class T> std::uint16_t narrowed(double value) {
  if (std::isnan(value))
    return 0x7fff;
  std::uint16_t sign = std::signbit(value) ? 0x8000 : 0, low = 0, high = pattern_of_infinity<T>;
  value = std::abs(value);
  if (value >= magnitude<T>(high))
    return sign | high;
  while (high - low > 1) {
    auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (magnitude<T>(middle) <= value ? low : high) = middle;
  }
  double tie = (magnitude<T>(low) + magnitude<T>(high)) / 2; // exact: it has one bit more than a number of T
  bool up = value > tie || (value == tie && low % 2 == 1);
  return sign | (up ? high : low);
}

/// Compares two numbers. All NaNs are equal, with any payload.
template <class T> testing::AssertionResult same_number(T got, std::uint16_t expected) {
  if (got.bits == expected || (is_nan(widened<T>(got.bits)) && is_nan(widened<T>(expected))))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::hex << got.bits << ", expected " << expected;
}

template <class T> void check_all_patterns() {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto narrow = static_cast<std::uint16_t>(bits);
    std::uint32_t expected = widened<T>(narrow), got = bits_of(to_float(T{narrow}));
    ASSERT_TRUE(got == expected || (is_nan(got) && is_nan(expected))) << std::hex << bits;
    ASSERT_TRUE(same_number(convert<T>(to_float(T{narrow})), narrow)) << "there and back";
    ASSERT_EQ(convert<double>(T{narrow}) != convert<double>(T{narrow}), is_nan(expected));
  }
}

template <class T> void check_rounding_of(std::uint32_t bits) {
  ASSERT_TRUE(same_number(round_to<T>(float_of(bits)), narrowed<T>(static_cast<double>(float_of(bits)))))
      << "rounding " << std::hex << bits;
}

/// Checks the numbers of T, the numbers next to them, the middles between them, and random numbers.
template <class T> void check_rounding() {
  for (std::uint32_t bits = 0; bits < 65535; ++bits) {
    float a = to_float(T{static_cast<std::uint16_t>(bits)}),
          b = to_float(T{static_cast<std::uint16_t>(bits + 1)});
    auto middle = static_cast<float>((static_cast<double>(a) + static_cast<double>(b)) / 2);
    for (float value : {a, middle})
      for (std::uint32_t step : {0xffffffffU, 0U, 1U})
        check_rounding_of<T>(bits_of(value) + step);
  }
  std::mt19937 random(1);
  for (int n = 0; n < 500000; ++n)
    check_rounding_of<T>(static_cast<std::uint32_t>(random()));
}

TEST(Numbers, EveryF16IsAsDefined) { check_all_patterns<F16>(); }
TEST(Numbers, EveryBF16IsAsDefined) { check_all_patterns<BF16>(); }
TEST(Numbers, F16RoundsToNearestEven) { check_rounding<F16>(); }
TEST(Numbers, BF16RoundsToNearestEven) { check_rounding<BF16>(); }

TEST(Numbers, DoublesAreRoundedOnce) {
  // These numbers are above a tie of f16, but too near to it for f32.
  EXPECT_EQ(convert<F16>(1 + 0x1p-11).bits, 0x3c00);
  EXPECT_EQ(convert<F16>(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(convert<F16>(-(1 + 0x1p-11 + 0x1p-40)).bits, 0xbc01);
  EXPECT_EQ(convert<F16>(65519.999999999).bits, 0x7bff);
  EXPECT_EQ(convert<F16>(1e300).bits, 0x7c00);
  EXPECT_EQ(convert<F16>(-1e-300).bits, 0x8000);
  std::mt19937_64 random(2);
  for (int n = 0; n < 200000; ++n) {
    double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 60) - 100);
    value += n % 2 ? 0 : std::ldexp(1.0, -60);
    ASSERT_TRUE(same_number(convert<F16>(value), narrowed<F16>(value))) << value;
    ASSERT_TRUE(same_number(convert<BF16>(value), narrowed<BF16>(value))) << value;
  }
}

/// TF32 keeps 11 significant bits. Ties round away from zero.
TEST(Numbers, TF32RoundsToNearestAway) {
  std::mt19937 random(3);
  for (int n = 0; n < 500000; ++n) {
    auto bits = static_cast<std::uint32_t>(random());
    bits = n % 4 ? bits : (bits & 0xffffe000U) | 0x1000U; // a tie
    float value = float_of(bits), got = to_float(round_to<TF32>(value));
    EXPECT_EQ(bits_of(got) & 0x1fff, 0U);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(got));
      continue;
    }
    int exponent = std::max(std::ilogb(value), -126);
    double unit = std::ldexp(1.0, exponent - 10),
           expected = std::round(static_cast<double>(value) / unit) * unit;
    if (std::isfinite(value) && std::abs(expected) < 0x1p128)
      ASSERT_EQ(static_cast<double>(got), expected) << std::hex << bits;
    else
      ASSERT_EQ(got, std::copysign(INFINITY, value)) << std::hex << bits;
  }
  EXPECT_EQ(to_float(round_to<TF32>(0.0F)), 0.0F);
  EXPECT_EQ(to_float(round_to<TF32>(1 + 0x1p-11F)), 1 + 0x1p-10F);
  EXPECT_EQ(to_float(round_to<TF32>(1 + 0x1p-11F - 0x1p-23F)), 1.0F);
}

TEST(Numbers, FloatsBecomeIntegersTowardsZeroAndWithinRange) {
  EXPECT_EQ(convert<std::int32_t>(-2.9F), -2);
  EXPECT_EQ(convert<std::int32_t>(3e9F), 2147483647);
  EXPECT_EQ(convert<std::uint16_t>(70000.0F), 65535);
  EXPECT_EQ(convert<std::uint32_t>(-1.0F), 0U);
  EXPECT_EQ(convert<std::uint64_t>(1e30F), ~std::uint64_t{0});
  EXPECT_EQ(convert<std::int64_t>(std::nanf("")), 0);
  EXPECT_EQ(convert<std::uint16_t>(std::int64_t{-1}), 65535);
  EXPECT_EQ(convert<std::int8_t>(128.0F), 127);
  EXPECT_EQ(convert<std::int8_t>(-1000.0F), -128);
  EXPECT_EQ(convert<std::uint8_t>(255.9F), 255);
  EXPECT_EQ(convert<std::uint8_t>(-0.5F), 0);
  EXPECT_EQ(convert<std::int8_t>(std::int32_t{128}), -128);
  EXPECT_EQ(convert<std::uint8_t>(std::int8_t{-1}), 255);
}

TEST(Numbers, ScalarsKeepTheirBits) {
  EXPECT_EQ(Scalar::from_double(DType::f16, 65504).bits, 0x7bffU);
  EXPECT_EQ(Scalar::from_double(DType::bf16, -1).bits, 0xbf80U);
  EXPECT_EQ(Scalar::from_double(DType::f16, 0.5).to_double(), 0.5);
  EXPECT_EQ(Scalar::of<std::uint64_t>(DType::u64, ~std::uint64_t{0}).to(DType::f32).as<float>(), 0x1p64F);
  EXPECT_EQ(Scalar::from_double(DType::f32, -3.7).to(DType::u16).as<std::uint16_t>(), 0);
  EXPECT_EQ(Scalar::from_double(DType::i32, -1).to(DType::u16).as<std::uint16_t>(), 65535);
  EXPECT_EQ(Scalar::from_double(DType::f32, -3e5).to(DType::i16).as<std::int16_t>(), -32768);
  EXPECT_EQ(Scalar::from_double(DType::i32, 40000).to(DType::i16).as<std::int16_t>(), 40000 - 65536);
  EXPECT_EQ(Scalar::from_double(DType::f32, 0.5).to(DType::boolean).bits, 1U);
}

TEST(DTypes, NamesReadBackAndAreListed) {
  for (const char *text :
       {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "tf32", "f32", "f64"}) {
    auto type = parse_dtype(text);
    ASSERT_TRUE(type.has_value()) << text;
    EXPECT_EQ(name(*type), text);
  }
  EXPECT_EQ(parse_dtype("f8"), std::nullopt);
  EXPECT_EQ(dtype_names(), "bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, tf32, f32, f64");
  EXPECT_EQ(byte_size(DType::i8), 1);
  EXPECT_EQ(byte_size(DType::i16), 2);
  EXPECT_EQ(byte_size(DType::bf16), 2);
  EXPECT_EQ(byte_size(DType::tf32), 4);
  EXPECT_EQ(byte_size(DType::f64), 8);
}

TEST(Casts, OfNarrowFloatsGoThroughF32) {
  Expr i = make_var("i"), h = make_var("h", DType::f16);
  EXPECT_EQ(to_string(cast(DType::f16, i)), "f16(f32(i))");
  EXPECT_EQ(to_string(cast(DType::bf16, h)), "bf16(f32(h))");
  EXPECT_EQ(to_string(cast(DType::i32, h)), "i32(f32(h))");
  EXPECT_EQ(cast(DType::f16, Expr(2049)).as<FloatImm>()->value, 2048) << "constants are rounded at once";
}

TEST(Casts, ArithmeticIsInWiderTypes) {
  Expr h = make_var("h", DType::f16), t = make_var("t", DType::tf32), u = make_var("u", DType::u16);
  expect_user_error([&] { h + h; }, ExitCode::usage,
                    "f16 is a storage type without arithmetic; convert with cast(DType::f32, …)");
  expect_user_error([&] { t < t; }, ExitCode::usage, "tf32 is a storage type without arithmetic");
  expect_user_error([&] { u *u; }, ExitCode::usage, "convert with cast(DType::u32, …)");
  Expr s = make_var("s", DType::i8), b = make_var("b", DType::u8);
  expect_user_error([&] { s + 1; }, ExitCode::usage,
                    "i8 is a storage type without arithmetic; convert with cast(DType::i32, …)");
  expect_user_error([&] { make_var("w", DType::i16) + 1; }, ExitCode::usage,
                    "i16 is a storage type without arithmetic; convert with cast(DType::i32, …)");
  expect_user_error([&] { s < s; }, ExitCode::usage, "i8 is a storage type without arithmetic");
  expect_user_error([&] { b *b; }, ExitCode::usage,
                    "u8 is a storage type without arithmetic; convert with cast(DType::u32, …)");
  expect_user_error([&] { cast(DType::i32, s) * cast(DType::u32, b); }, ExitCode::usage,
                    "the operands of an expression are i32 and u32, expected one dtype");
}

TEST(Constants, OfBytesMustFit) {
  Expr yes = make_var("c", DType::boolean), s = make_var("s", DType::i8), b = make_var("b", DType::u8);
  EXPECT_EQ(as_int(select(yes, s, -128).as<Select>()->when_false), -128);
  EXPECT_EQ(as_int(select(yes, b, 255).as<Select>()->when_false), 255);
  expect_user_error([&] { select(yes, s, 128); }, ExitCode::usage,
                    "the constant 128 does not fit the other operand, which is i8, expected -128 to 127");
  expect_user_error([&] { select(yes, b, -1); }, ExitCode::usage,
                    "the constant -1 does not fit the other operand, which is u8, expected 0 to 255");
  Expr w = make_var("w", DType::i16);
  EXPECT_EQ(as_int(select(yes, w, -32768).as<Select>()->when_false), -32768);
  expect_user_error(
      [&] { select(yes, w, 32768); }, ExitCode::usage,
      "the constant 32768 does not fit the other operand, which is i16, expected -32768 to 32767");
  EXPECT_EQ(as_int(constant(DType::i8, 200)), -56);
  EXPECT_EQ(as_int(constant(DType::i16, 40000)), 40000 - 65536);
  EXPECT_EQ(as_int(cast(DType::u8, int_imm(-1, DType::i32))), 255);
  EXPECT_EQ(as_int(cast(DType::i32, constant(DType::i8, -1))), -1);
}

TEST(Workload, ParametersAreOfNoComputeType) {
  const char *message = "'x' is a parameter of tf32, which is a compute type; declare it as f32 and round each "
                        "value read with cast(DType::tf32, …)";
  expect_user_error([] { Workload("w").placeholder("x", {4}, DType::tf32); }, ExitCode::usage, message);
  expect_user_error([] { Workload("w").inout("x", {4}, DType::tf32); }, ExitCode::usage, message);
  expect_user_error([] { Workload("w").scalar("x", DType::tf32); }, ExitCode::usage, message);
}

/// y = f32(T(x)) for each narrow type T. The interpreter rounds as `convert` does.
TEST(Interpret, RoundsToNarrowTypes) {
  for (DType type : {DType::f16, DType::bf16, DType::tf32}) {
    Workload w("w");
    Tensor x = w.placeholder("x", {5});
    Tensor t = w.compute("t", {5}, {"i"}, [&](Expr i) { return cast(type, x(i)); });
    Tensor y = w.compute("y", {5}, {"i"}, [&](Expr i) { return cast(DType::f32, t(i)); });
    Program p = w.output({y});
    std::vector<Array> arrays = {Array(DType::f32, {5}), Array(DType::f32, {5})};
    const float values[] = {0.1F, -1.00048828125F, 3e38F, 1e-6F, 257.0F};
    std::ranges::copy(values, arrays[0].view<float>().begin());
    interpret(p, arrays, {});
    for (std::size_t n = 0; n < 5; ++n)
      EXPECT_EQ(static_cast<double>(arrays[1].view<float>()[n]), rounded(type, values[n])) << name(type);
  }
}

} // namespace
} // namespace nestsmith
