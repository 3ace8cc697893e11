/// Tests caches of reads under masks. If the mask and its fill are functions of the element, they move into the
/// cache. Otherwise the reader keeps them.

#include "tests/dsl/support.h"

#include <gtest/gtest.h>

#include <functional>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::same_meaning;

using Element = std::function<Definition(const Tensor &, Expr)>;

/// Returns the program Y[i] = element(X, i) for i < m, where X has n elements.
Program read_of(std::int64_t m, std::int64_t n, const Element &element, DType dtype = DType::u32) {
  Workload w("read");
  Tensor x = w.placeholder("X", {n}, dtype);
  Tensor y = w.compute("Y", {m}, {"i"}, [&](Expr i) { return element(x, i); });
  return w.output({y});
}

/// Returns X[index] where `mask` is true, and `fill` elsewhere.
Expr read(const Tensor &x, Expr index, Expr mask, Expr fill) {
  return load(x.buffer(), {std::move(index)}, std::move(mask), std::move(fill));
}

const Block &block_of(const Schedule &s, const char *name) {
  return *find_block(s.program().body, s.block(name).id);
}

/// The values of the copy and of Y after cache_read(Y, X), and the shape of the copy.
struct Cached {
  std::string copy, reader;
  std::vector<std::int64_t> shape;
};
Cached cached(Schedule &s) {
  s.cache_read(s.block("Y"), "X", Scope::shared);
  const Block &copy = block_of(s, "X_shared");
  Cached result{to_string(copy.body.value), to_string(block_of(s, "Y").body.value), {}};
  for (const Expr &extent : copy.body.buffer->shape)
    result.shape.push_back(as_int(extent).value_or(-1));
  EXPECT_TRUE(same_meaning(s));
  return result;
}
Cached cached(Program program) {
  Schedule s(std::move(program));
  return cached(s);
}

Program convolution(std::int64_t n, std::int64_t taps, std::int64_t before) {
  return read_of(n, n, [&](const Tensor &x, Expr i) {
    Reduce d = reduce_axis("d", taps);
    return sum(x.where(before <= i + d && i + d - before < n, i + d - before), d);
  });
}

TEST(CacheOfMaskedRead, HoldsThePaddingOfAConvolution) {
  Cached c = cached(convolution(7, 3, 1));
  EXPECT_EQ(c.shape, std::vector<std::int64_t>{9});
  EXPECT_EQ(c.copy, "(X[X_0 - 1] where 1 <= X_0 and X_0 < 8 else 0)");
  EXPECT_EQ(c.reader, "Y[i] + X_shared[d + i]");
}

TEST(CacheOfMaskedRead, OfEverySize) {
  for (std::int64_t n : {1, 2, 3, 5, 8, 31})
    for (std::int64_t taps : {1, 2, 5})
      for (std::int64_t before : {0, 1, 4, 7}) {
        Schedule s(convolution(n, taps, before));
        Cached c = cached(s);
        EXPECT_FALSE(contains(c.reader, "where")) << n << " " << taps << " " << before;
        auto [o, i] = s.split<2>(s.loop("i"), {infer, 4});
        s.compute_at(s.block("X_shared"), o);
        EXPECT_TRUE(same_meaning(s)) << print(s.program());
      }
}

TEST(CacheOfMaskedRead, OfNeighboursWithMasksOfTheirOwn) {
  Cached c = cached(read_of(9, 9, [](const Tensor &x, Expr i) -> Definition {
    return x.where(i >= 2, i - 2) * 3 + x(i) + x.where(i + 1 < 9, i + 1) * 5;
  }));
  EXPECT_EQ(c.shape, std::vector<std::int64_t>{12});
  EXPECT_EQ(c.reader, "X_shared[i]*3 + X_shared[i + 2] + X_shared[i + 3]*5");
}

TEST(CacheOfMaskedRead, HasTheFillOfTheMask) {
  Cached c = cached(read_of(5, 5, [](const Tensor &x, Expr i) -> Definition {
    return read(x, i - 1, i >= 1, constant(DType::u32, 77));
  }));
  EXPECT_EQ(c.copy, "(X[X_0 - 1] where 1 <= X_0 else 77)");
}

TEST(CacheOfMaskedRead, HasAFillThatIsAFunctionOfTheElement) {
  Cached c = cached(read_of(
      5, 3, [](const Tensor &x, Expr i) -> Definition { return read(x, i, i < 3, cast(DType::u32, i * 7)); }));
  EXPECT_EQ(c.reader, "X_shared[i]");
  EXPECT_EQ(c.shape, std::vector<std::int64_t>{5});
}

TEST(CacheOfMaskedRead, HasAFillThatTheCallerPasses) {
  Workload w("scalar");
  Tensor x = w.placeholder("X", {6}, DType::u32);
  Expr edge = w.scalar("edge", DType::u32);
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return read(x, i - 1, i >= 1, edge); });
  EXPECT_EQ(cached(w.output({y})).reader, "X_shared[i]");
}

TEST(CacheOfMaskedRead, OfAMaskOnAScalar) {
  Workload w("scalar");
  Tensor x = w.placeholder("X", {6}, DType::u32);
  Expr first = w.scalar("first", DType::u32);
  Tensor y =
      w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return x.where(first < cast(DType::u32, i), i); });
  EXPECT_EQ(cached(w.output({y})).reader, "X_shared[i]");
}

TEST(CacheOfMaskedRead, OfAMaskInsideOfTheBuffer) {
  Cached c =
      cached(read_of(9, 9, [](const Tensor &x, Expr i) -> Definition { return x.where(i % 3 == 1, i); }));
  EXPECT_EQ(c.copy, "(X[X_i] where X_i%3 == 1 else 0)");
  EXPECT_EQ(c.shape, std::vector<std::int64_t>{9});
}

/// The cache also has the elements between those that Y reads. Its mask keeps the indices of all elements in
/// bounds.
TEST(CacheOfMaskedRead, OfStrides) {
  for (std::int64_t n : {1, 6, 7, 8, 9}) {
    Cached c = cached(read_of(5, n, [&](const Tensor &x, Expr i) -> Definition {
      return x.where(0 <= i * 3 - 4 && i * 6 - 8 < 2 * n, i * 3 - 4);
    }));
    EXPECT_FALSE(contains(c.reader, "where")) << c.reader;
  }
  Cached c = cached(read_of(5, 4, [&](const Tensor &x, Expr i) -> Definition {
    return x.where(0 <= i * 3 - 4 && i < 3, i * 3 - 4);
  }));
  EXPECT_EQ(c.copy, "X[X_0]"); // i is not a linear function of the element
}

TEST(CacheOfMaskedRead, OfACausalConvolution) {
  Workload w("causal");
  Tensor x = w.placeholder("X", {9}, DType::u32);
  Reduce k = reduce_axis("k", 4);
  Tensor y = w.compute("Y", {9}, {"i"}, [&](Expr i) { return sum(x.where(k <= i, i - k), k); });
  Cached c = cached(w.output({y}));
  EXPECT_EQ(c.shape, std::vector<std::int64_t>{12});
  EXPECT_FALSE(contains(c.reader, "where")) << c.reader;
}

TEST(CacheOfMaskedRead, OfATriangle) {
  Workload w("triangle");
  Tensor a = w.placeholder("X", {7, 7}, DType::u32), b = w.placeholder("B", {7, 5}, DType::u32);
  Reduce k = reduce_axis("k", 7);
  Tensor y = w.compute("Y", {7, 5}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(a.where(k <= i, i, k) * b(k, j), k); });
  Cached c = cached(w.output({y}));
  EXPECT_EQ(c.copy, "(X[X_i, X_k] where X_k <= X_i else 0)");
  EXPECT_EQ(c.reader, "Y[i, j] + X_shared[i, k]*B[k, j]");
}

/// The indices of the image are digits of the row and the column of a product (im2col).
TEST(CacheOfMaskedRead, OfAnImageWhoseIndicesAreDigits) {
  constexpr std::int64_t h = 4, wd = 5;
  Workload w("im2col");
  Tensor x = w.placeholder("X", {h, wd}, DType::u32);
  Tensor y = w.compute("Y", {h * wd, 9}, {"m", "k"}, [&](Expr m, Expr k) -> Definition {
    Expr r = m / wd + k / 3 - 1, c = m % wd + k % 3 - 1;
    return x.where(0 <= r && r < h && 0 <= c && c < wd, r, c);
  });
  Cached c = cached(w.output({y}));
  EXPECT_EQ(c.shape, (std::vector<std::int64_t>{h + 2, wd + 2}));
  EXPECT_FALSE(contains(c.reader, "where")) << c.reader;
}

TEST(CacheOfMaskedRead, OfReadsInTheInitAndInAnIndex) {
  Workload w("both");
  Tensor x = w.placeholder("X", {6}, DType::u32);
  Tensor t = w.compute("T", {6}, {"i"}, [&](Expr i) -> Definition { return x.where(i >= 1, i - 1) % 6; });
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition {
    return x(cast(DType::i64, x.where(i >= 1, i - 1) % 6)) + t(i);
  });
  EXPECT_FALSE(contains(cached(w.output({y})).reader, "where"));
}

/// The mask is not a function of the element, so the reader keeps it. The cache has all elements of the buffer.
TEST(CacheOfMaskedRead, KeepsAMaskOnAnotherAxis) {
  Cached c = cached(read_of(9, 12, [](const Tensor &x, Expr i) {
    Reduce k = reduce_axis("k", 12);
    return sum(x.where(k <= i, k), k);
  }));
  EXPECT_EQ(c.copy, "X[X_k]");
  EXPECT_EQ(c.reader, "Y[i] + (X_shared[k] where k <= i else 0)");
}

TEST(CacheOfMaskedRead, KeepsAMaskThatBoundsTheIndexOnlyWithAnother) {
  Cached c = cached(read_of(9, 9, [](const Tensor &x, Expr i) {
    Reduce k = reduce_axis("k", 20);
    return sum(x.where(k <= i, k), k);
  }));
  EXPECT_EQ(c.copy, "X[X_k]");
}

TEST(CacheOfMaskedRead, KeepsAMaskOfAFlatIndex) {
  constexpr std::int64_t n = 5;
  Workload w("flat");
  Tensor x = w.placeholder("X", {n * n}, DType::u32);
  Tensor y = w.compute("Y", {n, n}, {"i", "j"},
                       [&](Expr i, Expr j) -> Definition { return x.where(1 <= j, i * n + j - 1); });
  Cached c = cached(w.output({y}));
  EXPECT_EQ(c.copy, "X[X_0]");
  EXPECT_TRUE(contains(c.reader, "where 1 <= j else 0")) << c.reader;
}

TEST(CacheOfMaskedRead, KeepsAMaskThatReadsMemory) {
  Workload w("data");
  Tensor x = w.placeholder("X", {6}, DType::u32), f = w.placeholder("F", {6}, DType::u32);
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return x.where(f(i) % 2 == 0, i); });
  Cached c = cached(w.output({y}));
  EXPECT_EQ(c.copy, "X[X_i]");
}

TEST(CacheOfMaskedRead, KeepsAFillThatReadsMemory) {
  Cached c = cached(read_of(5, 5, [](const Tensor &x, Expr i) -> Definition {
    return read(x, i - 1, i >= 1, x(0)); // the first element repeats at the edge
  }));
  EXPECT_EQ(c.copy, "X[X_0]");
  EXPECT_EQ(c.reader, "(X_shared[i - 1] where 1 <= i else X_shared[0])");
}

TEST(CacheOfMaskedRead, KeepsMasksOfDifferentFills) {
  Cached c = cached(read_of(6, 6, [](const Tensor &x, Expr i) -> Definition {
    return x.where(i >= 1, i - 1) + read(x, i + 1, i < 5, constant(DType::u32, 9));
  }));
  EXPECT_EQ(c.copy, "X[X_0]");
}

TEST(CacheOfMaskedRead, KeepsMasksThatDisagreeOnAnElement) {
  Cached c = cached(
      read_of(6, 6, [](const Tensor &x, Expr i) -> Definition { return x.where(i >= 3, i) + x(i) * 5; }));
  EXPECT_EQ(c.copy, "X[X_i]");
  c = cached(read_of(
      6, 6, [](const Tensor &x, Expr i) -> Definition { return x.where(i >= 3, i) + x.where(i >= 2, i) * 5; }));
  EXPECT_EQ(c.copy, "X[X_i]");
}

TEST(CacheOfMaskedRead, KeepsAMaskWhoseDivisorDependsOnTheElement) {
  Cached c = cached(
      read_of(6, 6, [](const Tensor &x, Expr i) -> Definition { return x.where(12 / (i + 1) == 3, i); }));
  EXPECT_EQ(c.copy, "X[X_i]");
}

/// Each reader of one buffer has a cache of its own.
TEST(CacheOfMaskedRead, OfEachReader) {
  Workload w("readers");
  Tensor x = w.placeholder("X", {6}, DType::u32);
  Tensor t = w.compute("T", {6}, {"i"}, [&](Expr i) -> Definition { return x.where(i >= 1, i - 1); });
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return x.where(i < 5, i + 1) + t(i); });
  Schedule s(w.output({y}));
  s.cache_read(s.block("T"), "X", Scope::shared);
  s.cache_read(s.block("Y"), "X", Scope::shared);
  EXPECT_EQ(to_string(block_of(s, "X_shared").body.value), "(X[X_0 - 1] where 1 <= X_0 else 0)");
  EXPECT_EQ(to_string(block_of(s, "X_shared_1").body.value), "(X[X_0] where X_0 < 6 else 0)");
  EXPECT_TRUE(same_meaning(s));
}

TEST(CacheOfMaskedRead, OfACacheOfAMaskedRead) {
  Schedule s(convolution(9, 3, 1));
  cached(s);
  s.cache_read(s.block("Y"), "X_shared", Scope::local);
  auto [o, i] = s.split<2>(s.loop("i"), {infer, 4});
  s.compute_at(s.block("X_shared_local"), i);
  s.compute_at(s.block("X_shared"), o);
  EXPECT_TRUE(same_meaning(s)) << print(s.program());
}

TEST(CacheOfMaskedRead, AfterTheNestIsBuilt) {
  Schedule s(convolution(23, 3, 1));
  auto [o, i] = s.split<2>(s.loop("i"), {infer, 8});
  s.bind(o, Axis::block_x);
  s.bind(i, Axis::thread_x);
  cached(s);
  s.compute_at(s.block("X_shared"), o);
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(to_string(s.loops(s.block("X_shared")).back().var
                          ? find_loop(s.program().body, s.loops(s.block("X_shared")).back().var)->extent
                          : Expr(0)),
            "10");
}

TEST(CacheOfMaskedRead, OfASizeKnownAtLaunch) {
  Workload w("size");
  Expr n = w.size("N", {.max = 1000});
  Tensor x = w.placeholder("X", {n}, DType::u32);
  Reduce d = reduce_axis("d", 3);
  Tensor y = w.compute("Y", {n}, {"i"},
                       [&](Expr i) { return sum(x.where(1 <= i + d && i + d - 1 < n, i + d - 1), d); });
  Schedule s(w.output({y}));
  s.cache_read(s.block("Y"), "X", Scope::shared);
  const Block &copy = block_of(s, "X_shared");
  EXPECT_EQ(to_string(copy.body.buffer->shape[0]), "N + 2");
  EXPECT_EQ(to_string(copy.body.value), "(X[X_0 - 1] where 1 <= X_0 and X_0 < N + 1 else 0)");
  EXPECT_EQ(to_string(block_of(s, "Y").body.value), "Y[i] + X_shared[d + i]");
}

TEST(CacheReadRefuses, AMaskedReadOfATemporaryOfWhichAPartIsComputed) {
  Workload w("part");
  Tensor x = w.placeholder("X", {20}, DType::u32);
  Tensor t = w.compute("T", {20}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor u = w.compute("U", {15}, {"i"}, [&](Expr i) -> Definition { return t(i + 5); });
  Tensor y = w.compute("Y", {15}, {"i"}, [&](Expr i) -> Definition { return u.where(i >= 1, i - 1); });
  Schedule s(w.output({y}));
  s.compute_at(s.block("T"), s.loops(s.block("U"))[0]);
  s.compute_inline(s.block("U")); // Y reads T, but no block writes the first elements of T
  expect_refused(
      s, "cache_read.whole", [&] { s.cache_read(s.block("Y"), "T", Scope::shared); },
      "the loops around block T compute only a part of T, and the new block would read all of it; use "
      "cache_read before compute_at",
      {"T"});
}

} // namespace
} // namespace nestsmith
