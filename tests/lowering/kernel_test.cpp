/// Tests the printed text of kernels and the functions that walk and rewrite their statements.

#include "lowering/kernel.h"

#include <gtest/gtest.h>

namespace nestsmith::kernel {
namespace {

Buffer buffer(const char *name, Scope scope) {
  return std::make_shared<const BufferNode>(BufferNode{name, DType::f32, {Expr(64)}, scope, Role::inout});
}

/// A kernel with a statement of every kind.
struct Example {
  Buffer x = buffer("x", Scope::global), tile = buffer("tile", Scope::shared);
  Var tid = make_var("tid", DType::i32), i = make_var("i", DType::i32), k = make_var("k", DType::i32);
  Stmt store = make(Store{x, {Expr(i)}, load(tile, {Expr(k)})});
  Stmt guard = make(If{Expr(i) < int_imm(50, DType::i32), store, nullptr, {Purpose::Kind::tail, {i}}});
  Stmt loop = make(Loop{k, int_imm(4, DType::i32), Unrolled{}, guard});
  Stmt barrier = make(Barrier{SyncScope::block, {{.buffer = tile, .reader = x}}});
  Stmt declare = make(Declare{i, Expr(tid) + int_imm(1, DType::i32)});

  Kernel kernel() const {
    Kernel result;
    result.name = "example";
    result.params = {x};
    result.scalars = {make_var("alpha", DType::f32)};
    result.indices = {{Axis::block_y, make_var("row", DType::i32), 3}, {Axis::thread_x, tid, 64}};
    result.shared = {{.buffer = tile,
                      .byte_offset = 128,
                      .tile = {64},
                      .origin = origin_of({OriginPart(tile)}),
                      .content = Content{Content::Kind::tile, {64}, x}}};
    result.body = make_seq({declare, barrier, loop});
    return result;
  }
};

TEST(Kernel, PrintShowsEveryKindOfStatement) {
  EXPECT_EQ(print(Example().kernel()), "kernel example(x[64]: f32, alpha: f32):\n"
                                       "  let row: i32 = blockIdx.y of 3\n"
                                       "  let tid: i32 = threadIdx.x of 64\n"
                                       "  shared tile[64]: f32 at byte 128  # 64 tile of x\n"
                                       "  let i: i32 = tid + 1\n"
                                       "  sync block  # tile: written above, read below by x\n"
                                       "  for k < 4 unrolled:\n"
                                       "    if i < 50:  # tail of i\n"
                                       "      x[i] = tile[k]\n");
}

TEST(Kernel, PrintTellsSymbolsOfOneNameApart) {
  Example e;
  Kernel kernel = e.kernel();
  Var other = make_var("i", DType::i32);
  kernel.body = make_seq({e.declare, make(Declare{other, Expr(e.i)})});
  EXPECT_NE(print(kernel).find("let i'1: i32 = i\n"), std::string::npos) << print(kernel);
}

TEST(Kernel, ExtentsOfAxesThatAreNotInUseAreOne) {
  Kernel kernel = Example().kernel();
  EXPECT_EQ(kernel.extent(Axis::block_y), 3);
  EXPECT_EQ(kernel.extent(Axis::thread_z), 1);
  EXPECT_EQ(kernel.grid(), (std::array<std::int64_t, 3>{1, 3, 1}));
  EXPECT_EQ(kernel.block(), (std::array<std::int64_t, 3>{64, 1, 1}));
  EXPECT_EQ(kernel.threads(), 64);
}

TEST(Kernel, SequencesAreFlatAndOneStatementStaysItself) {
  Example e;
  EXPECT_EQ(make_seq({e.store}), e.store);
  EXPECT_EQ(make_seq({e.store, nullptr}), e.store);
  Stmt flat = make_seq({e.declare, make_seq({e.barrier, e.loop})});
  ASSERT_TRUE(as<Seq>(flat));
  EXPECT_EQ(as<Seq>(flat)->stmts, (std::vector<Stmt>{e.declare, e.barrier, e.loop}));
}

TEST(Kernel, ARewriteThatChangesNothingGivesTheSameNode) {
  Example e;
  auto same_stmt = [](const Stmt &stmt) { return stmt; };
  auto same_expr = [](const Expr &expr) { return expr; };
  Stmt body = e.kernel().body;
  walk(body, [&](const Stmt &stmt) {
    EXPECT_EQ(map_children(stmt, same_stmt), stmt);
    EXPECT_EQ(map_exprs(stmt, same_expr), stmt);
  });
}

TEST(Kernel, MapChildrenReplacesAndDrops) {
  Example e;
  Stmt body = e.kernel().body;
  Stmt without = map_children(body, [&](const Stmt &stmt) { return stmt == e.barrier ? nullptr : stmt; });
  EXPECT_EQ(as<Seq>(without)->stmts, (std::vector<Stmt>{e.declare, e.loop}));
  EXPECT_EQ(map_children(e.loop, [](const Stmt &) -> Stmt { return nullptr; }), nullptr);
  Stmt replaced = map_children(e.loop, [&](const Stmt &) { return e.store; });
  EXPECT_EQ(as<Loop>(replaced)->body, e.store);
  EXPECT_TRUE(as<Loop>(replaced)->is<Unrolled>());
}

TEST(Kernel, MapChildrenKeepsTheSideOfAnIfThatIsLeft) {
  Example e;
  Expr condition = Expr(e.tid) < int_imm(5, DType::i32);
  Stmt either = make(If{condition, e.store, e.guard});
  auto without = [&](const Stmt &gone) {
    return map_children(either, [&](const Stmt &stmt) { return stmt == gone ? nullptr : stmt; });
  };
  Stmt one = without(e.guard), other = without(e.store);
  const If *then = as<If>(one), *otherwise = as<If>(other);
  ASSERT_TRUE(then && otherwise);
  EXPECT_TRUE(same(then->condition, condition));
  EXPECT_EQ(then->body, e.store);
  EXPECT_EQ(then->otherwise, nullptr);
  EXPECT_TRUE(same(otherwise->condition, logical_not(condition)));
  EXPECT_EQ(otherwise->body, e.guard);
  EXPECT_EQ(otherwise->otherwise, nullptr);
  EXPECT_EQ(map_children(either, [](const Stmt &) -> Stmt { return nullptr; }), nullptr);
}

TEST(Kernel, MapExprsReachesEveryExpressionOfOneStatementOnly) {
  Example e;
  int seen = 0;
  auto count = [&](const Expr &expr) {
    ++seen;
    return expr;
  };
  auto exprs = [&](const Stmt &stmt) {
    seen = 0;
    map_exprs(stmt, count);
    return seen;
  };
  EXPECT_EQ(exprs(e.declare), 1);
  EXPECT_EQ(exprs(e.loop), 1) << "the extent, nothing in the body";
  EXPECT_EQ(exprs(e.guard), 1);
  EXPECT_EQ(exprs(e.store), 2) << "the index and the value";
  EXPECT_EQ(exprs(e.barrier), 0);
  Stmt moved = map_exprs(e.store, [&](const Expr &expr) {
    return substitute(expr, [&](const Var &var) { return var == e.i ? Expr(e.tid) : Expr(); });
  });
  EXPECT_TRUE(same(as<Store>(moved)->indices[0], Expr(e.tid)));
}

TEST(Kernel, WalkIsInPreOrder) {
  Example e;
  std::vector<Stmt> seen;
  Stmt body = e.kernel().body;
  walk(body, [&](const Stmt &stmt) { seen.push_back(stmt); });
  EXPECT_EQ(seen, (std::vector<Stmt>{body, e.declare, e.barrier, e.loop, e.guard, e.store}));
}

} // namespace
} // namespace nestsmith::kernel
