/// Tests reducers that a program defines, and tuples: their laws, what is refused, and how they are printed.
#include "dsl/expr/math.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/reducer.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/argmax_rows.h"
#include "tests/dsl/support.h"

#include <functional>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::argmax_rows;
using test::expect_refused;
using test::expect_user_error;
using test::infinity;
using testing::HasSubstr;

TEST(TupleTypes, AreEqualIfTheirPartsAre) {
  DType a = tuple_type({{"value", DType::f32}, {"index", DType::i32}});
  EXPECT_EQ(a, tuple_type({{"value", DType::f32}, {"index", DType::i32}}));
  EXPECT_NE(a, tuple_type({{"value", DType::f32}, {"place", DType::i32}}));
  EXPECT_NE(a, tuple_type({{"value", DType::f32}, {"index", DType::i64}}));
  EXPECT_EQ(name(a), "(value: f32, index: i32)");
  EXPECT_EQ(byte_size(a), 8);
  EXPECT_TRUE(is_tuple(a) && !is_float(a) && !is_narrow(a) && !is_tuple(DType::f32));
  EXPECT_EQ(parse_dtype(name(a)), std::nullopt);
}

TEST(TupleTypes, RefusePartsThatAreNoNumbers) {
  auto refused = [](const std::vector<TuplePart> &parts, const char *message) {
    expect_user_error([&] { tuple_type(parts); }, ExitCode::usage, message);
  };
  refused({{"a", DType::f32}}, "a tuple has 1 parts, expected 2 to 8");
  refused({{"a", DType::f32}, {"a", DType::i32}}, "a tuple has two parts 'a'");
  refused({{"a", DType::f32}, {"1b", DType::i32}}, "'1b'");
  refused({{"a", DType::f32}, {"b", DType::tf32}}, "the part 'b' of a tuple is tf32");
  DType inner = tuple_type({{"a", DType::f32}, {"b", DType::i32}});
  refused({{"x", inner}, {"y", DType::i32}}, "the part 'x' of a tuple is (a: f32, b: i32)");
}

TEST(Tuples, HaveParts) {
  Expr pair = tuple({{"a", Expr(1.5)}, {"b", int_imm(7, DType::i32)}});
  EXPECT_EQ(to_string(pair), "(a: 1.5, b: 7)");
  EXPECT_EQ(to_string(part(pair, "b")), "7");
  EXPECT_EQ(to_string(part(pair, 0)), "1.5");
  Expr other = tuple(pair.dtype(), {Expr(2.5), Expr(8)}); // the constant takes the dtype of the part
  Var c = make_var("c", DType::boolean);
  EXPECT_EQ(to_string(select(Expr(c), pair, other)), "(a: select(c, 1.5, 2.5), b: select(c, 7, 8))");
  expect_user_error([&] { part(pair, "c"); }, ExitCode::usage, "which has no part 'c'");
  expect_user_error([&] { part(pair, 2); }, ExitCode::usage, "which has no part 2");
  expect_user_error([&] { part(Expr(1.0), 0); }, ExitCode::usage, "is f32, which is no tuple");
  expect_user_error(
      [&] {
        tuple(pair.dtype(), {Expr(2.5), Expr(2.5)});
      },
      ExitCode::usage, "the part 'b' of a tuple (a: f32, b: i32) is f32; convert it with cast(DType::i32, …)");
  expect_user_error([&] { pair + other; }, ExitCode::usage,
                    "is a tuple, expected a number; read one of its parts with part(e, \"a\")");
  expect_user_error([&] { cast(DType::f32, pair); }, ExitCode::usage, "a tuple has no conversion");
}

TEST(Reducer, IsTheSameForTheSameDefinition) {
  EXPECT_EQ(argmax(DType::f32), argmax(DType::f32));
  EXPECT_FALSE(argmax(DType::f32) == argmin(DType::f32));
  EXPECT_FALSE(argmax(DType::f32) == argmax(DType::i32));
  EXPECT_EQ(name(argmax(DType::f32)), "argmax");
  define_reducer("twice_defined", Expr(0.0), [](Expr a, Expr b) { return a + b; });
  expect_user_error(
      [] { define_reducer("twice_defined", Expr(0.0), [](Expr a, Expr b) { return b + a + 0.0; }); },
      ExitCode::usage, "the reducer 'twice_defined' of f32 is defined twice in different ways");
}

using Combine = std::function<Expr(Expr, Expr)>;
void expect_broken(const Expr &identity, const Combine &combine, const std::string &message) {
  expect_user_error([&] { define_reducer("broken", identity, combine); }, ExitCode::usage,
                    "the reducer 'broken' " + message);
}

TEST(ReducerLaws, FindAnIdentityThatIsNone) {
  expect_broken(
      Expr(1.0), [](Expr a, Expr b) { return a + b; },
      "does not keep 2: combined with the identity 1, it is 3");
  expect_broken(
      constant(DType::i32, 1), [](Expr a, Expr b) { return a + b; }, "does not keep 2");
}

TEST(ReducerLaws, FindATermThatTheIdentityChanges) {
  // The absolute value of a term counts only if it is the first operand's.
  expect_broken(
      constant(DType::i64, 0), [](Expr a, Expr b) { return select(equal(a, 0), max(b, 0), a + b); },
      "treats the term ");
}

TEST(ReducerLaws, FindAnOrderThatMatters) {
  // `a > b ? a : b` keeps the second operand if one is NaN.
  expect_broken(
      float_imm(-infinity), [](Expr a, Expr b) { return select(a > b, a, b); },
      "is not commutative: of -inf and nan it makes nan, and of nan and -inf it makes -inf");
  // Of equal values, the last one wins: the order of the operands decides.
  Expr none = tuple({{"value", constant(DType::u32, 0)}, {"index", constant(DType::u32, 0)}});
  expect_broken(
      none, [](Expr a, Expr b) { return select(part(b, "value") >= part(a, "value"), b, a); },
      "is not commutative: of (");
}

TEST(ReducerLaws, FindAGroupingThatMatters) {
  // Commutative, and 0 is its identity, but the distance of distances depends on the grouping.
  expect_broken(
      constant(DType::u32, 0), [](Expr a, Expr b) { return select(a < b, b - a, a - b); },
      "is not associative: of ");
}

/// A NaN that the identity replaces is no element.
TEST(ReducerLaws, AcceptAMaximumThatIgnoresNaN) {
  EXPECT_NO_THROW(define_reducer("largest", float_imm(-infinity), [](Expr a, Expr b) { return max(a, b); }));
}

TEST(ReducerLaws, AcceptRoundings) {
  EXPECT_NO_THROW(define_reducer("p_norm_of_3", Expr(0.0), [](Expr a, Expr b) { return a + b; }));
  EXPECT_NO_THROW(
      define_reducer("exclusive_or", constant(DType::u32, 0), [](Expr a, Expr b) { return bit_xor(a, b); }));
  for (DType dtype : {DType::f32, DType::i32, DType::u32, DType::i64, DType::u64}) {
    EXPECT_NO_THROW(argmax(dtype));
    EXPECT_NO_THROW(argmin(dtype));
  }
}

TEST(Reducer, RefusesWhatIsNoFunctionOfTwoElements) {
  expect_user_error([] { define_reducer("sum", Expr(0.0), [](Expr a, Expr b) { return a + b; }); },
                    ExitCode::usage, "the reducer 'sum' has a name that is taken");
  expect_user_error([] { define_reducer("a b", Expr(0.0), [](Expr a, Expr b) { return a + b; }); },
                    ExitCode::usage, "a reducer's name");
  Var x = make_var("x", DType::f32);
  expect_broken(
      Expr(x), [](Expr a, Expr b) { return a + b; }, "has the identity x, expected a constant");
  expect_broken(
      Expr(0.0), [&](Expr a, Expr b) { return a + b + Expr(x); },
      "uses x, expected a function of its two operands");
  expect_broken(
      Expr(0.0), [](Expr a, Expr b) { return cast(DType::i32, a + b); },
      "combines to i32, expected the type of its identity, f32");
  Workload w("w");
  Tensor t = w.placeholder("T", {4});
  expect_broken(
      Expr(0.0), [&](Expr a, Expr b) { return a + b * t(0); },
      "reads 'T', expected a function of its two operands");
  Reduce k = reduce_axis("k", 4);
  expect_user_error(
      [&] { w.compute("Y", {1}, {"i"}, [&](Expr) { return reduce(argmax(DType::f32), t(k), k); }); },
      ExitCode::usage, "the reducer 'argmax' combines (value: f32, index: i32), got a term of f32");
}

TEST(Reducer, KnowsWhereTheOrderOfTermsMatters) {
  using enum OrderEffect;
  auto effects = [](Reducer reducer) { return order_effects(reducer, reducer.definition()->identity.dtype()); };
  EXPECT_EQ(order_effects(Reducer::sum, DType::f32), std::vector{sum});
  EXPECT_EQ(order_effects(Reducer::sum, DType::u32), std::vector{none});
  EXPECT_EQ(order_effects(Reducer::max, DType::f32), std::vector{none});
  EXPECT_EQ(effects(argmax(DType::f32)), (std::vector{none, none}));
  Expr zeros = tuple({{"a", Expr(0.0)}, {"b", Expr(0.0)}, {"n", int_imm(0, DType::i32)}});
  auto parts = [&](const char *name, const Combine &of_b) {
    return define_reducer(name, zeros, [&](Expr x, Expr y) {
      return tuple(zeros.dtype(), {part(x, "a") + part(y, "a"), of_b(x, y), part(x, "n") + part(y, "n")});
    });
  };
  EXPECT_EQ(effects(parts("two_sums", [](Expr x, Expr y) { return part(y, "b") + part(x, "b"); })),
            (std::vector{sum, sum, none}));
  EXPECT_EQ(effects(parts("sum_of_doubles", [](Expr x, Expr y) { return part(x, "b") + part(y, "b") + 0.0; })),
            (std::vector{sum, unknown, none}));
}

TEST(Reducer, IsPrintedAsACallOfItsName) {
  EXPECT_THAT(print(argmax_rows(4, 5)),
              AllOf(HasSubstr("global best: (value: f32, index: i32)[4]"),
                    HasSubstr("block best(i = i, argmax k = k):"),
                    HasSubstr("init best[i] = (value: -inf, index: 2147483647)"),
                    HasSubstr("best[i] = argmax(best[i], (value: X[i, k], index: i32(k)))"),
                    HasSubstr("value[i] = best[i].value")));
}

TEST(Tuples, AreNoParameters) {
  DType pair = tuple_type({{"value", DType::f32}, {"index", DType::i32}});
  Workload w("w");
  expect_user_error([&] { w.placeholder("P", {4}, pair); }, ExitCode::usage,
                    "'P' is a parameter of (value: f32, index: i32), which only temporaries can be");
  expect_user_error([&] { w.scalar("s", pair); }, ExitCode::usage, "declare one parameter for each part");
  Tensor x = w.placeholder("X", {4, 5});
  Reduce k = reduce_axis("k", 5);
  Tensor best = w.compute("best", {4}, {"i"}, [&](Expr i) { return argmax_over(x(i, k), k); });
  expect_user_error(
      [&] { w.output({best}); }, ExitCode::usage,
      "'best' is (value: f32, index: i32), which only temporaries can be; read its parts in stages of "
      "their own, such as part(best(i), \"value\")");
}

TEST(VectorizeRefuses, Tuples) {
  Schedule s(argmax_rows(16, 5));
  Loop i = s.split<2>(s.loops(s.block("value"))[0], {infer, 4})[1];
  expect_refused(
      s, "vectorize.numbers", [&] { s.vectorize(i); },
      "block value accesses best, whose elements are tuples (value: f32, index: i32), and the lanes of a "
      "vector are numbers; unroll value_i_inner instead",
      {"value_i_inner", "value"});
}

} // namespace
} // namespace nestsmith
