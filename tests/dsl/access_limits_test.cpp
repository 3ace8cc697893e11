/// Tests the relations between sizes that keep the reads of a computation in bounds.

#include "dsl/ir/access_limits.h"

#include "tests/dsl/support.h"

#include <functional>

namespace nestsmith {
namespace {

using test::expect_user_error;

/// The sizes of a computation, and its axes i < M, j < N and k < K.
struct Sizes {
  Expr M, N, K, L, i, j, k;
};

/// Returns the limits of Y as text. Y sums X[index where mask] over k, and X has the given shape.
std::string limits(const std::function<std::vector<Expr>(const Sizes &)> &shape,
                   const std::function<std::vector<Expr>(const Sizes &)> &index,
                   const std::function<Expr(const Sizes &, const Tensor &flag)> &mask = {},
                   const Size &stated = {}) {
  Workload w("limits");
  Sizes z{w.size("M", stated), w.size("N", stated), w.size("K", stated), w.size("L", stated), {}, {}, {}};
  Tensor x = w.placeholder("X", shape(z)), flag = w.placeholder("F", {z.N}, DType::i32);
  Reduce k = reduce_axis("k", z.K);
  Tensor y = w.compute("Y", {z.M, z.N}, {"i", "j"}, [&](Expr i, Expr j) {
    z.i = i, z.j = j, z.k = k;
    return sum(load(x.buffer(), index(z), mask ? mask(z, flag) : Expr(), mask ? float_imm(0) : Expr()), k);
  });
  std::string text;
  for (const AccessLimit &limit : access_limits(w.output({y})))
    text += to_string(limit.least) + " <= " + to_string(limit.value) + ": " + limit.what + "\n";
  return text;
}

/// Returns the limits for an index of X with one dimension of extent L.
std::string of_index(const std::function<Expr(const Sizes &)> &index,
                     const std::function<Expr(const Sizes &, const Tensor &)> &mask = {},
                     const Size &stated = {}) {
  return limits([](const Sizes &z) { return std::vector{z.L}; },
                [&](const Sizes &z) { return std::vector{index(z)}; }, mask, stated);
}

std::string at_least(const std::string &least, const std::string &value = "L") {
  return least + " <= " + value + ": the extent of X in dimension 0\n";
}
std::string not_negative(const std::string &value) {
  return "0 <= " + value + ": the least index of X in dimension 0\n";
}

TEST(AccessLimits, OfExtentsThatDiffer) {
  auto rows = [](const Sizes &z) { return std::vector{z.M, z.L}; };
  auto in_order = [](const Sizes &z) { return std::vector{z.i, z.j}; };
  EXPECT_EQ(limits(rows, in_order), "N <= L: the extent of X in dimension 1\n");
  EXPECT_EQ(limits(rows,
                   [](const Sizes &z) {
                     return std::vector{z.j, z.k};
                   }),
            "N <= M: the extent of X in dimension 0\nK <= L: the extent of X in dimension 1\n");
  EXPECT_EQ(limits([](const Sizes &z) { return std::vector{z.M, z.N}; }, in_order), "");
  EXPECT_EQ(limits(
                [](const Sizes &z) {
                  return std::vector{z.M, Expr(64)};
                },
                in_order),
            "N <= 64: the extent of X in dimension 1\n");
  EXPECT_EQ(limits([](const Sizes &z) { return std::vector{z.M, max(z.N, z.L)}; }, in_order), "");
}

TEST(AccessLimits, OfArithmetic) {
  EXPECT_EQ(of_index([](const Sizes &z) { return z.j + z.N; }), at_least("N*2"));
  EXPECT_EQ(of_index([](const Sizes &z) { return z.j + z.k; }), at_least("K + N - 1"));
  EXPECT_EQ(of_index([](const Sizes &z) { return z.j / 2; }), at_least("(N + 1)//2"));
  EXPECT_EQ(of_index([](const Sizes &z) { return z.j % 8; }), at_least("8"));
  EXPECT_EQ(of_index([](const Sizes &z) { return z.j % z.L; }), "");
  EXPECT_EQ(of_index([](const Sizes &z) { return z.i * z.N + z.j; }), at_least("M*N"));
  EXPECT_EQ(of_index([](const Sizes &z) { return min(z.j, z.L - 1); }), "");
  EXPECT_EQ(of_index([](const Sizes &z) { return z.L - 1 - z.j; }), not_negative("L - N"));
  EXPECT_EQ(of_index([](const Sizes &z) { return max(z.L - 1 - z.j, 0); }), "");
  EXPECT_EQ(of_index([](const Sizes &z) { return select(z.i < 3, z.j, z.k); }), at_least("N") + at_least("K"));
  Size even = {.min = 2, .max = 1024, .multiple_of = 2};
  EXPECT_EQ(of_index([](const Sizes &z) { return binary(BinaryOp::bit_xor, z.j, Expr(1)); }, {}, even),
            at_least("N"));
}

/// A bound on one operand of min or max is enough.
TEST(AccessLimits, OfClampedReadsAreNone) {
  auto clamped = [](const Sizes &z) { return max(min(floordiv(z.k + Expr(1), z.j), z.L - Expr(1)), Expr(0)); };
  EXPECT_EQ(of_index(clamped), "");
  EXPECT_EQ(of_index([&](const Sizes &z) { return min(z.M - Expr(1), clamped(z)); }), "");
}

TEST(AccessLimits, StatedRangesProveThem) {
  Workload w("stated");
  Expr n = w.size("N", {.max = 64}), l = w.size("L", {.min = 64});
  Tensor x = w.placeholder("X", {l});
  EXPECT_TRUE(access_limits(w.output({w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return x(i); })}))
                  .empty());
}

TEST(AccessLimits, OfMasks) {
  auto j = [](const Sizes &z) { return z.j; };
  auto mask = [&](const std::function<Expr(const Sizes &)> &f) {
    return of_index(j, [&](const Sizes &z, const Tensor &) { return f(z); });
  };
  EXPECT_EQ(mask([](const Sizes &z) { return z.j < z.L; }), "");
  EXPECT_EQ(mask([](const Sizes &z) { return !(z.L <= z.j); }), "");
  EXPECT_EQ(mask([](const Sizes &z) { return z.i < 3 && z.j + 1 <= z.L; }), "");
  EXPECT_EQ(mask([](const Sizes &z) { return z.j < z.N / 2; }), at_least("N//2"));
  EXPECT_EQ(mask([](const Sizes &z) { return z.j * 2 < z.N; }), at_least("(N + 1)//2"));
  EXPECT_EQ(mask([](const Sizes &z) { return z.j <= z.i; }), at_least("min(N, M)"));
  EXPECT_EQ(mask([](const Sizes &z) { return z.j < 5 || z.j < z.L; }), at_least("min(N, 5)"));
  EXPECT_EQ(mask([](const Sizes &z) { return equal(z.j, z.k) && z.k < z.L; }), "");
  EXPECT_EQ(mask([](const Sizes &z) { return z.i < 3; }), at_least("N"));
}

TEST(AccessLimits, OfMaskedArithmetic) {
  auto shifted = [](const Sizes &z) { return z.j + z.k - 1; };
  EXPECT_EQ(
      of_index(shifted, [](const Sizes &z, const Tensor &) { return 1 <= z.j + z.k && z.j + z.k <= z.L; }), "");
  EXPECT_EQ(of_index(shifted, [](const Sizes &z, const Tensor &) { return 1 <= z.j + z.k; }),
            at_least("K + N - 2"));
  auto four = [](const Sizes &z) { return z.j * 4 + 3; };
  EXPECT_EQ(of_index(four, [](const Sizes &z, const Tensor &) { return z.j < z.L / 4; }), "");
  EXPECT_EQ(of_index([](const Sizes &z) { return z.L - z.j; },
                     [](const Sizes &z, const Tensor &) { return 1 <= z.j && z.j <= z.L; }),
            "");
}

/// A mask may depend on the caller's data. Then the sizes give no limit for an index that this data may keep in
/// bounds.
TEST(AccessLimits, OfDataAreTheCallers) {
  auto j = [](const Sizes &z) { return z.j; };
  auto data = [](const Sizes &z, const Tensor &flag) { return flag(z.j) > 0; };
  EXPECT_EQ(of_index(j, data), "");
  EXPECT_EQ(of_index([](const Sizes &z) { return z.k; }, data), at_least("K"));
  EXPECT_EQ(of_index(j, [&](const Sizes &z, const Tensor &flag) { return data(z, flag) && z.j < z.N / 2; }),
            "");
}

/// The right operand of && is evaluated only if the left operand is true, and an index only if its mask is
/// true.
TEST(AccessLimits, OfReadsInAMask) {
  Workload w("nested");
  Expr n = w.size("N"), l = w.size("L");
  Tensor f = w.placeholder("F", {l}, DType::i32), x = w.placeholder("X", {n});
  auto limits_of = [&](const std::string &name, const std::function<Expr(Expr)> &value) {
    std::string text;
    Workload copy = w;
    Tensor y = copy.compute(name, {n}, {"i"}, [&](Expr i) -> Definition { return value(i); });
    for (const AccessLimit &limit : access_limits(copy.output({y})))
      text += to_string(limit.least) + " <= " + to_string(limit.value);
    return text;
  };
  EXPECT_EQ(limits_of("A", [&](Expr i) { return x.where(i < l && f(i) > 0, i); }), "");
  EXPECT_EQ(limits_of("B", [&](Expr i) { return x.where(f(i) > 0 && i < l, i); }), "N <= L");
  EXPECT_EQ(limits_of("C", [&](Expr i) { return x.where(i < l, cast(DType::i64, f(i))); }), "");
  EXPECT_EQ(limits_of("D", [&](Expr i) { return x(cast(DType::i64, f(i))); }), "N <= L");
}

/// The mask states the bounds of the index itself, whatever the index is.
TEST(AccessLimits, OfAnIndexThatTheMaskBoundsAsItIs) {
  Workload w("pairs");
  Expr n = w.size("N");
  Tensor x = w.placeholder("X", {n});
  auto pair = [](const Expr &i) { return select(equal(floormod(i, 2), 0), i + 1, i - 1); };
  Tensor y = w.compute("Y", {n}, {"i"},
                       [&](Expr i) -> Definition { return x.where(0 <= pair(i) && pair(i) < n, pair(i)); });
  EXPECT_TRUE(access_limits(w.output({y})).empty());
}

TEST(AccessLimits, ThatNeverHoldAreRefused) {
  expect_user_error(
      [] { of_index([](const Sizes &z) { return z.j + z.L; }); }, ExitCode::usage,
      "block Y reads X at j + L in dimension 0, whose greatest value is L + N - 1 by its axes and its mask, "
      "which is out of "
      "bounds for all sizes, expected less than L; give the read the mask j + L < L, or change the shape");
  expect_user_error([] { of_index([](const Sizes &z) { return z.i - z.j - z.N; }); }, ExitCode::usage,
                    "out of bounds for all sizes, expected at least 0; give the read the mask 0 <= ");
  expect_user_error([] { of_index([](const Sizes &z) { return z.j / (z.k + 1); }); }, ExitCode::usage,
                    "is no expression of sizes that the launcher could compare with L; give the read the mask");
  EXPECT_EQ(
      of_index([](const Sizes &z) { return z.j / (z.k + 1); },
               [](const Sizes &z, const Tensor &) { return z.j / (z.k + 1) < z.L && 0 <= z.j / (z.k + 1); }),
      "");
}

/// Returns the number of limits of Y[i, j] = X[index where mask] for i < 8 and j < n, where X has 8 elements.
std::size_t limits_of_constant(const std::function<Expr(Expr i, Expr j)> &index,
                               const std::function<Expr(Expr i, Expr j)> &mask = {}, std::int64_t n = 3) {
  Workload w("constant");
  Tensor x = w.placeholder("X", {8});
  Tensor y = w.compute("Y", {8, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
    return mask ? x.where(mask(i, j), index(i, j)) : x(index(i, j));
  });
  return access_limits(w.output({y})).size();
}

TEST(AccessLimits, OfConstantShapesAreNone) {
  EXPECT_EQ(limits_of_constant([](Expr i, Expr) { return i; }), 0U);
  EXPECT_EQ(limits_of_constant([](Expr i, Expr) { return 7 - i; }), 0U);
  EXPECT_EQ(limits_of_constant([](Expr i, Expr) { return i + 1; }, [](Expr i, Expr) { return i < 7; }), 0U);
  EXPECT_EQ(limits_of_constant([](Expr i, Expr j) { return i - j; }, [](Expr i, Expr j) { return j <= i; }),
            0U);
  EXPECT_EQ(limits_of_constant([](Expr i, Expr) { return i + 100; }, [](Expr i, Expr) { return 8 <= i; }), 0U);
  // The simplification rules do not prove that the index is below 8, but it is for each i and j.
  EXPECT_EQ(limits_of_constant([](Expr i, Expr j) { return i * j - i * j / 2 * 2 + i / 2; }), 0U);
  EXPECT_EQ(limits_of_constant([](Expr i, Expr) { return select(i < 7, i + 1, i); }), 0U);
}

TEST(AccessLimits, OutOfBoundsForAConstantShapeIsRefused) {
  auto refused = [](const std::string &message, const std::function<Expr(Expr, Expr)> &index,
                    const std::function<Expr(Expr, Expr)> &mask = {}, std::int64_t n = 3) {
    expect_user_error([&] { limits_of_constant(index, mask, n); }, ExitCode::usage, message);
  };
  refused(
      "block Y reads X at i + 1 in dimension 0, which is 8 where i = 7, expected at least 0 and less than 8; "
      "give the read a mask, or change the shape",
      [](Expr i, Expr) { return i + 1; });
  refused("which is -1 where i = 0, expected at least 0", [](Expr i, Expr) { return i - 1; });
  refused(
      "which is 8 where i = 4, expected", [](Expr i, Expr) { return i + 4; },
      [](Expr i, Expr) { return i < 5; });
  refused("which is -1 where i = 0, j = 1, expected", [](Expr i, Expr j) { return i - j; });
  refused(
      "where i = 0, j = 9998", [](Expr i, Expr j) { return i + j / 1249; }, {}, 10000);
  refused("which is 8 where i = 7", [](Expr i, Expr) { return select(i < 8, i + 1, i); });
}

/// Without sharing, the index would have more than 2^40 nodes.
TEST(AccessLimits, OfALargeSharedIndexAreNotEvaluated) {
  auto large = [](Expr i, Expr) {
    for (int n = 0; n < 40; ++n)
      i = floormod(i * i + i, 8);
    return i;
  };
  EXPECT_EQ(limits_of_constant(large), 0U);
  EXPECT_EQ(limits_of_constant(large, [&](Expr i, Expr j) { return large(i, j) < 4; }), 0U);
}

TEST(AccessLimits, ReadsOfOneElementAreEvaluatedToo) {
  Workload w("one");
  Tensor x = w.placeholder("X", {1});
  Program program = w.output({w.compute("Y", {1}, {"i"}, [&](Expr i) -> Definition { return x(i + 1); })});
  expect_user_error([&] { access_limits(program); }, ExitCode::usage,
                    "block Y reads X at i + 1 in dimension 0, which is 1");
}

/// Reads of a stage that is not an output have limits as well.
TEST(AccessLimits, OfStages) {
  Workload w("stages");
  Expr n = w.size("N"), l = w.size("L");
  Tensor x = w.placeholder("X", {l}),
         t = w.compute("T", {l}, {"i"}, [&](Expr i) -> Definition { return x(i); });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return t(i) + t(n - 1 - i); });
  auto found = access_limits(w.output({y}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "the extent of T in dimension 0");
}

} // namespace
} // namespace nestsmith
