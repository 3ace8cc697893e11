/// Tests how a computation is stated: the resulting program and the refusals.

#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::expect_user_error;

void refused(const std::function<void(Workload &)> &state, const std::string &message) {
  expect_user_error(
      [&] {
        Workload w("work");
        state(w);
      },
      ExitCode::usage, message);
}

Definition one(Expr) { return Definition(constant(DType::f32, 1)); }

TEST(Workload, BecomesAProgram) {
  Workload w("scaled");
  Tensor x = w.placeholder("X", {4, 3});
  Expr alpha = w.scalar("alpha");
  Reduce k = reduce_axis("k", 3);
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return alpha * t(i) / constant(DType::f32, 3); });
  EXPECT_EQ("\n" + print(w.output({y})), R"(
scaled(X: f32[4, 3], out Y: f32[4], alpha: f32):
global T: f32[4]
for i < 4:
  for k < 3:
    block T(i = i, sum k = k):
      init T[i] = 0.0
      T[i] = T[i] + X[i, k]
for i < 4:
  block Y(i = i):
    Y[i] = alpha*T[i]/3.0
)");
}

TEST(Workload, ParametersAreInputsThenOutputsThenInouts) {
  Workload w("order");
  Tensor c = w.inout("C", {2}), a = w.placeholder("A", {2});
  Tensor y = w.compute("Y", {2}, {"i"}, [&](Expr i) { return a(i); });
  w.update(c, {"i"}, [&](const std::vector<Expr> &x) { return c(x[0]) + y(x[0]); });
  Program p = w.output({y});
  ASSERT_EQ(p.params.size(), 3U);
  EXPECT_EQ(p.params[0]->name, "A");
  EXPECT_EQ(p.params[1]->name, "Y");
  EXPECT_EQ(p.params[1]->role, Role::output);
  EXPECT_EQ(p.params[2]->name, "C");
}

TEST(Workload, SumsOverSeveralAxes) {
  Workload w("total");
  Tensor x = w.placeholder("X", {2, 3}, DType::u32);
  Reduce a = reduce_axis("a", 2), b = reduce_axis("b", 3);
  Tensor y = w.compute("Y", {1}, {"i"}, [&](Expr) { return sum(x(a, b), {a, b}); });
  Schedule s(w.output({y}));
  s.reorder({s.loop("b"), s.loop("a")});
  EXPECT_TRUE(test::same_meaning(s));
  std::uint32_t expected = 0;
  std::vector<Array> arrays = test::results_of(s.program());
  for (std::uint32_t value : arrays[0].view<std::uint32_t>())
    expected += value;
  EXPECT_EQ(arrays[1].view<std::uint32_t>()[0], expected);
}

TEST(Workload, RefusesNames) {
  expect_user_error([] { Workload w("my kernel"); }, ExitCode::usage,
                    "a workload's name must be a C identifier, got 'my kernel'; use letters, digits and '_'");
  expect_user_error([] { Workload w(""); }, ExitCode::usage, "got ''");
  for (const char *name : {"", "2x", "a-b", "a b", "\xc3\xa4"})
    refused([&](Workload &w) { w.placeholder(name, {4}); },
            "a name must be a C identifier, got '" + std::string(name) + "'; use letters, digits and '_'");
  for (const char *name : {"", "1x", "a-b", "a b", "\xc3\xa4", "i.0"}) {
    std::string message = "an axis's name must be a C identifier, got '" + std::string(name) +
                          "'; use letters, digits and '_', not starting with a digit";
    refused([&](Workload &w) { w.compute("Y", {4}, {name}, one); }, message);
    refused(
        [&](Workload &w) {
          w.update(w.inout("Y", {4}), {name}, [](const std::vector<Expr> &x) { return one(x[0]); });
        },
        message);
    expect_user_error([&] { reduce_axis(name, 4); }, ExitCode::usage, message);
  }
  auto taken = [](Workload &w) { w.placeholder("A", {4}); };
  std::string message = "the name 'A' is taken; give each tensor, scalar and stage its own";
  refused([&](Workload &w) { taken(w), w.placeholder("A", {4}); }, message);
  refused([&](Workload &w) { taken(w), w.inout("A", {4}); }, message);
  refused([&](Workload &w) { taken(w), w.scalar("A"); }, message);
  refused([&](Workload &w) { taken(w), w.compute("A", {4}, {"i"}, one); }, message);
}

TEST(Workload, RefusesShapes) {
  refused([](Workload &w) { w.placeholder("A", {4, 0}); }, "'A' has an extent of 0, expected at least 1");
  refused([](Workload &w) { w.inout("A", {-3}); }, "'A' has an extent of -3, expected at least 1");
  refused([](Workload &w) { w.compute("A", {0}, {"i"}, one); }, "'A' has an extent of 0, expected at least 1");
  std::int64_t large = std::int64_t{1} << 32;
  refused(
      [&](Workload &w) {
        w.placeholder("A", {large, large});
      },
      "'A' has more elements than fit in 64 bits; make its shape smaller");
  refused(
      [&](Workload &w) {
        w.placeholder("A", {large, large / 4});
      },
      "'A' has 4611686018427387904 elements, expected at most 2^60; make its shape smaller");
}

TEST(Workload, NamesTheStageAndTheExpression) {
  refused(
      [](Workload &w) {
        Tensor x = w.placeholder("X", {4, 4}, DType::f16);
        w.compute("Y", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * x(j, i); });
      },
      "the stage 'Y': in X[i, j] * X[j, i], f16 is a storage type without arithmetic; convert with "
      "cast(DType::f32, …)");
  refused(
      [](Workload &w) {
        Tensor p = w.placeholder("P", {4}, DType::i32);
        w.compute("Y", {4}, {"i"}, [&](Expr i) { return max(p(i), i); });
      },
      "the stage 'Y': in max(P[i], i), the operands of an expression are i32 and i64, expected one dtype");
}

TEST(Workload, RefusesStages) {
  refused([](Workload &w) { w.compute("Y", {4, 4}, {"i"}, one); }, "stage 'Y' names 1 axes, but its rank is 2");
  refused(
      [](Workload &w) {
        w.compute("Y", {4, 4}, {"i", "j"}, one);
      },
      "stage 'Y' names 2 axes, but its element is a function of 1");
  refused([](Workload &w) { w.compute("Y", {4}, {}, one); },
          "stage 'Y' names 0 axes, but its element is a function of 1");
  refused(
      [](Workload &w) {
        Tensor x = w.placeholder("X", {4, 4});
        w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i); });
      },
      "stage 'Y' reads 'X' with 1 indices, but its rank is 2; give one index for each dimension");
  refused(
      [](Workload &w) {
        Tensor c = w.inout("C", {4}, DType::u32);
        w.update(c, {"i"}, [](const std::vector<Expr> &) { return Definition(constant(DType::f32, 1)); });
      },
      "stage 'C' computes f32, but its tensor holds u32");
  refused(
      [](Workload &w) {
        Tensor c = w.inout("C", {4});
        w.update(c, {"i"}, [&](const std::vector<Expr> &x) { return c(Expr(3) - x[0]); });
      },
      "stage 'C' overwrites 'C' and may read only the element that it writes; compute into another tensor "
      "first");
  refused(
      [](Workload &w) {
        Tensor x = w.placeholder("X", {4});
        w.update(x, {"i"}, [&](const std::vector<Expr> &i) { return x(i[0]); });
      },
      "'X' is not an inout tensor; only those can be updated");
}

TEST(Workload, RefusesWhatIsNotItsOwn) {
  Workload other("other");
  Tensor foreign = other.placeholder("F", {4});
  Expr alpha = other.scalar("alpha");
  refused([&](Workload &w) { w.compute("Y", {4}, {"i"}, [&](Expr i) { return foreign(i); }); },
          "stage 'Y' reads 'F', which is not a tensor of workload 'work'; declare it with placeholder, inout "
          "or compute of this workload");
  refused(
      [&](Workload &w) {
        Tensor x = w.placeholder("X", {4});
        w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i) * alpha; });
      },
      "stage 'Y' uses alpha, which is neither one of its axes (i) nor a scalar or size of workload 'work'");
  refused(
      [](Workload &w) {
        Tensor x = w.placeholder("X", {4, 3});
        Reduce k = reduce_axis("k", 3);
        w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i, k) * 2; });
      },
      "stage 'Y' uses k, which is neither one of its axes (i) nor a scalar or size of workload 'work'; if k is "
      "a reduction axis, reduce over it, such as sum(…, k)");
}

/// Divisions of data and of indices round down, for signed types too. A division by 0 has a defined result.
TEST(Workload, DividesDataAndIndices) {
  for (DType dtype : {DType::i32, DType::i64, DType::u32, DType::u64}) {
    Workload w("divides");
    Tensor x = w.placeholder("x", {9}, dtype), y = w.placeholder("y", {9}, dtype);
    Tensor z = w.compute("z", {9}, {"i"}, [&](Expr i) {
      return x((i - 4) / 2 + 2) % 10 + x((i - 1) % 9) / y(i / 2) +
             select(x(i) > 0, floordiv(x(i), 3) % 5, y(i));
    });
    Program p = w.output({z});
    EXPECT_TRUE(test::same_meaning(Schedule(p)));
  }
  Workload w("rounds");
  Tensor x = w.placeholder("x", {3}, DType::i32), y = w.placeholder("y", {3}, DType::i32);
  Program p = w.output({w.compute("q", {3}, {"i"}, [&](Expr i) { return x(i) / y(i) * 100 + x(i) % y(i); })});
  std::vector<Array> arrays(3, Array(DType::i32, {3}));
  std::int32_t least = std::numeric_limits<std::int32_t>::min();
  std::ranges::copy(std::vector{-7, 7, least}, arrays[0].view<std::int32_t>().begin());
  std::ranges::copy(std::vector{2, 0, -1}, arrays[1].view<std::int32_t>().begin());
  interpret(p, arrays, {});
  EXPECT_THAT(arrays[2].view<std::int32_t>(), testing::ElementsAre(-399, 7, 0)); // least * 100 wraps to 0
}

TEST(Workload, RefusesIndicesAndMasksOfOtherTypes) {
  auto reads = [](const std::function<Expr(Tensor, Tensor, Expr)> &f, const std::string &message) {
    refused(
        [&](Workload &w) {
          Tensor x = w.placeholder("x", {4}), n = w.placeholder("n", {4}, DType::u32);
          w.compute("y", {4}, {"i"}, [&](Expr i) { return f(x, n, i); });
        },
        "stage 'y' reads 'x' " + message);
  };
  reads([](auto x, auto n, auto i) { return x(n(i) % 4); },
        "at n[i]%4, which is u32, expected an index of i64 or i32; convert it with cast(DType::i64, …)");
  reads([](auto x, auto, auto) { return x(1.5); }, "at 1.5, which is f32, expected an index");
  reads([](auto x, auto, auto i) { return x(i < 2); }, "at i < 2, which is bool, expected an index");
  reads([](auto x, auto, auto i) { return x.where(i, i); },
        "where i, which is i64, expected a condition; compare it: x != 0");
}

TEST(Workload, SumsNoConditions) {
  refused(
      [](Workload &w) {
        Tensor x = w.placeholder("X", {4});
        Reduce k = reduce_axis("k", 4);
        w.compute("Y", {1}, {"i"}, [&](Expr) { return sum(x(k) > 0, k); });
      },
      "+ takes numbers, got bool and bool; use select(condition, a, b)");
}

TEST(Workload, RefusesOutputs) {
  refused([](Workload &w) { w.output(); }, "workload 'work' computes nothing; add a stage");
  refused(
      [](Workload &w) {
        w.compute("Y", {4}, {"i"}, one);
        w.output();
      },
      "workload 'work' has no output; name one");
  refused(
      [](Workload &w) {
        Tensor x = w.placeholder("X", {4});
        w.compute("Y", {4}, {"i"}, one);
        w.output({x});
      },
      "'X' is not a stage of this workload and cannot be its output");
}

TEST(Schedule, RefusesAComputationThatIsNotWellFormed) {
  Workload w("copy");
  Tensor x = w.placeholder("X", {4});
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i); });
  Program p = w.output({y});
  p.body = make_for(For{make_var("k"), Expr(0), Serial{}, p.body});
  expect_user_error([&] { Schedule s(p); }, ExitCode::usage,
                    "the computation 'copy' is not well formed: loop k has the extent 0");
}

TEST(Workload, RefusesSumsThatAreNone) {
  Workload other("other");
  auto total = [&](Expr extent) {
    Workload w("w");
    Tensor x = w.placeholder("X", {4, 4});
    Reduce k = reduce_axis("k", std::move(extent));
    w.compute("Y", {4}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  };
  for (const Expr &extent : {Expr(0), Expr(-3), Expr(true), Expr(2.5F)})
    expect_user_error([&] { total(extent); }, ExitCode::usage, "the reduction axis k has the extent ");
  expect_user_error([&] { total(other.size("N")); }, ExitCode::usage,
                    "the reduction axis k has the extent N, but N is not a size of workload 'w'; declare it "
                    "with size(\"N\") of this workload");
  Workload w("w");
  Tensor x = w.placeholder("X", {4, 4});
  Reduce k = reduce_axis("k", 4);
  expect_user_error([&] { w.compute("Y", {4}, {"i"}, [&](Expr i) {
                            return sum(x(i, k), {k, k});
                          }); },
                    ExitCode::usage, "stage 'Y' sums over k twice; name each axis once");
}

TEST(Workload, RefusesSizesAndOutputsOfAnother) {
  Workload w("w"), other("other");
  expect_user_error(
      [&] {
        w.placeholder("X", {other.size("N"), 4});
      },
      ExitCode::usage, "'X' has the extent N, but N is not a size of workload 'w'");
  Tensor x = w.placeholder("X", {4}), z = other.placeholder("Z", {4});
  Tensor ours = w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i); });
  Tensor theirs = other.compute("T", {4}, {"i"}, [&](Expr i) { return z(i); });
  expect_user_error([&] { w.output({ours, theirs}); }, ExitCode::usage, "'T' is not a stage of this workload");
  expect_user_error([&] { w.output({ours, ours}); }, ExitCode::usage, "'Y' is named twice as an output");
}

TEST(Workload, RefusesExpressionsThatAreEmpty) {
  Workload w("w");
  Tensor x = w.placeholder("X", {4});
  const char *message =
      "an expression is empty: it was declared without a value; give it one before it is used";
  int stages = 0;
  auto element = [&](auto make) {
    w.compute("Y" + std::to_string(++stages), {4}, {"i"}, [&](Expr i) { return make(i); });
  };
  expect_user_error([&] { element([&](Expr i) { return Expr() + x(i); }); }, ExitCode::usage, message);
  expect_user_error([&] { element([&](Expr) { return -Expr(); }); }, ExitCode::usage, message);
  expect_user_error([&] { element([&](Expr) { return Expr(); }); }, ExitCode::usage, message);
  expect_user_error([&] { element([&](Expr) { return x(Expr()); }); }, ExitCode::usage, message);
  expect_user_error([&] { element([&](Expr i) { return select(Expr(), x(i), x(i)); }); }, ExitCode::usage,
                    message);
  expect_user_error([&] { element([&](Expr) { return cast(DType::f32, Expr()); }); }, ExitCode::usage, message);
  expect_user_error([&] { w.placeholder("Z", {Expr(), 4}); }, ExitCode::usage, message);
  expect_user_error(
      [&] { element([&](Expr) { return Definition(sum(x(Expr(0)), reduce_axis("k", Expr()))); }); },
      ExitCode::usage, message);
}

TEST(Interpret, NamesTheBlockThatStrays) {
  Workload w("shift");
  Tensor x = w.placeholder("X", {4}, DType::u32);
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i + 1); });
  Program p = w.output({y});
  expect_user_error([&] { test::results_of(p); }, ExitCode::wrong_result,
                    "block Y accesses X[4], which is out of bounds");
}

} // namespace
} // namespace nestsmith
