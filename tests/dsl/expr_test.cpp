/// Tests bitwise operators on integers, functions that are not ring operations, and branches.

#include "dsl/expr/math.h"
#include "dsl/expr/simplify.h"
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

TEST(Bits, AreOfIntegersAndShiftByConstants) {
  Expr i = make_var("i");
  expect_user_error([&] { bit_xor(Expr(1.0F), Expr(2.0F)); }, ExitCode::usage,
                    "bit_xor and shift_right work on integers, got f32; convert with cast(dtype, …)");
  expect_user_error([&] { shift_right(i, 64); }, ExitCode::usage,
                    "i64 shifts by a constant from 0 to 63, got 64");
  expect_user_error([&] { shift_right(i, -1); }, ExitCode::usage,
                    "i64 shifts by a constant from 0 to 63, got -1");
  expect_user_error([&] { binary(BinaryOp::shift_right, i, i); }, ExitCode::usage, "got an expression");
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
