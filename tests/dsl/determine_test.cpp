/// Tests `determine`: whether known values determine the values of loops. Each check for races asks this.

#include "dsl/ir/region.h"
#include "tests/dsl/support.h"

#include <random>

namespace nestsmith {
namespace {

const auto none = [](const Var &) { return false; };

/// A number that is split into an outer loop and a loop for each factor.
struct SplitNumber {
  std::vector<Var> loops;
  Bounds bounds;
  Expr value = 0;

  SplitNumber(std::int64_t outer, const std::vector<std::int64_t> &factors) {
    std::int64_t step = 1;
    for (std::int64_t factor : factors)
      step *= factor;
    add(outer, step);
    for (std::int64_t factor : factors)
      add(factor, step /= factor);
  }
  void add(std::int64_t extent, std::int64_t step) {
    loops.push_back(make_var("x" + std::to_string(loops.size())));
    bounds.set_extent(loops.back(), Expr(extent));
    value = value + Expr(loops.back()) * Expr(step);
  }
  Expr simple(const Expr &e) const { return simplify(e, bounds); }
};

TEST(Determine, TheDigitsOfANumberDetermineItForAllExtents) {
  for (std::int64_t b : {2, 3, 6, 7, 10, 224})
    for (std::int64_t c : {3, 4, 6, 8, 13, 24})
      for (const std::vector<std::int64_t> &factors : std::vector<std::vector<std::int64_t>>{
               {256}, {32, 8}, {96, 4}, {100, 4}, {128, 3}, {4, 32}, {7}, {8, 4, 4}}) {
        SplitNumber f(20000, factors); // the outer extent is larger than each b*c
        Expr high = f.simple(floordiv(f.value, Expr(b * c)));
        Expr middle = f.simple(floormod(floordiv(f.value, Expr(c)), Expr(b)));
        Expr low = f.simple(floormod(f.value, Expr(c)));
        std::string text = to_string(high) + "; " + to_string(middle) + "; " + to_string(low);
        EXPECT_TRUE(determine({high, middle, low}, f.loops, none, f.bounds)) << text;
        EXPECT_FALSE(determine({high, low}, f.loops, none, f.bounds)) << text;
        EXPECT_FALSE(determine({middle, low}, f.loops, none, f.bounds)) << text;
        EXPECT_FALSE(determine({high, middle}, f.loops, none, f.bounds)) << text;
      }
}

TEST(Determine, TheDigitsBySizesDetermineANumber) {
  Expr n(make_size("N", {.max = 1000})), k(make_size("K", {.max = 1000}));
  for (const std::vector<std::int64_t> &factors :
       std::vector<std::vector<std::int64_t>>{{256}, {32, 8}, {100, 4}, {128, 3}})
    for (auto [b, c] : std::vector<std::pair<Expr, Expr>>{{n, k}, {n, 4}, {10, k}, {n, 6}}) {
      SplitNumber f(97, factors);
      Expr rows = floordiv(f.value, c);
      Expr high = f.simple(floordiv(rows, b)), middle = f.simple(floormod(rows, b));
      Expr low = f.simple(floormod(f.value, c));
      std::string text = to_string(high) + "; " + to_string(middle) + "; " + to_string(low);
      EXPECT_TRUE(determine({high, middle, low}, f.loops, none, f.bounds)) << text;
      EXPECT_FALSE(determine({high, low}, f.loops, none, f.bounds)) << text;
    }
}

/// The element is Y[4*b + f//100] for f < 400. Without the guard, f has up to 512 values, so two consecutive
/// iterations of b may write the same element.
TEST(Determine, AGuardBoundsTheDigitsOfASum) {
  for (std::int64_t factor : {32, 96, 128}) {
    SplitNumber f((400 + factor - 1) / factor, {factor});
    f.loops.push_back(make_var("b"));
    f.bounds.set_extent(f.loops.back(), Expr(9));
    std::vector<Expr> element{f.simple(Expr(f.loops.back()) * 4 + floordiv(f.value, Expr(100))),
                              f.simple(floormod(f.value, Expr(100)))};
    EXPECT_FALSE(determine(element, f.loops, none, f.bounds)) << factor;
    EXPECT_FALSE(determine(element, f.loops, none, f.bounds, {{f.value, Expr(401)}})) << factor;
    EXPECT_TRUE(determine(element, f.loops, none, f.bounds, {{f.value, Expr(400)}})) << factor;
  }
}

TEST(Determine, ASubtractedLoopIsADigitToo) {
  SplitNumber f(5, {8});
  EXPECT_TRUE(determine({Expr(39) - f.value}, f.loops, none, f.bounds));
  EXPECT_TRUE(determine({Expr(f.loops[0]) * 8 - Expr(f.loops[1])}, f.loops, none, f.bounds));
  EXPECT_FALSE(determine({Expr(f.loops[0]) * 7 - Expr(f.loops[1])}, f.loops, none, f.bounds));
}

/// Compares the answer for random sums of digits with an enumeration of all iterations.
class RandomValues {
public:
  explicit RandomValues(unsigned seed) : random_(seed) {}

  /// Returns the answer of `determine`: whether the values determine the loops.
  bool check() {
    Bounds bounds;
    loops_.clear();
    extents_.clear();
    for (std::int64_t n = 0; n < pick(2, 3); ++n) {
      loops_.push_back(make_var("x" + std::to_string(n)));
      extents_.push_back(pick(1, 7));
      bounds.set_extent(loops_.back(), Expr(extents_.back()));
    }
    Expr number = sum();
    std::vector<GuardedValue> guards;
    if (pick(0, 1) == 0)
      guards.push_back({number, Expr(pick(1, 30))});
    std::vector<Expr> values;
    for (std::int64_t n = 0; n < pick(1, 3); ++n) {
      Expr value = digit(pick(0, 3) == 0 ? sum() : number);
      if (pick(0, 2) == 0)
        value = value * Expr(pick(1, 4)) + digit(pick(0, 1) == 0 ? sum() : number) - Expr(pick(0, 2));
      values.push_back(simplify(value, bounds));
    }
    bool fixed = pick(0, 3) == 0;
    auto is_fixed = [&](const Var &var) { return fixed && var == loops_.back(); };
    for (const Var &wanted : loops_) {
      if (!determine(values, {wanted}, is_fixed, bounds, guards))
        continue;
      expect_determined(values, wanted, fixed, guards);
      ++determined;
    }
    return !testing::Test::HasFailure();
  }
  std::int64_t determined = 0;

private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  Expr sum() {
    Expr result = Expr(pick(0, 2));
    std::int64_t step = 1;
    for (std::size_t n = loops_.size(); n-- > 0; step *= extents_[n] + pick(-1, 1))
      result = result + Expr(loops_[n]) * Expr(pick(0, 5) == 0 ? pick(-3, 9) : step);
    return result;
  }
  Expr digit(Expr e) {
    if (pick(0, 1) == 0)
      e = floordiv(e, Expr(pick(2, 9)));
    return pick(0, 2) == 0 ? e : floormod(e, Expr(pick(2, 9)));
  }

  void expect_determined(const std::vector<Expr> &values, const Var &wanted, bool fixed,
                         const std::vector<GuardedValue> &guards) {
    std::map<std::vector<std::int64_t>, std::int64_t> seen;
    std::vector<std::int64_t> at(loops_.size(), 0);
    auto value_of = [&](const Expr &e) {
      return as_int(simplify(substitute(
                        e,
                        [&](const Var &var) {
                          return Expr(
                              at[static_cast<std::size_t>(std::ranges::find(loops_, var) - loops_.begin())]);
                        })))
          .value();
    };
    for (bool more = true; more; more = advance(at)) {
      if (std::ranges::any_of(guards, [&](const GuardedValue &guard) {
            return value_of(guard.value) < 0 || value_of(guard.value) >= value_of(guard.extent);
          }))
        continue;
      std::vector<std::int64_t> key{fixed ? at.back() : 0};
      std::ranges::transform(values, std::back_inserter(key), value_of);
      auto [first, is_new] = seen.try_emplace(key, value_of(Expr(wanted)));
      ASSERT_TRUE(is_new || first->second == value_of(Expr(wanted)))
          << wanted->name << " of " << to_string(values.front()) << ", … guards " << guards.size();
    }
  }
  bool advance(std::vector<std::int64_t> &at) const {
    for (std::size_t n = at.size(); n-- > 0; at[n] = 0)
      if (++at[n] < extents_[n])
        return true;
    return false;
  }

  std::mt19937 random_;
  std::vector<Var> loops_;
  std::vector<std::int64_t> extents_;
};

TEST(Determine, IsRightForRandomExpressions) {
  RandomValues values(7);
  for (int n = 0; n < 1000; ++n)
    ASSERT_TRUE(values.check()) << "case " << n;
  EXPECT_GT(values.determined, 250);
}

// ---- schedules

/// y = 2*x with all loops fused, then split. An extent of 0 stands for a size that is known at launch.
Schedule flattened(const std::vector<std::int64_t> &shape, const std::vector<std::int64_t> &factors) {
  Workload w("scale");
  std::vector<Expr> extents;
  for (std::size_t n = 0; n < shape.size(); ++n)
    extents.push_back(shape[n] == 0 ? w.size(std::string(1, "MNK"[n]), {.max = 1000}) : Expr(shape[n]));
  std::vector<std::string> axes{"i", "j", "k"};
  Tensor x = w.placeholder("x", extents, DType::f32);
  Tensor y = w.compute("y", extents, axes, [&](Expr i, Expr j, Expr k) { return x(i, j, k) * 2; });
  Schedule s(w.output({y}));
  auto [i, j, k] = s.loops<3>(s.block("y"));
  std::vector<std::int64_t> all{infer};
  all.insert(all.end(), factors.begin(), factors.end());
  std::vector<Loop> parts = s.split(s.fuse(s.fuse(i, j), k), all);
  s.bind(parts[0], Axis::block_x);
  s.bind(parts[1], Axis::thread_x);
  return s;
}

TEST(Obligations, AFlattenedNestIsNoRace) {
  using Numbers = std::vector<std::int64_t>;
  std::vector<Numbers> shapes{{8, 224, 224}, {10, 10, 8}, {2, 3, 4},   {16, 16, 16}, {1, 3, 5},
                              {3, 1, 5},     {7, 11, 13}, {12, 12, 5}, {1, 1, 1},    {257, 3, 6},
                              {0, 0, 0},     {0, 10, 8},  {8, 0, 4},   {8, 10, 0}};
  for (const Numbers &shape : shapes)
    for (const Numbers &factors : std::vector<Numbers>{{256}, {32, 4}, {96, 3}}) {
      Schedule s = flattened(shape, factors);
      EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << "\n" << print(s.program());
    }
  EXPECT_TRUE(test::same_meaning(flattened({10, 10, 8}, {32, 4})));
}

/// The inner loop of i is fused with j. The guard of the tail keeps the iterations of a tile within its rows.
TEST(Obligations, AFlattenedTileIsNoRace) {
  for (std::int64_t threads : {8, 32, 96, 100, 128}) {
    Schedule s(test::chain(13, 31));
    auto [i, j] = s.loops<2>(s.block("Y"));
    auto [outer, inner] = s.split<2>(i, {infer, 4});
    auto [rest, t] = s.split<2>(s.fuse(inner, j), {infer, threads});
    s.bind(outer, Axis::block_x);
    s.bind(t, Axis::thread_x);
    s.compute_inline(s.block("T"));
    EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << "\n" << print(s.program());
    EXPECT_TRUE(test::same_meaning(s));
  }
}

} // namespace
} // namespace nestsmith
