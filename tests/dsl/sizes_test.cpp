/// Tests index arithmetic with sizes that are known only at launch, and compares it with the interpreter at
/// every point.

#include "dsl/expr/simplify.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace nestsmith {
namespace {

const Var M = make_size("M", {}), N = make_size("N", {}), K = make_size("K", {.multiple_of = 32});

/// A loop over M, loops over tiles of M and K, the loop of a tile, and a loop over M x N.
struct Loops {
  Var i = make_var("i"), tile = make_var("tile"), k_tile = make_var("k_tile"), in = make_var("in"),
      e = make_var("e");
  Bounds bounds;
  Loops() {
    bounds.set_extent(i, M);
    bounds.set_extent(tile, ceildiv(M, 32));
    bounds.set_extent(k_tile, ceildiv(K, 32));
    bounds.set_extent(in, 32);
    bounds.set_extent(e, Expr(M) * Expr(N));
  }
};

std::string simplified(const Expr &e, const Bounds &bounds = {}) { return to_string(simplify(e, bounds)); }

TEST(Sizes, CancelAgainstTheExtentsOfLoops) {
  Loops l;
  EXPECT_TRUE(proves(Expr(l.i) < Expr(M), l.bounds));
  EXPECT_TRUE(proves(Expr(l.tile) * Expr(32) < Expr(M), l.bounds));
  EXPECT_FALSE(proves(Expr(l.tile) * Expr(32) + Expr(l.in) < Expr(M), l.bounds));
  EXPECT_TRUE(proves(Expr(l.tile) * Expr(32) + Expr(l.in) < ceildiv(M, 32) * Expr(32), l.bounds));
  EXPECT_TRUE(proves(Expr(M) <= ceildiv(M, 32) * Expr(32), l.bounds));
  EXPECT_FALSE(proves(Expr(l.i) < Expr(N), l.bounds));
}

TEST(Sizes, AreMultiplesAsStated) {
  Loops l;
  EXPECT_TRUE(proves(Expr(l.k_tile) * Expr(32) + Expr(l.in) < Expr(K), l.bounds));
  EXPECT_EQ(simplified(ceildiv(K, 32)), "K//32");
  EXPECT_EQ(simplified(ceildiv(K, 32) * Expr(32)), "K");
  EXPECT_EQ(simplified(ceildiv(K, 64) * Expr(64)), "(K + 32)//64*64");
  EXPECT_EQ(simplified(floormod(K, 8)), "0");
  EXPECT_EQ(simplified(floormod(K, 64)), "K//32%2*32");
  EXPECT_EQ(simplified(floordiv(Expr(K) + Expr(3), 8)), "K//8");
  EXPECT_EQ(simplified(Expr(K) * Expr(3) - Expr(K)), "K*2");
  EXPECT_EQ(simplified(ceildiv(M, 32)), "(M + 31)//32");
}

TEST(Sizes, JoinTheDigitsOfThreeAxes) {
  const Var f = make_var("f"), B = make_size("B", {}), C = make_size("C", {});
  const Expr x = f, b = B, c = C, high = floordiv(floordiv(x, c), b), middle = floormod(floordiv(x, c), b);
  EXPECT_EQ(simplified(high * (b * c) + middle * c + floormod(x, c)), "f");
  EXPECT_EQ(simplified(high * (c * b) + c * middle + floormod(x, c)), "f");
  EXPECT_EQ(simplified(high * b * c + middle * c), "f//C*C");
  EXPECT_NE(simplified(high * (b * c) + middle * c + floormod(x, b)), "f");
  EXPECT_NE(simplified(high * (b * b) + middle * c + floormod(x, c)), "f");
}

TEST(Sizes, OfMultiplesRoundUpToTheNextTile) {
  Var E = make_size("E", {.multiple_of = 4});
  EXPECT_EQ(simplified(ceildiv(E, 16) * Expr(16)), "(E + 12)//16*16");
  EXPECT_TRUE(proves(Expr(E) <= ceildiv(E, 16) * Expr(16), {}));
  EXPECT_TRUE(proves(Expr(E) <= ceildiv(E, 8) * Expr(8), {}));
  EXPECT_TRUE(proves(ceildiv(E, 16) * Expr(16) <= Expr(E) + Expr(12), {}));
  EXPECT_FALSE(proves(ceildiv(E, 16) * Expr(16) <= Expr(E) + Expr(11), {}));
  EXPECT_FALSE(proves(Expr(E) + Expr(1) <= ceildiv(E, 16) * Expr(16), {}));
  EXPECT_FALSE(proves(Expr(E) <= floordiv(Expr(E) + Expr(8), 16) * Expr(16), {}));
}

/// A divisor of several terms, such as the rows L - 2 of a convolution without padding.
TEST(Sizes, DivideBySums) {
  const Var L = make_size("L", {.min = 3}), i = make_var("i"), b = make_var("b"), o = make_var("o");
  const Expr rows = Expr(L) - Expr(2);
  Bounds bounds;
  bounds.set_extent(i, Expr(2) * rows);
  bounds.set_extent(b, 2);
  bounds.set_extent(o, rows);
  EXPECT_EQ(simplified(floordiv(Expr(2) * Expr(L) - Expr(5), rows)), "1");
  EXPECT_EQ(simplified(floordiv(Expr(L) - Expr(3), rows)), "0");
  EXPECT_EQ(simplified(floormod(Expr(3) * rows, rows)), "0");
  EXPECT_EQ(simplified(floordiv(Expr(b) * rows + Expr(o), rows), bounds), "b");
  EXPECT_EQ(simplified(floormod(Expr(b) * rows + Expr(o), rows), bounds), "o");
  EXPECT_EQ(simplified(floordiv(i, rows) * rows + floormod(i, rows), bounds), "i");
  EXPECT_TRUE(proves(floordiv(i, rows) < Expr(2), bounds));
  EXPECT_FALSE(proves(floordiv(i, rows) < Expr(1), bounds));
  EXPECT_FALSE(proves(floordiv(Expr(2) * Expr(L) - Expr(4), rows) < Expr(2), bounds));
}

/// The first coefficient of the divisor may be -1, by which the least number is not divided.
TEST(Sizes, AreNotDividedByANegativeFirstTerm) {
  const Var L = make_size("L", {.min = 1, .max = 4});
  const Expr least = Expr(std::numeric_limits<std::int64_t>::min()) * Expr(L);
  EXPECT_TRUE(simplify(floordiv(least, Expr(5) - Expr(L)), {}).exists());
  EXPECT_TRUE(simplify(floormod(Expr(7) - Expr(L), Expr(5) - Expr(L)), {}).exists());
}

/// Of two divisions, only the subtracted one is replaced: what remains of it cancels the other one.
TEST(Sizes, RoundHalvesUpToTheNextTile) {
  const Expr half = ceildiv(M, 2), tiles = ceildiv(half * Expr(2), 16);
  EXPECT_TRUE(proves(half * Expr(2) <= tiles * Expr(16), {}));
  EXPECT_FALSE(proves(half * Expr(2) < tiles * Expr(16), {}));
}

TEST(Sizes, DivideAFusedLoop) {
  Loops l;
  EXPECT_TRUE(proves(floormod(l.e, N) < Expr(N), l.bounds));
  EXPECT_TRUE(proves(floordiv(l.e, N) < Expr(M), l.bounds));
  Var j = make_var("j");
  l.bounds.set_extent(j, N);
  EXPECT_EQ(simplified(floordiv(Expr(l.i) * Expr(N) + Expr(j), N), l.bounds), "i");
  EXPECT_EQ(simplified(floormod(Expr(l.i) * Expr(N) + Expr(j), N), l.bounds), "j");
  EXPECT_EQ(simplified(floordiv(Expr(M) * Expr(N), N)), "M");
}

/// The loops of 8 tiles of E/2 elements, fused. The quotient has no other term, so the sizes in it do not
/// cancel.
TEST(Sizes, DivideAFusedLoopByAPartOfASize) {
  Var even = make_size("E", {.multiple_of = 4}), fused = make_var("fused");
  Expr half = floordiv(even, 2);
  Bounds bounds;
  bounds.set_extent(fused, Expr(even) * Expr(4));
  EXPECT_TRUE(proves(floordiv(fused, half) < 8, bounds));
  EXPECT_FALSE(proves(floordiv(fused, half) < 7, bounds));
  auto range = range_of(floordiv(fused, half), bounds);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 0);
  EXPECT_EQ(range->high, 7);
}

TEST(Sizes, BoundNoDataThatWrap) {
  Loops l;
  for (const Expr &d : {cast(DType::i32, floormod(l.i, 2)), cast(DType::i32, l.i)}) {
    EXPECT_FALSE(range_of(d + 2147483647, l.bounds));
    EXPECT_FALSE(range_of(d + cast(DType::i32, l.in) + 2147483647, l.bounds));
    EXPECT_FALSE(proves(logical_not(d + 2147483647 < d), l.bounds));
    EXPECT_TRUE(proves(d < d + 1, l.bounds));
  }
}

/// A remainder modulo M - 5 is below M - 5 only if M - 5 is positive, and M may be 3.
TEST(Sizes, ThatMayBeNegativeBoundNoRemainder) {
  Loops l;
  Expr less = Expr(M) - 5, more = Expr(M) + 5;
  EXPECT_FALSE(proves(floormod(l.i, less) < less, l.bounds));
  EXPECT_TRUE(proves(floormod(l.i, more) < more, l.bounds));
}

TEST(Sizes, HaveARange) {
  auto range = range_of(K, {});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 32);
  EXPECT_EQ(range->high, std::int64_t{1} << 30);
  Loops l;
  EXPECT_EQ(range_of(Expr(l.tile) * Expr(32) + Expr(l.in), l.bounds)->high, (std::int64_t{1} << 30) - 1);
  EXPECT_EQ(to_string(*highest(Expr(l.tile) * Expr(32) + Expr(l.in), l.bounds)), "(M + 31)//32*32 - 1");
  EXPECT_EQ(to_string(*highest(Expr(l.in) * Expr(2), l.bounds)), "62");
}

/// The first iterations of parts of M iterations, which split_by makes of a loop of K.
TEST(Sizes, BoundTheirMultiples) {
  Var part = make_var("part"), in = make_var("in");
  Bounds bounds;
  bounds.set_extent(part, ceildiv(K, M));
  bounds.set_extent(in, M);
  for (const Expr &first : {Expr(part) * Expr(M), Expr(M) * Expr(part)}) {
    std::optional<Expr> last = highest(first + Expr(in), bounds);
    ASSERT_TRUE(last);
    EXPECT_EQ(to_string(*last), "(K - 1)//M*M + M - 1");
    EXPECT_TRUE(proves(Expr(K) <= *last + Expr(1), bounds));
    EXPECT_FALSE(proves(Expr(K) < *last + Expr(1), bounds));
    EXPECT_TRUE(proves(*last <= Expr(K) + Expr(M) - Expr(2), bounds));
    EXPECT_FALSE(proves(*last < Expr(K) + Expr(M) - Expr(2), bounds));
  }
  Bounds shifted; // no upper bound, because M - 5 may be negative
  shifted.set_extent(part, K);
  std::optional<Expr> negative = highest(Expr(part) * (Expr(M) - Expr(5)), shifted);
  EXPECT_TRUE(!negative || to_string(*negative).find("M") == std::string::npos);
}

/// Of the loop that fuse makes of loops of sizes and of a constant.
TEST(Sizes, DivideAFusedLoopIntoItsParts) {
  Var fused = make_var("fused");
  Bounds bounds;
  bounds.set_extent(fused, Expr(M) * Expr(2) * Expr(N));
  EXPECT_EQ(simplified(floordiv(fused, N) * Expr(N) + floormod(fused, N), bounds), "fused");
  EXPECT_EQ(simplified((floordiv(fused, N) + Expr(3)) * Expr(N) + floormod(fused, N), bounds), "N*3 + fused");
  EXPECT_EQ(simplified(floordiv(fused, N) * Expr(N) - floormod(fused, N), bounds), "fused//N*N - fused%N");
  EXPECT_EQ(simplified(floordiv(floordiv(fused, N), 2) * Expr(2) * Expr(N) +
                           floormod(floordiv(fused, N), 2) * Expr(N) + floormod(fused, N),
                       bounds),
            "fused");
  EXPECT_TRUE(proves(floordiv(floordiv(fused, N), 2) < Expr(M), bounds));
  EXPECT_FALSE(proves(floordiv(floordiv(fused, N), 2) < Expr(M) - Expr(1), bounds));
  EXPECT_TRUE(proves(floordiv(fused, N) < Expr(M) * Expr(2), bounds));
}

/// Random expressions of small sizes and of loops whose extents depend on the sizes.
class SizedWorld {
public:
  explicit SizedWorld(unsigned seed) : random_(seed) {
    auto size = [&](const char *name) {
      std::int64_t unit = 1 + pick(3), low = 1 + pick(4);
      sizes.push_back(make_size(name, {.min = low, .max = low + 2 * unit, .multiple_of = unit}));
    };
    size("M");
    size("N");
    loops.emplace_back(make_var("i"), Expr(sizes[0]));
    loops.emplace_back(make_var("j"), ceildiv(sizes[1], 1 + pick(3)));
    loops.emplace_back(make_var("e"), Expr(sizes[0]) * Expr(sizes[1]));
    loops.emplace_back(make_var("t"), Expr(1 + pick(3)));
    for (const auto &[var, extent] : loops)
      bounds.set_extent(var, extent);
  }
  std::int64_t pick(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  Expr leaf() {
    switch (pick(4)) {
    case 0:
      return pick(7) - 2;
    case 1:
      return sizes[static_cast<std::size_t>(pick(2))];
    default:
      return loops[static_cast<std::size_t>(pick(4))].first;
    }
  }
  Expr divisor() { return pick(2) ? Expr(sizes[static_cast<std::size_t>(pick(2))]) : Expr(1 + pick(4)); }
  Expr index(int depth) {
    if (depth == 0)
      return leaf();
    Expr a = index(depth - 1);
    switch (pick(8)) {
    case 0:
    case 1:
      return a + index(depth - 1);
    case 2:
      return a - index(depth - 1);
    case 3:
      return a * divisor();
    case 4:
    case 5:
      return floordiv(a, divisor());
    case 6:
      return floormod(a, divisor());
    default:
      return pick(2) ? min(a, index(depth - 1)) : max(a, index(depth - 1));
    }
  }
  /// Calls f with the values of all variables at every point.
  template <class F> void points(const F &f) {
    std::map<Var, Scalar> at;
    for (std::int64_t m : values(sizes[0]))
      for (std::int64_t n : values(sizes[1])) {
        at[sizes[0]] = Scalar::of(DType::i64, m);
        at[sizes[1]] = Scalar::of(DType::i64, n);
        nest(0, at, f);
      }
  }

  std::vector<Var> sizes;
  std::vector<std::pair<Var, Expr>> loops;
  Bounds bounds;

private:
  static std::vector<std::int64_t> values(const Var &size) {
    std::vector<std::int64_t> all;
    for (std::int64_t n = size->size->min; n <= size->size->max; ++n)
      if (n % size->size->multiple_of == 0)
        all.push_back(n);
    return all;
  }
  template <class F> void nest(std::size_t n, std::map<Var, Scalar> &at, const F &f) {
    if (n == loops.size())
      return f(at);
    auto extent = evaluate(loops[n].second, at).as<std::int64_t>();
    for (std::int64_t value = 0; value < extent; value += 1 + extent / 5) {
      at[loops[n].first] = Scalar::of(DType::i64, value);
      nest(n + 1, at, f);
    }
    at[loops[n].first] = Scalar::of(DType::i64, extent - 1);
    nest(n + 1, at, f);
  }
  std::mt19937 random_;
};

TEST(Sizes, SimplifyToTheSameValueInTheRangeThatIsSaid) {
  std::size_t proved = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SizedWorld world(seed);
    Expr e = world.index(1 + static_cast<int>(seed % 3)), other = world.index(1);
    Expr simple = simplify(e, world.bounds), condition = e < other;
    auto range = range_of(e, world.bounds);
    auto most = highest(e, world.bounds);
    bool holds = proves(condition, world.bounds), fails = proves(logical_not(condition), world.bounds);
    proved += holds || fails;
    bool good = true;
    world.points([&](const std::map<Var, Scalar> &at) {
      auto value = evaluate(e, at).as<std::int64_t>();
      good = good && evaluate(simple, at).as<std::int64_t>() == value;
      good = good && (!range || (range->low <= value && value <= range->high));
      good = good && (!most || value <= evaluate(*most, at).as<std::int64_t>());
      bool truth = evaluate(condition, at).bits != 0;
      good = good && (!holds || truth) && (!fails || !truth);
    });
    ASSERT_TRUE(good) << "seed " << seed << ": " << to_string(e) << " simplified to " << to_string(simple)
                      << (range ? " in " + std::to_string(range->low) + " … " + std::to_string(range->high)
                                : "")
                      << (most ? ", at most " + to_string(*most) : "") << "; " << to_string(condition)
                      << " is said to "
                      << (holds   ? "hold"
                          : fails ? "fail"
                                  : "be unknown");
  }
  EXPECT_GT(proved, 30U);
}

} // namespace
} // namespace nestsmith
