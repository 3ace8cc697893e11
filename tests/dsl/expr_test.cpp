/// Tests bitwise operators on integers, functions that are not ring operations, and branches.

#include "dsl/expr/math.h"
#include "dsl/expr/simplify.h"
#include "dsl/expr/spelling.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_user_error;

Expr u32(std::uint32_t value) { return int_imm(value, DType::u32); }
std::uint32_t word(const Expr &e) { return static_cast<std::uint32_t>(as_int(e).value()); }

TEST(Bits, FoldAndWrapWithTheTypeTheyHave) {
  EXPECT_EQ(as_int(bit_xor(Expr(12), Expr(10))), 6);
  EXPECT_EQ(as_int(bit_xor(Expr(-1), Expr(5))), -6);
  EXPECT_EQ(word(bit_xor(u32(0xffffffff), u32(0x0000ffff))), 0xffff0000U);
  EXPECT_EQ(word(shift_right(u32(0x80000000), 31)), 1U);
  EXPECT_EQ(as_int(shift_right(Expr(-5), 1)), -3) << "rounds down, as floordiv does";
  EXPECT_EQ(as_int(shift_right(Expr(-5), 63)), -1);
  Expr i = make_var("i");
  EXPECT_TRUE(same(bit_xor(i, 0), i));
  EXPECT_TRUE(same(shift_right(i, 0), i));
}

TEST(Bits, HaveRangesAndText) {
  Var i = make_var("i"), j = make_var("j");
  Bounds bounds;
  bounds.set(i, {0, 9});
  bounds.set(j, {3, 16});
  EXPECT_EQ(range_of(bit_xor(i, j), bounds)->high, 31);
  EXPECT_EQ(range_of(bit_xor(i, j), bounds)->low, 0);
  EXPECT_EQ(range_of(shift_right(j, 2), bounds)->high, 4);
  EXPECT_EQ(to_string(bit_xor(i, shift_right(j, 2)) + i), "(i ^ j >> 2) + i");
  EXPECT_EQ(to_string(shift_right(bit_xor(i, j) * Expr(3), 2)), "(i ^ j)*3 >> 2");
  EXPECT_EQ(to_string(bit_xor(i, j) < Expr(j)), "i ^ j < j");
}

TEST(Bits, AreOfIntegersAndConstantAmountsAreInRange) {
  Expr i = make_var("i");
  expect_user_error([&] { bit_xor(Expr(1.0F), Expr(2.0F)); }, ExitCode::usage,
                    "bit_xor works on the bits of integers, got f32; convert with cast(dtype, …)");
  expect_user_error([&] { shift_right(i, 64); }, ExitCode::usage,
                    "i64 shifts by a constant from 0 to 63, got 64");
  expect_user_error([&] { shift_right(i, -1); }, ExitCode::usage,
                    "i64 shifts by a constant from 0 to 63, got -1");
  Expr u = make_var("u", DType::u32), x = make_var("x", DType::f32), c = i < 3, h = make_var("h", DType::u8);
  auto refused = [](const std::function<void()> &f, const std::string &message) {
    expect_user_error(f, ExitCode::usage, message);
  };
  refused([&] { u << 32; }, "in shift_left(u, 32), u32 shifts by a constant from 0 to 31, got 32");
  refused([&] { u >> -1; }, "in shift_right(u, -1), u32 shifts by a constant from 0 to 31, got -1");
  refused([&] { x & 1; }, "in bit_and(x, 1), bit_and works on the bits of integers, got f32");
  refused([&] { u | x; }, "in bit_or(u, x), bit_or works on the bits of integers, got f32");
  refused([&] { i << 2.0; }, "shift_left works on the bits of integers, got f32");
  refused([&] { ~x; }, "bit_xor works on the bits of integers, got f32");
  refused([&] { c &c; },
          "bit_and takes numbers, got bool and bool; use select(condition, a, b) to choose between "
          "numbers, and &&, || and ! to combine conditions");
  refused([&] { c | true; }, "and &&, || and ! to combine conditions");
  refused([&] { ~c; }, "and &&, || and ! to combine conditions");
  refused([&] { i << c; }, "shift_left takes numbers, got i64 and bool");
  refused([&] { h & 3; }, "u8 is a storage type without arithmetic; convert with cast(DType::u32, …)");
  refused([&] { u &i; }, "the operands of an expression are u32 and i64, expected one dtype");
}

template <class T> T of_word(const Expr &e) { return static_cast<T>(as_int(e).value()); }

/// The meaning by dsl/expr/ops.h, for constants.
template <class T> void check_meaning(DType dtype) {
  constexpr int width = 8 * sizeof(T);
  using Limits = std::numeric_limits<T>;
  using U = std::make_unsigned_t<T>;
  const T values[] = {
      0, 1, static_cast<T>(-1), 5, static_cast<T>(-5), Limits::min(), Limits::max(), T{1} << (width - 2)};
  for (T a : values)
    for (T b : {T{0}, T{1}, T{7}, T{width - 1}, T{width}, static_cast<T>(-1), Limits::max(), Limits::min()}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name(dtype), a, b));
      auto op = [&](BinaryOp o) {
        return of_word<T>(binary(o, int_imm(static_cast<std::int64_t>(a), dtype),
                                 int_imm(static_cast<std::int64_t>(b), dtype)));
      };
      bool out = static_cast<U>(b) >= width;
      int by = out ? 0 : static_cast<int>(b);
      EXPECT_EQ(op(BinaryOp::bit_and), static_cast<T>(a & b));
      EXPECT_EQ(op(BinaryOp::bit_or), static_cast<T>(a | b));
      EXPECT_EQ(op(BinaryOp::bit_xor), static_cast<T>(a ^ b));
      EXPECT_EQ(op(BinaryOp::shift_left), out ? T{0} : static_cast<T>(static_cast<U>(a) << by));
      EXPECT_EQ(op(BinaryOp::shift_right),
                out ? (std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0}) : static_cast<T>(a >> by));
      EXPECT_EQ(of_word<T>(~int_imm(static_cast<std::int64_t>(a), dtype)), static_cast<T>(~a));
    }
}

TEST(Bits, HaveAResultForAllOperands) {
  check_meaning<std::int32_t>(DType::i32);
  check_meaning<std::int64_t>(DType::i64);
  check_meaning<std::uint32_t>(DType::u32);
  check_meaning<std::uint64_t>(DType::u64);
}

TEST(Bits, AreOperatorsOfExpressions) {
  Var i = make_var("i"), j = make_var("j"), u = make_data("u", DType::u32), v = make_data("v", DType::i32);
  Expr x = u;
  EXPECT_EQ(to_string((x & 15) | (x >> 4 ^ x << 2)), "u & 15 | u >> 4 ^ u << 2");
  EXPECT_EQ(to_string((x & (x | 1)) == 0), "u & (u | 1) == 0");
  EXPECT_EQ(to_string(~x + ~(x * 2)), "~u + ~(u*2)");
  EXPECT_EQ(to_string(-~Expr(i)), "0 - ~i");
  EXPECT_EQ(to_string(x >> i), "u >> u32(i)") << "the amount takes the type of the number";
  EXPECT_EQ(to_string(1 << Expr(u)), "1 << u");
  EXPECT_EQ((1 << Expr(u)).dtype(), DType::u32);
  EXPECT_EQ((Expr(v) << Expr(i)).dtype(), DType::i32);
  EXPECT_EQ((Expr(i) << x).dtype(), DType::i64);
  Expr y = x;
  y ^= y >> 16;
  y &= 0xff;
  y |= 1;
  y <<= 3;
  y >>= 1;
  EXPECT_EQ(to_string(y), "((u ^ u >> 16) & 255 | 1) << 3 >> 1");
  EXPECT_TRUE(same(x & 0, int_imm(0, DType::u32)));
  EXPECT_TRUE(same(x & 0xffffffff, x));
  EXPECT_TRUE(same(x | 0, x));
  EXPECT_TRUE(same(x | -1, u32(0xffffffff)));
  EXPECT_TRUE(same(x << 0, x));
  EXPECT_TRUE(same(binary(BinaryOp::shift_left, x, u32(32)), u32(0))) << "by a substitution";
  EXPECT_TRUE(same(binary(BinaryOp::shift_right, v, int_imm(-1, DType::i32)), Expr(v) >> 31));
  EXPECT_NE(order(x & y, x | y), std::strong_ordering::equal);
  EXPECT_FALSE(same(x << 1, x >> 1));
}

/// Index arithmetic on bits has the canonical form of sums, quotients and remainders.
TEST(Bits, OfIndicesAreSimplified) {
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  Bounds bounds;
  bounds.set(i, {0, 99});
  bounds.set(j, {0, 7});
  bounds.set(k, {-20, 20});
  auto simple = [&](const Expr &e) { return to_string(simplify(e, bounds)); };
  EXPECT_EQ(simple(Expr(i) << 3), "i*8");
  EXPECT_EQ(simple(Expr(i) >> 3), "i//8");
  EXPECT_EQ(simple(Expr(k) >> 3), "k//8") << "both round down";
  EXPECT_EQ(simple(Expr(i) & 7), "i%8");
  EXPECT_EQ(simple(7 & Expr(k)), "k%8") << "both are not negative";
  EXPECT_EQ(simple(Expr(j) & 7), "j");
  EXPECT_EQ(simple((Expr(i) & 0x38) + (Expr(i) & 7)), "i%64");
  EXPECT_EQ(simple((Expr(i) & -8) + (Expr(i) & 7)), "i");
  EXPECT_EQ(simple(~Expr(i)), "i*-1 - 1");
  EXPECT_EQ(simple(~~Expr(i)), "i");
  EXPECT_EQ(simple(Expr(i) << 3 | Expr(j)), "i*8 + j");
  EXPECT_EQ(simple(Expr(j) ^ Expr(i) << 4), "i*16 + j");
  EXPECT_EQ(simple(((Expr(i) << 3 | Expr(j)) >> 3) + ((Expr(i) << 3 | Expr(j)) & 7)), "i + j");
  EXPECT_EQ(simple(Expr(i) | Expr(j)), "i | j") << "bits may be in both";
  EXPECT_EQ(simple(Expr(i) & 5), "i & 5");
  EXPECT_TRUE(proves((Expr(i) >> 3) * 8 + (Expr(i) & 7) < 100, bounds));
  EXPECT_FALSE(proves((Expr(i) >> 3) * 8 + (Expr(i) & 7) < 99, bounds));
  Var x = make_data("x", DType::i32);
  EXPECT_TRUE(same(simplify(Expr(x) >> 3), Expr(x) >> 3)) << "data keeps its operators";
  EXPECT_TRUE(same(simplify(Expr(x) & 7), Expr(x) & 7));
}

std::string range_text(const Expr &e, const Bounds &bounds) {
  auto range = range_of(e, bounds);
  return range ? fmt::format("{} to {}", range->low, range->high) : "none";
}

TEST(Bits, HaveUsefulRanges) {
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  Var u = make_data("u", DType::u32), v = make_data("v", DType::i32), w = make_data("w", DType::u64);
  Bounds bounds;
  bounds.set(i, {0, 9});
  bounds.set(j, {3, 16});
  bounds.set(k, {-20, 20});
  auto range = [&](const Expr &e) { return range_text(e, bounds); };
  EXPECT_EQ(range(Expr(i) & j), "0 to 9");
  EXPECT_EQ(range(Expr(k) & j), "0 to 16");
  EXPECT_EQ(range(Expr(k) & k), "-32 to 20");
  EXPECT_EQ(range(Expr(i) | j), "3 to 31");
  EXPECT_EQ(range(Expr(k) | i), "-20 to 31");
  EXPECT_EQ(range(Expr(k) ^ i), "-32 to 31");
  EXPECT_EQ(range(~Expr(k)), "-21 to 19");
  EXPECT_EQ(range(1 << Expr(i)), "1 to 512");
  EXPECT_EQ(range(Expr(k) << i), "-10240 to 10240");
  EXPECT_EQ(range(100 >> Expr(i)), "0 to 100");
  EXPECT_EQ(range(100 >> Expr(k)), "0 to 100") << "a negative amount shifts out all bits";
  EXPECT_EQ(range(-100 >> Expr(i)), "-100 to -1");
  EXPECT_EQ(range(1 << (Expr(j) * 4)), "none") << "it may not fit";
  EXPECT_EQ(range(Expr(u) & 7), "0 to 7");
  EXPECT_EQ(range(Expr(v) & 7), "0 to 7");
  EXPECT_EQ(range(Expr(w) & 7), "0 to 7");
  EXPECT_EQ(range(Expr(u) >> 28), "0 to 15");
  EXPECT_EQ(range(Expr(w) >> 60), "0 to 15");
  EXPECT_EQ(range(Expr(v) >> 28), "-8 to 7");
  EXPECT_EQ(range((Expr(u) & 7) << 4), "0 to 112");
  EXPECT_EQ(range(Expr(u) << 4), "none") << "it drops bits";
  EXPECT_EQ(range((Expr(u) & 7) | 64), "64 to 127");
  EXPECT_EQ(range(cast(DType::i64, (Expr(u) >> (4 * (Expr(i) % 8))) & 15)), "0 to 15");
  Expr wraps = Expr(u) - Expr(u) + 0x7fffffff + 0x7fffffff + 0x7fffffff;
  EXPECT_EQ(range(cast(DType::i64, wraps)), "none") << "it wraps around";
  EXPECT_EQ(range(wraps >> 28), "0 to 15");
  EXPECT_EQ(range(cast(DType::i32, Expr(w) & int_imm(-1, DType::u64) >> 1 & 3)), "0 to 3");
}

/// For all small operands, and numbers near the ends of the types.
TEST(Bits, AreInTheirRanges) {
  const std::int64_t numbers[] = {-9, -8, -7, -2, -1, 0, 1, 2, 3, 7, 8, 15, 62, 63, 64, 65};
  for (BinaryOp op :
       {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor, BinaryOp::shift_left, BinaryOp::shift_right})
    for (std::int64_t a : numbers)
      for (std::int64_t b : numbers)
        for (std::int64_t c : numbers)
          for (std::int64_t d : numbers) {
            if (b < a || d < c)
              continue;
            for (DType type : {DType::i64, DType::i32, DType::u32, DType::u64}) {
              if (!is_index(type) && (a < 0 || c < 0))
                continue;
              auto range = range_of_bits(op, type, Range{a, b}, Range{c, d});
              if (!range)
                continue;
              for (std::int64_t x : {a, b, (a + b) / 2, std::min(a + 1, b)})
                for (std::int64_t y : {c, d, (c + d) / 2, std::min(c + 1, d)}) {
                  std::int64_t value = *as_int(binary(op, int_imm(x, type), int_imm(y, type)));
                  if (type == DType::u64 && value < 0)
                    continue;
                  ASSERT_TRUE(range->low <= value && value <= range->high)
                      << spelling(op) << " of " << x << " and " << y << " is " << value << " in " << name(type);
                }
            }
          }
}

TEST(Expr, TheLeastIntegerDividedByMinusOneWraps) {
  Expr least = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE(same(floordiv(least, -1), least));
  EXPECT_TRUE(same(floormod(least, -1), Expr(0)));
  EXPECT_TRUE(same(floordiv(Expr(-7), -1), Expr(7)));
}

TEST(RingHash, CommutesWithNeitherSumsNorProducts) {
  using Function = Expr (*)(Expr);
  for (Function f : {Function(relu), Function([](Expr x) { return maximum(std::move(x), u32(7)); }),
                     Function([](Expr x) { return minimum(u32(7), std::move(x)); })}) {
    EXPECT_NE(word(f(u32(0))), 0U) << "what is applied to padding shows";
    std::uint32_t state = 12345;
    auto next = [&] { return state = state * 1664525U + 1013904223U; };
    for (int n = 0; n < 1000; ++n) {
      Expr x = u32(next()), y = u32(next());
      EXPECT_NE(word(f(x + y)), word(f(x) + f(y)));
      EXPECT_NE(word(f(x + y)), word(f(x) + y));
      EXPECT_NE(word(f(x * y)), word(f(x) * y));
      EXPECT_NE(word(f(f(x))), word(f(x)));
    }
  }
  EXPECT_NE(word(maximum(u32(3), u32(5))), word(minimum(u32(3), u32(5))));
  EXPECT_NE(word(maximum(u32(3), u32(5))), word(maximum(u32(3), u32(6))));
}

TEST(RingHash, IsTheFunctionItselfOnOtherTypes) {
  Expr x = make_var("x", DType::f32), i = make_var("i");
  EXPECT_EQ(to_string(relu(x)), "max(x, 0.0)");
  EXPECT_EQ(to_string(maximum(x, 1.0F)), "max(x, 1.0)");
  EXPECT_EQ(to_string(minimum(i, 4)), "min(i, 4)");
}

TEST(Branch, EvaluatesTheSideThatIsTaken) {
  Workload w("halves");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  Tensor t = w.compute("t", {8}, {"i"}, [&](Expr i) { return branch(i < 4, x(i) + 1, x(i) * 2); });
  Program p = w.output({t});
  EXPECT_NE(print(p).find("t[i] = branch(i < 4, x[i] + 1, x[i]*2)"), std::string::npos) << print(p);
  std::vector<Array> got = test::results_of(p);
  for (std::int64_t n = 0; n < 8; ++n) {
    auto in = got[0].at(n).as<std::uint32_t>();
    EXPECT_EQ(got[1].at(n).as<std::uint32_t>(), n < 4 ? in + 1 : in * 2);
  }
}

TEST(Branch, IsNoSelectAndFoldsWhereTheConditionIsKnown) {
  Expr i = make_var("i"), a = make_var("a"), b = make_var("b");
  EXPECT_FALSE(same(branch(i < 4, a, b), select(i < 4, a, b)));
  EXPECT_TRUE(same(branch(i < 4, a, b), branch(i < 4, a, b)));
  EXPECT_TRUE(same(branch(boolean(true), a, b), a));
  Expr renamed = substitute(branch(i < 4, a, b), [&](const Var &var) { return var->name == "a" ? b : Expr(); });
  EXPECT_TRUE(same(renamed, branch(i < 4, b, b))) << "rewrites keep it a branch";
}

} // namespace
} // namespace nestsmith
