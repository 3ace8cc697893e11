/// Tests where declarations are placed, and that statements without an effect are removed.

#include "tests/dsl/support.h"

#include "lowering/unit.h"

namespace nestsmith::kernel {
namespace {

/// Returns the text of a kernel with 64 threads. `body` makes its statements from the thread index and the
/// variable of a loop with 4 iterations.
std::string placed(const std::function<Stmt(const Var &tid, const Var &k)> &body) {
  Schedule schedule(test::gemm(4, 4, 4));
  Unit unit{schedule, Kernel()};
  Var tid = make_var("tid"), k = make_var("k");
  unit.kernel().name = "example";
  unit.kernel().indices = {{Axis::thread_x, tid, 64}};
  unit.kernel().body = body(tid, k);
  place_declarations(unit);
  std::string text = print(unit.kernel());
  return text.substr(text.find("of 64\n") + 6);
}

Stmt loop(const Var &k, Stmt body) { return make(Loop{k, Expr(4), Serial{}, std::move(body)}); }
Stmt store(const Expr &index) {
  static const Buffer x =
      std::make_shared<const BufferNode>(BufferNode{"x", DType::f32, {Expr(64)}, Scope::global, Role::inout});
  return make(Store{x, {index}, Expr(1.0F)});
}

TEST(PlaceDeclarations, MovesThemOutToWhereTheirValueIsKnown) {
  EXPECT_EQ(placed([](const Var &tid, const Var &k) {
              Var i = make_var("i"), j = make_var("j");
              return loop(k, make_seq({make(Declare{i, Expr(tid) * 2}), make(Declare{j, Expr(i) + Expr(k)}),
                                       store(Expr(j))}));
            }),
            "  let i: i64 = tid*2\n"
            "  for k < 4:\n"
            "    let j: i64 = i + k\n"
            "    x[j] = 1.0\n");
}

/// A loop or a guard that contains only a declaration has no effect. No correct pass leaves one, but a seeded
/// bug may (tests/mutation), and the next pass must not crash.
TEST(PlaceDeclarations, WhatHoldsNothingElseGoes) {
  auto declare = [](const Expr &value) { return make(Declare{make_var("i"), value}); };
  EXPECT_EQ(placed([&](const Var &tid, const Var &k) {
              return make_seq({loop(k, declare(Expr(tid) + Expr(k))), store(Expr(tid))});
            }),
            "  x[tid] = 1.0\n");
  EXPECT_EQ(placed([&](const Var &tid, const Var &k) {
              Expr guard = Expr(tid) < Expr(5);
              return make_seq({loop(k, make(If{guard, declare(Expr(k))})), store(Expr(tid))});
            }),
            "  x[tid] = 1.0\n");
  EXPECT_EQ(placed([&](const Var &tid, const Var &k) {
              return loop(k, make(If{Expr(tid) < Expr(5), declare(Expr(k)), store(Expr(tid))}));
            }),
            "  for k < 4:\n"
            "    if not (tid < 5):\n"
            "      x[tid] = 1.0\n");
  EXPECT_EQ(placed([&](const Var &tid, const Var &) { return declare(Expr(tid)); }), "  pass\n");
}

} // namespace
} // namespace nestsmith::kernel
