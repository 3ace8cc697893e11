/// Tests the orders that affect an output. They do not depend on addresses.

#include "dsl/expr/simplify.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <tuple>

namespace nestsmith {
namespace {

/// Makes objects at addresses in no particular order: half of them reuse the memory of released objects.
template <class Make> auto scattered(const Make &make) {
  std::vector<decltype(make())> gone, kept;
  for (int n = 0; n < 200; ++n)
    gone.push_back(make());
  for (int n = 0; n < 200; n += 2)
    gone[static_cast<std::size_t>(n * 7 % 200)] = nullptr;
  for (int n = 0; n < 200; ++n)
    kept.push_back(make());
  return kept;
}

TEST(Order, MapsOfSymbolsAndBuffersAreInTheOrderInWhichTheyWereMade) {
  std::vector<Var> vars = scattered([] { return make_var("x"); });
  EXPECT_FALSE(std::is_sorted(vars.begin(), vars.end(), [](auto &a, auto &b) { return a.get() < b.get(); }));
  EXPECT_TRUE(std::ranges::equal(std::set<Var>(vars.rbegin(), vars.rend()), vars));

  std::vector<Buffer> buffers = scattered([]() -> Buffer {
    return std::make_shared<const BufferNode>(BufferNode{"x", DType::f32, {}, Scope::global, Role::input});
  });
  EXPECT_TRUE(std::ranges::equal(std::set<Buffer>(buffers.rbegin(), buffers.rend()), buffers));
  std::set<std::tuple<Buffer, int>> in_keys;
  for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer)
    in_keys.emplace(*buffer, 0);
  EXPECT_TRUE(
      std::ranges::equal(in_keys, buffers, [](const auto &a, const Buffer &b) { return std::get<0>(a) == b; }));
}

TEST(Order, CopiesOfABufferAreOtherBuffers) {
  auto a = std::make_shared<const BufferNode>(BufferNode{"x", DType::f32, {}, Scope::global, Role::input});
  auto b = std::make_shared<const BufferNode>(*a);
  EXPECT_TRUE(Buffer(a) < Buffer(b));
}

TEST(Order, OfExpressionsIsTotalAndAgreesWithSame) {
  Var i = make_var("i"), j = make_var("j"), again = make_var("i");
  Buffer x = std::make_shared<const BufferNode>(BufferNode{"x", DType::f32, {8}, Scope::global, Role::input});
  auto make = [&] {
    Expr at = load(x, {i}), masked = load(x, {i}, Expr(i) < j, 0.0F);
    return std::vector<Expr>{Expr(),
                             1,
                             2,
                             int_imm(1, DType::i32),
                             0.0F,
                             -0.0F,
                             i,
                             j,
                             again,
                             Expr(i) + j,
                             Expr(j) + i,
                             Expr(i) - j,
                             Expr(i) * 2 + 1,
                             Expr(i) < j,
                             !(Expr(i) < j),
                             select(Expr(i) < j, i, j),
                             branch(Expr(i) < j, i, j),
                             cast(DType::i32, i),
                             at,
                             masked,
                             load(x, {j})};
  };
  std::vector<Expr> list = make(), others = make();
  for (std::size_t a = 0; a < list.size(); ++a)
    for (std::size_t b = 0; b < list.size(); ++b) {
      EXPECT_EQ(order(list[a], others[b]) == 0, a == b) << a << " " << b;
      EXPECT_EQ(same(list[a], others[b]), a == b) << a << " " << b;
      EXPECT_EQ(order(list[a], list[b]) < 0, order(list[b], list[a]) > 0);
    }
  auto before = [](const Expr &a, const Expr &b) { return order(a, b) < 0; };
  std::ranges::sort(list, before);
  for (std::size_t a = 0; a < list.size(); ++a)
    for (std::size_t b = a + 1; b < list.size(); ++b)
      EXPECT_TRUE(before(list[a], list[b])) << "transitive";
}

/// A sum has one canonical order, for any order of its terms, and even if all variables have the same name.
TEST(Order, OfTermsIsThatOfNamesThenOfSerialNumbers) {
  std::vector<Var> vars = scattered([] { return make_var("x"); });
  Expr up = 0, down = 0;
  for (std::size_t n = 0; n < 20; ++n) {
    up = up + Expr(vars[n]);
    down = down + Expr(vars[19 - n]);
  }
  EXPECT_TRUE(same(simplify(up), simplify(down)));
  EXPECT_TRUE(same(simplify(down), up));

  Var z = make_var("z"), a = make_var("a");
  EXPECT_EQ(to_string(simplify(Expr(z) + a + floordiv(Expr(z) + a, 3))), "(a + z)//3 + a + z");
}

} // namespace
} // namespace nestsmith
