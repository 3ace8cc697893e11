/// Tests traces of version 2, which contain their computation. tests/schedules tests the traces of all rungs.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/trace.h"

#include "dsl/expr/math.h"
#include "tests/dsl/support.h"

#include <fmt/format.h>
#include <limits>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_user_error;
using test::infinity;

/// Writes a trace, reads it and writes it again. Expects an equal program and an equal text.
void expect_round_trip(const Program &source) {
  std::string text = to_json(trace_file(Schedule(source), {4, 5}, DType::f32));
  EXPECT_TRUE(contains(text, "\"nestsmith_trace\": 2")) << text;
  TraceFile file = parse_trace(text, "t.json");
  ASSERT_TRUE(file.computation.has_value()) << text;
  EXPECT_EQ(print(Schedule(*file.computation).source()), print(Schedule(source).source())) << text;
  EXPECT_EQ(to_json(file), text);
}

TEST(ComputationJson, HoldsAProductThatIsAccumulated) {
  Workload w("product");
  Tensor a = w.placeholder("A", {4, 6}, DType::f16), b = w.placeholder("B", {6, 5}, DType::f16, {Expr(8)});
  Tensor c = w.inout("C", {4, 5});
  Expr alpha = w.scalar("alpha"), beta = w.scalar("beta");
  Reduce k = reduce_axis("k", 6);
  Tensor ab = w.compute("AB", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, a(i, k)) * cast(DType::f32, b(k, j)), k);
  });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return alpha * ab(x[0], x[1]) + branch(not_equal(beta, 0), beta * c(x[0], x[1]), 0);
  });
  expect_round_trip(w.output());
}

TEST(ComputationJson, HoldsSizesOutputsAndGathers) {
  Workload w("gather");
  Expr n = w.size("N", {.min = 2, .max = 100, .multiple_of = 2}), ld = w.size("LD");
  Tensor x = w.placeholder("X", {n + 1, n * 2}, DType::u64, {ld}), p = w.placeholder("P", {n}, DType::u32);
  Tensor t = w.compute("T", {n, n}, {"i", "j"}, [&](Expr i, Expr j) {
    return x(cast(DType::i64, p(i) % 7), floordiv(j, 3)) + x.where(1 <= i && !(j < 2), i - 1, j);
  });
  Reduce r = reduce_axis("r", n), s = reduce_axis("s", 3);
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) { return sum(t(i, r) * x(s, i), {r, s}); });
  expect_round_trip(w.output({{t, {w.size("LT")}}, u}));
}

TEST(ComputationJson, HoldsEveryConstant) {
  Workload w("constants");
  Tensor x = w.placeholder("X", {4});
  Tensor f = w.compute("F", {4}, {"i"}, [&](Expr i) -> Definition {
    Expr sum = x(i) + float_imm(infinity) + float_imm(-infinity) * float_imm(-0.0) + float_imm(1.0 / 3);
    return sum + float_imm(std::numeric_limits<double>::quiet_NaN());
  });
  Tensor h = w.compute("H", {4}, {"i"}, [&](Expr i) -> Definition {
    return cast(DType::f32, select(x(i) < 1, cast(DType::f16, x(i)), float_imm(0.5, DType::f16)));
  });
  Tensor u = w.compute("U", {4}, {"i"}, [&](Expr i) -> Definition {
    return bit_xor(bit_xor(cast(DType::u64, i), int_imm(-1, DType::u64)),
                   int_imm(std::int64_t{1} << 53 | 1, DType::u64));
  });
  Tensor l = w.compute("L", {4}, {"i"}, [&](Expr i) -> Definition {
    return max(min(i, std::numeric_limits<std::int64_t>::max()), std::numeric_limits<std::int64_t>::min());
  });
  Tensor s = w.compute("S", {4}, {"i"}, [&](Expr i) -> Definition {
    return shift_right(cast(DType::u32, cast(DType::u16, i)), 3) + int_imm(0xffffffff, DType::u32);
  });
  Tensor b = w.compute("B", {4}, {"i"}, [&](Expr i) -> Definition {
    Expr most = cast(DType::i32, select(i < 2, cast(DType::u8, i), int_imm(255, DType::u8)));
    return cast(DType::i8, most + cast(DType::i32, int_imm(-128, DType::i8)));
  });
  Tensor p = w.placeholder("P", {4}, DType::i16);
  Tensor q = w.compute("Q", {4}, {"i"},
                       [&](Expr i) -> Definition { return select(i < 2, p(i), constant(DType::i16, -32768)); });
  expect_round_trip(w.output({f, h, u, l, s, b, q}));
  EXPECT_TRUE(contains(to_json(trace_file(Schedule(w.output({u})), {4}, DType::f32)), "18446744073709551615"));
}

TEST(ComputationJson, SharesOperandsAndLimitsTheBrackets) {
  Workload w("large");
  Tensor x = w.placeholder("X", {4}, DType::u32);
  Tensor squares = w.compute("S", {4}, {"i"}, [&](Expr i) -> Definition {
    Expr y = x(i) + 1;
    for (int n = 0; n < 40; ++n)
      y = y * y;
    return y;
  });
  Tensor chain = w.compute("C", {4}, {"i"}, [&](Expr i) -> Definition {
    Expr y = x(i);
    for (int n = 0; n < 450; ++n)
      y = bit_xor(y * 3, x(i));
    return y;
  });
  expect_round_trip(w.output({squares}));
  Program source = w.output({squares, chain});
  std::string text = to_json(trace_file(Schedule(source), {4}, DType::u32));
  EXPECT_LT(text.size(), 100'000U);
  EXPECT_EQ(print(Schedule(*parse_trace(text, "t.json").computation).source()),
            print(Schedule(source).source()));
}

TEST(ComputationJson, LeavesOutAProgramBuiltByHand) {
  Program program = test::gemm(4, 5, 6);
  Schedule tiled(program);
  tiled.split(tiled.loop("i"), {infer, 2});
  std::string text = to_json(trace_file(Schedule(tiled.program()), {4, 5, 6}, DType::u32));
  EXPECT_TRUE(contains(text, "\"nestsmith_trace\": 1")) << text;
  EXPECT_FALSE(contains(text, "computation")) << text;
}

TEST(ComputationJson, ReplaysWithoutAnotherSource) {
  Schedule s(test::gemm(4, 5, 6));
  s.bind(s.loop("i"), Axis::block_x);
  TraceFile file = parse_trace(to_json(trace_file(s, {4, 5, 6}, DType::u32)), "t.json");
  Schedule again = replay(file, *file.computation, Target{}, "t.json");
  EXPECT_EQ(print(again.program()), print(s.program()));
}

/// Returns a trace with these stages, an input X of 4 x 5 elements of f32, and the output Y.
std::string around(const std::string &stages, const std::string &tensors = "", const std::string &more = "") {
  return fmt::format(
      R"({{"nestsmith_trace": 2, "workload": "w", "dtype": "f32", "target": "sm_80", "shape": [4],
    "computation": {{"tensors": [{{"name": "X", "dtype": "f32", "role": "input", "shape": [4, 5]}}{}],
    "stages": [{}], "outputs": [{{"name": "Y"}}]{}}}, "directives": []}})",
      tensors, stages, more);
}
std::string with_value(const std::string &value) {
  return around(R"({"name": "Y", "axes": ["i", "j"], "shape": [4, 5], "value": )" + value + "}");
}

TEST(ComputationJson, AcceptsTheFormsOfTheTests) {
  for (const char *value :
       {R"(["load", "X", ["i", "j"]])", R"(["load", "X", ["i", "j"], ["<", "i", 3], ["f32", 1.5]])",
        R"(["select", true, ["f32", "-0"], ["f32", "nan"]])",
        R"(["cast", "f32", ["u64", "18446744073709551615"]])",
        R"(["/", ["f32", 1], ["cast", "f32", ["floordiv", "i", 2]]])"})
    EXPECT_NO_THROW(parse_trace(with_value(value), "t.json")) << value;
}

TEST(ComputationJson, RefusesExpressions) {
  auto refused = [](const std::string &value, const std::string &message) {
    expect_user_error([&] { parse_trace(with_value(value), "t.json"); }, ExitCode::usage,
                      "t.json: the stage 'Y': " + message);
  };
  refused("null", "an expression is neither a number, a name, true, false, nor a list");
  refused("1.5", "an expression is neither a number, a name");
  refused("[]", "an expression is neither a number, a name");
  refused(R"([3, 4])", "an expression is a list that does not start with an operator");
  refused(R"("k")", "'k' is neither an axis of the stage, nor a scalar, nor a size");
  refused(R"(["cbrt", "i"])", "unknown operator 'cbrt'");
  refused(R"(["+", "i"])", "the operator '+' has 1 operands, expected 2");
  refused(R"(["+", "i", true])", "in i + true, + takes numbers, got i64 and bool");
  refused(R"(["+", "i", ["f32", 1]])", "");
  refused(R"(["&&", "i", "j"])", "&& takes conditions, got i64");
  refused(R"(["/", "i", 2])", "the operator '/' is not defined on i64");
  refused(R"(["floordiv", ["f32", 1], ["f32", 2]])", "the operator 'floordiv' is not defined on f32");
  refused(R"(["floormod", "i", 0])", "the operator 'floormod' divides by 0");
  refused(R"(["cast", "f17", "i"])", "'cast' has no dtype, expected one of bool, i8, i16, i32");
  refused(R"(["value", 0])", "an expression uses a value that is not in the list 'values' before it");
  refused(R"(["value", -1])", "an expression uses a value that is not in the list 'values' before it");
  refused(R"(["f32", "big"])", "a constant of f32 is neither a number, \"inf\"");
  refused(R"(["i32", 1.5])", "a constant of i32 is not a whole number");
  refused(R"(["i32", 2147483648])", "the constant 2147483648 is out of the range of i32");
  refused(R"(["u64", "18446744073709551616"])", "a constant of u64 is not a whole number");
  refused(R"(["load", "X"])", "a load is not of the form");
  refused(R"(["load", "Z", ["i", "j"]])", "reads 'Z', which is neither a tensor nor a stage before this one");
  refused(R"(["load", "X", ["i", "j"], true, 1])", "a load of 'X' has a mask of bool and a fill of i64");
}

TEST(ComputationJson, RefusesComputations) {
  auto refused = [](const std::string &text, const std::string &message) {
    expect_user_error([&] { parse_trace(text, "t.json"); }, ExitCode::usage, "t.json: " + message);
  };
  std::string element = R"("value": ["load", "X", [0, 0]])";
  refused(R"({"nestsmith_trace": 2, "workload": "w", "dtype": "f32", "target": "sm_80", "shape": [4]})",
          "has no 'computation'");
  refused(around("3"), "'stages' of the computation contains something that is not an object");
  refused(around("{}"), "a part of the computation has no 'name'");
  refused(around(R"({"name": "Y", "axes": ["i"]})"), "a tensor or stage has no 'shape'");
  refused(around(R"({"name": "Y", "axes": ["i"], "shape": [4]})"), "the stage 'Y' has no 'value'");
  refused(around(R"({"name": "Y", "axes": ["i"], "shape": [0], )" + element + "}"),
          "'Y' has an extent of 0, expected at least 1");
  refused(around(R"({"name": "Y", "axes": ["i", "j"], "shape": [4], )" + element + "}"),
          "stage 'Y' names 2 axes, but its rank is 1");
  refused(around(R"({"name": "X", "axes": ["i"], "shape": [4], )" + element + "}"), "the name 'X' is taken");
  refused(around(R"({"name": "Z", "axes": ["i"], "shape": [4], )" + element + "}"),
          "the output 'Y' is not a stage");
  refused(with_value(R"(["load", "X", ["i"]])"), "stage 'Y' reads 'X' with 1 indices, but its rank is 2");
  refused(around("", R"(, {"name": "B", "dtype": "f32", "role": "out", "shape": [4]})"),
          "the tensor 'B' has the role 'out', expected input or inout");
  refused(around("", R"(, {"name": "B", "dtype": "f3", "role": "input", "shape": [4]})"),
          "the dtype 'f3' is unknown");
  refused(around("", "", R"(, "scalars": 3)"), "'scalars' of the computation is not a list");
  std::string ones = "1";
  for (int n = 0; n < 40; ++n)
    ones += ", 1";
  refused(around("", R"(, {"name": "B", "dtype": "f32", "role": "input", "shape": [)" + ones + "]}"),
          "a tensor or stage has 41 dimensions, expected at most 32");
}

TEST(ComputationJson, RefusesAFileThatIsTooLarge) {
  expect_user_error([&] { parse_trace(std::string(5 << 20, ' '), "t.json"); }, ExitCode::usage,
                    "t.json: has 5242880 bytes, expected at most 4194304");
}

/// The values form a chain that is deeper than the limit for expressions.
TEST(ComputationJson, RefusesADeepExpression) {
  std::string values = "\"i\"";
  for (int n = 0; n < 20'000; ++n)
    values += fmt::format(R"(, ["+", ["value", {}], ["load", "P", ["i"]]])", n);
  expect_user_error(
      [&] {
        parse_trace(
            around(R"({"name": "Y", "axes": ["i"], "shape": [4], "value": ["value", 20000], "values": [)" +
                       values + "]}",
                   R"(, {"name": "P", "dtype": "i64", "role": "input", "shape": [4]})"),
            "t.json");
      },
      ExitCode::usage, "t.json: the value of stage 'Y' is 20002 operations deep, expected at most 1000");
}

} // namespace
} // namespace nestsmith
