/// Tests programs that no workload makes: the form of sums and stores that the verifier requires, and the forms
/// that directives handle or refuse.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;
using test::expect_user_error;
using test::same_meaning;

Buffer make_buffer(const char *name, std::vector<Expr> shape, Role role) {
  return std::make_shared<const BufferNode>(
      BufferNode{name, DType::u32, std::move(shape), Scope::global, role});
}

/// C is the sum of each row of A. The tests change the store and the init.
struct RowSums {
  Buffer a = make_buffer("A", {4, 6}, Role::input), c = make_buffer("C", {4}, Role::output);
  Var i = make_var("i"), k = make_var("k");
  Block block;

  RowSums() {
    block.id = std::make_shared<const BlockSymbol>(BlockSymbol{"C"});
    block.iters = {{i, Expr(4), IterKind::spatial, Expr()}, {k, Expr(6), IterKind::reduction, Expr()}};
    block.body = {c, {i}, load(c, {i}) + load(a, {i, k})};
    block.init = Store{c, {i}, int_imm(0, DType::u32)};
  }
  Program program() const {
    Block bound = block;
    std::vector<For> loops;
    for (IterVar &iter : bound.iters) {
      loops.push_back({make_var(iter.var->name), iter.extent, Serial{}, nullptr});
      iter.binding = loops.back().var;
    }
    Stmt nest = make_block(bound);
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      loop->body = nest;
      nest = make_for(*loop);
    }
    return {"row_sums", {a, c}, {}, nest};
  }
  void expect_malformed(const std::string &why) const {
    expect_user_error([&] { Schedule s(program()); }, ExitCode::usage,
                      "the computation 'row_sums' is not well formed: " + why);
  }
};

TEST(SourceForm, ASumAddsToTheElementThatItStores) {
  RowSums r;
  r.block.body.value = load(r.a, {r.i, r.k}) - load(r.c, {r.i});
  r.expect_malformed("block C has a reduction axis, but its value A[i, k] - C[i] is not the element");
  r.block.body.value = load(r.c, {3 - r.i}) + load(r.a, {r.i, r.k});
  r.expect_malformed("block C has a reduction axis, but its value C[3 - i] + A[i, k] is not the element");
  r.block.body.value = load(r.c, {r.i}) + load(r.a, {r.i, r.k}) * load(r.c, {r.i});
  r.expect_malformed("the sum of block C has a term that reads C, which the sum overwrites");
}

TEST(SourceForm, ASumStoresToOneElement) {
  RowSums r;
  r.c = make_buffer("C", {6}, Role::output);
  r.block.body = {r.c, {r.k}, load(r.c, {r.k}) + load(r.a, {r.i, r.k})};
  r.block.init = Store{r.c, {r.k}, int_imm(0, DType::u32)};
  r.expect_malformed("the store of block C uses the reduction axis k");
}

TEST(SourceForm, AnInitBelongsToItsSum) {
  RowSums r;
  r.block.init->indices = {3 - r.i};
  r.expect_malformed("the init of block C stores to another element than its sum");
  r.block.init = Store{r.c, {r.i}, cast(DType::u32, Expr(r.k))};
  r.expect_malformed("the init of block C uses the reduction axis k");
  r = {};
  r.block.iters[1].kind = IterKind::spatial;
  r.expect_malformed("block C has an init, but no reduction axis");
}

TEST(SourceForm, RfactorKeepsAnInitThatIsNotZero) {
  for (bool constant : {true, false}) {
    RowSums r;
    r.block.init->value = constant ? int_imm(1, DType::u32) : load(r.a, {r.i, 5});
    Schedule s(r.program());
    s.rfactor(s.split(s.loop("k"), {infer, 2})[0]);
    EXPECT_TRUE(same_meaning(s));
  }
}

TEST(SourceForm, ASumOfTheConstant0) {
  Workload w("nothing");
  Reduce k = reduce_axis("k", 6);
  Tensor c = w.compute("C", {4}, {"i"}, [&](Expr) { return sum(int_imm(0, DType::u32), k); });
  Schedule s(w.output({c}));
  s.rfactor(s.loop("k"));
  EXPECT_TRUE(same_meaning(s));
}

TEST(ComputeAtRefuses, AnAxisThatIsNoIndex) {
  Buffer x = make_buffer("X", {10}, Role::input), t = make_buffer("T", {10}, Role::temporary),
         y = make_buffer("Y", {10}, Role::output);
  auto nest = [](const char *name, auto &&store) {
    Var i = make_var(std::string("i_") + name), at = make_var("i");
    Block block;
    block.id = std::make_shared<const BlockSymbol>(BlockSymbol{name});
    block.iters = {{at, Expr(10), IterKind::spatial, Expr(i)}};
    block.body = store(Expr(at));
    return make_for({i, Expr(10), Serial{}, make_block(block)});
  };
  Stmt writes = nest("T", [&](const Expr &i) { return Store{t, {9 - i}, load(x, {i})}; });
  Stmt reads = nest("Y", [&](const Expr &i) { return Store{y, {i}, load(t, {i})}; });
  Schedule s(Program{"reversed", {x, y}, {}, make_seq({writes, reads})});
  expect_refused(s, "compute_at.index", [&] { s.compute_at(s.block("T"), s.loop("i_Y")); },
                 "block T writes T[9 - i], where its axis i is not an index by itself", {"T"});
}

} // namespace
} // namespace nestsmith
