/// Code that two nests of one launch share.

#include "lowering/share_code.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith::kernel {
namespace {

using test::contains;

/// Two nests of which the first has 4 thread blocks. Both write to `out`.
struct Nests {
  Var block = make_var("block");
  Buffer out = buffer("out", Scope::global, 1024);

  static Buffer buffer(const char *name, Scope scope, std::int64_t elements) {
    return std::make_shared<const BufferNode>(BufferNode{
        name, DType::f32, {Expr(elements)}, scope, scope == Scope::global ? Role::output : Role::temporary});
  }
  Stmt store(const Buffer &to, const Expr &index, const Expr &value) const {
    return make(Store{to, {index}, value});
  }
  /// The joined nests as text.
  std::string shared(Stmt first, Stmt second, std::vector<Buffer> locals = {}) const {
    TwoNests nests{Expr(block) < Expr(4), std::move(first), std::move(second), {}};
    Kernel kernel;
    kernel.name = "both";
    kernel.params = {out};
    kernel.indices = {{Axis::block_x, block, Expr(9)}};
    kernel.body = with_shared_code(nests);
    for (const Buffer &local : locals)
      if (!nests.arrays.contains(local))
        kernel.local.push_back({.buffer = local});
    return print(kernel);
  }
};

Stmt loop(const Var &var, std::int64_t extent, Stmt body) {
  return make(Loop{var, Expr(extent), Serial{}, std::move(body)});
}

TEST(ShareCode, ChoosesTheNumbersThatDiffer) {
  const Nests n;
  const Var row = make_var("row"), other = make_var("other"), k = make_var("k"), m = make_var("m");
  const std::string text =
      n.shared(make_seq({make(Declare{row, n.block}), loop(k, 8, n.store(n.out, Expr(row) * 8 + k, 1.0F))}),
               make_seq({make(Declare{other, Expr(n.block) - 4}),
                         loop(m, 5, n.store(n.out, Expr(other) * 8 + m + 100, 1.0F))}));
  EXPECT_TRUE(contains(text, "let k_end: i64 = select(block < 4, 8, 5)")) << text;
  EXPECT_TRUE(contains(text, "let out_from: i64 = select(block < 4, row*8, other*8 + 100)")) << text;
  EXPECT_TRUE(contains(text, "for k < k_end:")) << text;
  EXPECT_EQ(text.find(" for m"), std::string::npos) << text;
}

/// Values differ, so that both loops stay. What was matched before the difference was found leaves nothing.
TEST(ShareCode, KeepsWhatDiffersOnTwoSides) {
  const Nests n;
  const Var k = make_var("k"), m = make_var("m");
  const std::string text = n.shared(
      make_seq({n.store(n.out, 0, 3.0F), loop(k, 8, n.store(n.out, Expr(k), 1.0F)), n.store(n.out, 900, 1.0F)}),
      make_seq({n.store(n.out, 7, 3.0F), loop(m, 5, n.store(n.out, Expr(m) + 5, 2.0F))}));
  EXPECT_TRUE(contains(text, "let out_from: i64 = select(block < 4, 0, 7)")) << text;
  EXPECT_TRUE(contains(text, "out[out_from] = 3.0")) << text;
  EXPECT_TRUE(contains(text, "if block < 4:")) << text;
  EXPECT_TRUE(contains(text, "for k < 8:")) << text;
  EXPECT_TRUE(contains(text, "for m < 5:")) << text;
  EXPECT_EQ(text.find("k_end"), std::string::npos) << text;
}

/// The first stores of the second nest stay on a side of their own, before its registers get those of the
/// first.
TEST(ShareCode, GivesEachArrayInRegistersOnePlace) {
  const Nests n;
  const Buffer x = Nests::buffer("X", Scope::local, 4), y = Nests::buffer("Y", Scope::local, 4);
  const Expr full = Expr(n.block) < 2;
  const auto versions = [&](const Buffer &to, float a, float b) {
    return make(If{full, n.store(to, 0, a), n.store(to, 0, b), {Purpose::Kind::full_tiles}});
  };
  const Var k = make_var("k"), m = make_var("m");
  const std::string text = n.shared(
      make_seq({versions(x, 1, 2), loop(k, 8, n.store(x, 1, 4.0F)), n.store(n.out, 0, load(x, {0}))}),
      make_seq({versions(y, 3, 2), loop(m, 8, n.store(y, 1, 4.0F)), n.store(n.out, 0, load(y, {0}))}), {x, y});
  EXPECT_EQ(text.find("Y["), std::string::npos) << text;
  EXPECT_TRUE(contains(text, "X[0] = 3.0")) << text;
  EXPECT_EQ(text.find(" for m"), std::string::npos) << text;
}

/// A mask of one nest excludes nothing in the other.
TEST(ShareCode, JoinsMasks) {
  const Nests n;
  const Buffer in = Nests::buffer("in", Scope::global, 64), x = Nests::buffer("X", Scope::local, 4),
               y = Nests::buffer("Y", Scope::local, 4);
  const Var k = make_var("k"), m = make_var("m");
  const std::string text = n.shared(loop(k, 8, n.store(x, 0, load(in, {Expr(k)}))),
                                    loop(m, 8, n.store(y, 0, load(in, {Expr(m)}, Expr(m) < 7, 0.0F))), {x, y});
  EXPECT_TRUE(contains(text, "in[k] where block < 4 or k < 7 else 0.0")) << text;
}

/// Only the first nest has code of its own for full tiles.
TEST(ShareCode, SharesTheCodeOfTheOtherTiles) {
  const Nests n;
  const Buffer in = Nests::buffer("in", Scope::global, 64), x = Nests::buffer("X", Scope::local, 4),
               y = Nests::buffer("Y", Scope::local, 4);
  const Var k = make_var("k"), edge = make_var("edge"), m = make_var("m");
  auto masked = [&](const Buffer &to, const Var &var) {
    return loop(var, 8, n.store(to, 0, load(in, {Expr(var)}, Expr(var) < 7, 0.0F)));
  };
  const std::string text = n.shared(make(If{Expr(n.block) < 3,
                                            loop(k, 8, n.store(x, 0, load(in, {Expr(k)}))),
                                            masked(x, edge),
                                            {Purpose::Kind::full_tiles}}),
                                    masked(y, m), {x, y});
  EXPECT_TRUE(contains(text, "if block < 4 and block < 3:")) << text;
  EXPECT_TRUE(contains(text, "for edge < 8:")) << text;
  EXPECT_EQ(text.find("for m"), std::string::npos) << text;
}

} // namespace
} // namespace nestsmith::kernel
