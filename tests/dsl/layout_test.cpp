/// Tests layouts: index maps as text and as lambdas, the check that a map is invertible, and the places of
/// elements.

#include "dsl/ir/layout.h"

#include "tests/dsl/support.h"

#include <random>
#include <set>

namespace nestsmith {
namespace {

using test::expect_user_error;

TEST(IndexMap, ReadsBackWhatItPrints) {
  for (const char *text : {"i -> i", "i, k -> k, i", "i, j -> i//4, j, i%4",
                           "a, b, c -> a*12 + b, c//3 - 1, c%3", "i -> (i + 3)//2%5, i - (i - 2), i%7"})
    EXPECT_EQ(to_string(IndexMap(text)), text);
  EXPECT_EQ(to_string(IndexMap("  i ,k->k*2+ 1 , ( i )")), "i, k -> k*2 + 1, i");
}

TEST(IndexMap, IsALambdaToo) {
  EXPECT_EQ(to_string(IndexMap([](Expr i) {
              return std::vector<Expr>{floordiv(i, 4), floormod(i, 4)};
            })),
            "i -> i//4, i%4");
  EXPECT_EQ(to_string(IndexMap([](Expr i, Expr k) { return std::vector<Expr>{k, i}; })), "i, j -> j, i");
  EXPECT_EQ(to_string(IndexMap([](Expr, Expr j, Expr k) {
              return std::vector<Expr>{k, j};
            })),
            "i, j, k -> k, j");
  EXPECT_EQ(to_string(IndexMap([](Expr i, Expr j, Expr k, Expr l) {
              return std::vector<Expr>{l, k, j, i};
            })),
            "i, j, k, l -> l, k, j, i");
}

TEST(IndexMap, RefusesWhatIsNone) {
  auto refused = [](const std::string &text, const std::string &message) {
    expect_user_error([&] { IndexMap map(text); }, ExitCode::illegal_schedule, message);
  };
  refused("", "'' is not an index map: expected an index at character 1; write it as \"i, k -> k, i\"");
  refused("i", "expected -> after the logical indices at character 2");
  refused("i ->", "expected an index at character 5");
  refused("i, i -> i", "the index i appears twice before -> at character");
  refused("i -> j", "j is not a logical index, at character 7");
  refused("i -> i i", "expected the end at character 8");
  refused("i -> (i", "expected ) at character 8");
  refused("i -> i*i", "i*i is not a sum, a product with a constant or a division by a positive constant");
  refused("i -> i//0", "i//0 is not a sum");
  refused("i, k -> i%k", "i%k is not a sum");
  refused("i -> i*99999999999", "a number does not fit in 32 bits, at character 17");
  refused("i -> i*2000000000*2000000000", "its numbers are too large for index arithmetic");
  refused("i -> i//2000000000//2000000000", "its numbers are too large for index arithmetic");
  refused("i -> " + std::string(300, '(') + "i" + std::string(300, ')'), "it has more than 400 characters");
  auto lambda = [](const auto &f, const std::string &message) {
    expect_user_error([&] { IndexMap map(f); }, ExitCode::illegal_schedule, message);
  };
  Var other = make_var("x");
  lambda([&](Expr i) { return std::vector<Expr>{i + Expr(other)}; }, "x is not a logical index");
  lambda([](Expr) { return std::vector<Expr>{}; }, "it gives no index");
  lambda([](Expr i) { return std::vector<Expr>{i, Expr()}; }, "an index is a null expression");
}

TEST(IndexMap, Composes) {
  IndexMap both = compose("i, j -> j, i", "a, b -> a//4, b, a%4");
  EXPECT_EQ(to_string(both), "i, j -> j//4, i, j%4");
}

TEST(NotInvertible, NamesTwoIndicesThatCollide) {
  auto of = [](const char *map, std::vector<std::int64_t> extents) { return not_invertible(map, extents); };
  EXPECT_EQ(of("i, k -> k, i", {4096, 4096}), std::nullopt);
  EXPECT_EQ(of("i, k -> i//4, k, i%4", {4095, 77}), std::nullopt);
  EXPECT_EQ(of("i, k -> i*8 + k", {64, 8}), std::nullopt);
  EXPECT_EQ(of("i, k -> i*8 + k", {64, 9}), "(0, 8) and (1, 0) both map to (8)");
  EXPECT_EQ(of("i -> i%8", {8}), std::nullopt);
  EXPECT_EQ(of("i -> i%8", {9}), "(0) and (8) both map to (0)");
  EXPECT_EQ(of("i, k -> k", {1, 5}), std::nullopt);
  EXPECT_EQ(of("i, k -> k", {2, 5}), "(0, 0) and (1, 0) both map to (0)");
  EXPECT_EQ(of("i, k -> i + k, i - k", {9, 9}), std::nullopt); // no rule proves it, but an enumeration does
  EXPECT_EQ(of("i -> 63 - i", {64}), std::nullopt);
  EXPECT_EQ(of("i -> i%5000", {1000000}), "(0) and (5000) both map to (0)");
  EXPECT_EQ(of("i -> i%500000", {1000000}), "it cannot be proven that all elements map to distinct places");
}

/// Returns the offsets of the elements of a box. It evaluates the expression that codegen uses.
std::vector<std::int64_t> offsets(const PlacedLayout &layout, const std::vector<std::int64_t> &box) {
  std::vector<Expr> indices;
  std::vector<Var> vars;
  Bounds bounds;
  std::int64_t points = 1;
  for (std::int64_t extent : box) {
    vars.push_back(make_var("x" + std::to_string(vars.size())));
    bounds.set(vars.back(), {0, extent - 1});
    indices.emplace_back(vars.back());
    points *= extent;
  }
  Expr offset = layout.offset(indices, bounds);
  auto range = range_of(offset, bounds);
  EXPECT_TRUE(range && range->low >= 0) << to_string(offset);
  std::vector<std::int64_t> result;
  for (std::int64_t n = 0; n < points; ++n) {
    std::map<Var, Scalar> environment;
    std::int64_t rest = n;
    for (std::size_t d = box.size(); d-- > 0; rest /= box[d])
      environment[vars[d]] = Scalar::of(DType::i64, rest % box[d]);
    result.push_back(evaluate(offset, environment).as<std::int64_t>());
  }
  return result;
}

BufferNode tile(Layout layout) {
  return {"T",           DType::f32,      {},
          Scope::shared, Role::temporary, std::make_shared<const Layout>(std::move(layout))};
}

TEST(PlacedLayout, WithoutALayoutIsRowMajor) {
  PlacedLayout placed({"T", DType::f32, {}, Scope::shared, Role::temporary}, {3, 5});
  EXPECT_EQ(placed.elements(), 15);
  EXPECT_EQ(placed.extents(), (std::vector<std::int64_t>{3, 5}));
  std::vector<std::int64_t> at = offsets(placed, {3, 5});
  for (std::size_t n = 0; n < at.size(); ++n)
    EXPECT_EQ(at[n], static_cast<std::int64_t>(n));
}

TEST(PlacedLayout, TransposesAndPads) {
  Layout layout;
  layout.map = "i, k -> k, i";
  layout.strides = {{0, 32, 1}};
  PlacedLayout placed(tile(layout), {64, 8});
  EXPECT_EQ(placed.elements(), 8 * 65);
  EXPECT_EQ(placed.extents(), (std::vector<std::int64_t>{8, 65}));
  std::vector<std::int64_t> at = offsets(placed, {64, 8});
  for (std::int64_t i = 0; i < 64; ++i)
    for (std::int64_t k = 0; k < 8; ++k)
      EXPECT_EQ(at[static_cast<std::size_t>(i * 8 + k)], k * 65 + i);
}

TEST(PlacedLayout, CountsPaddingFromTheInside) {
  Layout layout;
  layout.strides = {{1, 4, 0}, {0, 8, 3}}; // a row of 5 takes 8; a plane of 3 rows takes 24, padded to 27
  PlacedLayout placed(tile(layout), {2, 3, 5});
  EXPECT_EQ(placed.elements(), 54);
  EXPECT_EQ(placed.extents(), std::vector<std::int64_t>{54});
  EXPECT_EQ(offsets(placed, {2, 3, 5}).back(), 27 + 16 + 4);
}

TEST(PlacedLayout, SwizzleIsCuTes) {
  for (auto [bits, base, shift] : {std::array{3, 2, 3}, {5, 0, 5}, {2, 1, 4}, {1, 0, 1}}) {
    Layout layout;
    layout.swizzle = Swizzle{bits, base, shift};
    for (std::vector<std::int64_t> box : {std::vector<std::int64_t>{32, 32}, {8, 64}, {7, 13}, {1, 1}}) {
      std::int64_t mask = ((std::int64_t{1} << bits) - 1) << base, n = 0;
      for (std::int64_t at : offsets(PlacedLayout(tile(layout), box), box)) {
        EXPECT_EQ(at, n ^ (n >> shift & mask));
        ++n;
      }
    }
  }
}

TEST(PlacedLayout, SwizzleKeepsNeighboursTogether) {
  Layout layout;
  layout.swizzle = Swizzle{3, 2, 3};
  PlacedLayout placed(tile(layout), {32, 32});
  Var row = make_var("row"), vector = make_var("vector"), lane = make_var("lane");
  Bounds bounds;
  bounds.set(row, {0, 31});
  bounds.set(vector, {0, 7});
  bounds.set(lane, {0, 3});
  Expr first = placed.offset({row, Expr(vector) * 4}, bounds);
  Expr each = placed.offset({row, Expr(vector) * 4 + Expr(lane)}, bounds);
  EXPECT_EQ(to_string(simplify(each - first, bounds)), "lane");
  EXPECT_EQ(to_string(first), "row*32 + (vector ^ row%8)*4");
  EXPECT_TRUE(proves(equal(floormod(first, 4), 0), bounds));
}

/// With any combination of maps, paddings and swizzles, each element has a place of its own inside of the
/// array.
TEST(PlacedLayout, IsInjectiveAndInside) {
  std::mt19937 random(1);
  auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  const char *maps[] = {"i, k -> k, i",           "i, k -> i//4, k, i%4",         "i, k -> i*40 + k",
                        "i, k -> 50 - k, i, i%3", "i, k -> k//2, i//3, k%2, i%3", "i, k -> i + k, k"};
  for (int n = 0; n < 300; ++n) {
    std::vector<std::int64_t> box{1 + below(40), 1 + below(40)};
    Layout layout;
    if (random() % 4)
      layout.map = maps[random() % std::size(maps)];
    ASSERT_EQ(layout.map ? not_invertible(*layout.map, box) : std::nullopt, std::nullopt);
    if (random() % 2)
      layout.strides = {{0, 1 + below(33), 0}};
    if (random() % 2)
      layout.swizzle = Swizzle{1 + below(4), below(3), 4 + below(2)};
    PlacedLayout placed(tile(layout), box);
    std::vector<std::int64_t> at = offsets(placed, box);
    EXPECT_EQ(std::set<std::int64_t>(at.begin(), at.end()).size(), at.size()) << to_string(layout);
    for (std::int64_t x : at)
      ASSERT_TRUE(0 <= x && x < placed.elements()) << to_string(layout);
  }
}

TEST(BitXor, StaysBelowTheNextPowerOfTwo) {
  Var x = make_var("x"), y = make_var("y");
  for (std::int64_t a : {0, 1, 3, 4, 7, 9})
    for (std::int64_t b : {0, 2, 8}) {
      Bounds bounds;
      bounds.set(x, {0, a});
      bounds.set(y, {0, b});
      Range range = range_of(bit_xor(x, y), bounds).value();
      std::int64_t most = 0;
      for (std::int64_t p = 0; p <= a; ++p)
        for (std::int64_t q = 0; q <= b; ++q)
          most = std::max(most, p ^ q);
      EXPECT_GE(range.high, most);
      EXPECT_LE(range.high, 2 * std::max(a, b));
    }
}

} // namespace
} // namespace nestsmith
