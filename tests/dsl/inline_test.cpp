/// Tests compute_inline and reverse_compute_inline: the resulting programs and the refusals.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::chain;
using test::expect_refused;
using test::gemm;
using test::same_meaning;

TEST(ComputeInline, PutsTheDefinitionIntoEveryReader) {
  Schedule s(chain(3, 4));
  s.compute_inline(s.block("T"));
  s.compute_inline(s.block("U"));
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(print(s.program()), "chain(X: u32[3, 4], out Y: u32[3, 4]):\n"
                                "for Y_i < 3:\n"
                                "  for Y_j < 4:\n"
                                "    block Y(i = Y_i, j = Y_j):\n"
                                "      Y[i, j] = (X[i, j] + 1)*2 + 3\n");
}

TEST(ComputeInline, SubstitutesWhateverTheReaderIndexesBy) {
  Schedule s(test::stencil(4)); // U reads two rows of T, and Y also reads U transposed
  s.compute_inline(s.block("U"));
  s.compute_inline(s.block("T"));
  EXPECT_TRUE(same_meaning(s));
  EXPECT_TRUE(temporaries(s.program()).size() == 1) << print(s.program());
}

TEST(ComputeInline, WorksAtAnyPlaceOfTheReader) {
  Schedule s(chain(5, 7));
  auto [outer, inner] = s.split(s.loop("U_i"), {infer, 2});
  (void)inner;
  s.compute_at(s.block("T"), outer);
  s.fuse(s.loop("Y_i"), s.loop("Y_j"));
  s.compute_inline(s.block("T"));
  s.compute_inline(s.block("U"));
  EXPECT_TRUE(same_meaning(s));
}

/// y[i] = t[i - 1] for i >= 1, and 7 for i = 0. The definition of t may have a mask of its own.
Program shifted(const std::function<Expr(const Tensor &x, Expr i)> &definition) {
  Workload w("shifted");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  Tensor t = w.compute("t", {8}, {"i"}, [&](Expr i) -> Definition { return definition(x, i); });
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition {
    return load(t.buffer(), {i - 1}, Expr(1) <= i, constant(DType::u32, 7)) + 1;
  });
  return w.output({y});
}

TEST(ComputeInline, ComposesMasksAndKeepsFills) {
  auto text = [](const std::function<Expr(const Tensor &, Expr)> &definition) {
    Schedule s(shifted(definition));
    s.compute_inline(s.block("t"));
    EXPECT_TRUE(same_meaning(s)); // the interpreter reports reads out of bounds, so x is not read at -1
    std::string all = print(s.program());
    return all.substr(all.find("y[i] ="));
  };
  EXPECT_EQ(text([](const Tensor &x, Expr i) { return x(i); }), "y[i] = (x[i - 1] where 1 <= i else 7) + 1\n");
  EXPECT_EQ(text([](const Tensor &x, Expr i) { return x(i) * 3 + 5; }),
            "y[i] = select(1 <= i, (x[i - 1] where 1 <= i else 0)*3 + 5, 7) + 1\n");
  EXPECT_EQ(text([](const Tensor &x, Expr i) {
              return load(x.buffer(), {i + 1}, i < Expr(7), constant(DType::u32, 9));
            }),
            "y[i] = select(1 <= i, (x[i - 1 + 1] where 1 <= i and i - 1 < 7 else 9), 7) + 1\n");
}

TEST(ComputeInlineRefuses, AParameter) {
  Schedule s(chain(3, 4));
  expect_refused(s, "compute_inline.temporary", [&] { s.compute_inline(s.block("Y")); },
                 "block Y writes Y, a parameter that the caller receives; only a temporary can be inlined",
                 {"Y"});
}

TEST(ComputeInlineRefuses, ASum) {
  Schedule s(gemm(3, 4, 5));
  std::string message =
      "is part of a sum, which each reader would recompute; move it to its readers with compute_at";
  expect_refused(s, "compute_inline.elementwise", [&] { s.compute_inline(s.block("AB")); },
                 "block AB " + message, {"AB"});
  s.decompose_reduction(s.block("AB"), s.loop("k"));
  expect_refused(s, "compute_inline.elementwise", [&] { s.compute_inline(s.block("AB_init")); },
                 "block AB_init " + message, {"AB_init"});
}

TEST(ComputeInlineRefuses, AnIndexThatIsNoAxis) {
  Workload w("reversed");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  Buffer t = std::make_shared<const BufferNode>(
      BufferNode{"t", DType::u32, {Expr(8)}, Scope::global, Role::temporary});
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition { return x(i); });
  Program program = w.output({y});
  Block block = *blocks_of(program.body).front();
  Expr i = block.iters[0].var;
  block.id = std::make_shared<const BlockSymbol>(BlockSymbol{"t"});
  block.body = {t, {Expr(7) - i}, load(x.buffer(), {i})};
  Var j = make_var("j");
  block.iters[0].binding = j;
  Stmt nest = make_for({j, Expr(8), Serial{}, make_block(block)});
  program.body = make_seq({nest, replace_buffer(program.body, x.buffer(), t)});
  Schedule s(program);
  expect_refused(s, "compute_inline.index", [&] { s.compute_inline(s.block("t")); },
                 "block t does not index t by exactly its own axes, each once and over its whole extent",
                 {"t"});
}

TEST(ComputeInlineRefuses, WhatNobodyReads) {
  Workload w("unused");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  w.compute("t", {8}, {"i"}, [&](Expr i) -> Definition { return x(i); });
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition { return x(i); });
  Schedule s(w.output({y}));
  expect_refused(s, "compute_inline.read", [&] { s.compute_inline(s.block("t")); },
                 "no block reads t, so there is no reader to inline it into", {"t"});
}

/// T = C + 1, C = 2*C, Y = T. T must contain the old C.
Program overwriting() {
  Workload w("overwriting");
  Tensor c = w.inout("C", {8}, DType::u32);
  Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &x) -> Definition { return c(x[0]) * 2; });
  Tensor y = w.compute("Y", {8}, {"i"}, [&](Expr i) -> Definition { return t(i); });
  return w.output({y});
}

TEST(ComputeInlineRefuses, WhatIsOverwrittenLater) {
  Schedule s(overwriting());
  expect_refused(s, "compute_inline.inputs", [&] { s.compute_inline(s.block("T")); },
                 "block T reads C, which C overwrites later, so an inlined read could see the new values",
                 {"T", "C"});
}

TEST(ReverseComputeInline, AppliesTheConsumerWhereTheProducerComputes) {
  Schedule s(chain(3, 4));
  s.split(s.loop("j"), {infer, 3});
  s.reverse_compute_inline(s.block("U"));
  s.reverse_compute_inline(s.block("Y"));
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(print(s.program()), "chain(X: u32[3, 4], out Y: u32[3, 4]):\n"
                                "for i < 3:\n"
                                "  for j_outer < 2:\n"
                                "    for j_inner < 3:\n"
                                "      block T(i = i, j = j_outer*3 + j_inner) where j < 4:\n"
                                "        Y[i, j] = (X[i, j] + 1)*2 + 3\n");
}

TEST(ReverseComputeInline, TransposesAndKeepsMasks) {
  Workload w("transposed");
  Tensor x = w.placeholder("x", {3, 4}, DType::u32), c = w.inout("c", {4, 3}, DType::u32);
  Tensor t = w.compute("t", {3, 4}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 5; });
  w.update(c, {"j", "i"}, [&](const std::vector<Expr> &v) -> Definition {
    return c(v[0], v[1]) + t.where(v[0] < Expr(2), v[1], v[0]);
  });
  Schedule s(w.output());
  s.reverse_compute_inline(s.block("c"));
  EXPECT_TRUE(same_meaning(s));
  EXPECT_TRUE(test::contains(print(s.program()), "c[j, i] = c[j, i] + select(j < 2, x[i, j]*5, 0)"))
      << print(s.program());
}

TEST(ReverseComputeInlineRefuses, AConsumerThatSums) {
  Workload w("sums");
  Tensor x = w.placeholder("x", {3, 4}, DType::u32);
  Reduce k = reduce_axis("k", 4);
  Tensor t = w.compute("t", {3, 4}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 5; });
  Tensor y = w.compute("y", {3}, {"i"}, [&](Expr i) { return sum(t(i, k), k); });
  Schedule s(w.output({y}));
  expect_refused(s, "reverse_compute_inline.elementwise", [&] { s.reverse_compute_inline(s.block("y")); },
                 "block y is a sum, expected an elementwise block; use reverse_compute_at", {"y"});
}

TEST(ReverseComputeInlineRefuses, WhatIsNoPlainReadOfOneTemporary) {
  Schedule s(test::stencil(4));
  expect_refused(s, "reverse_compute_inline.reads", [&] { s.reverse_compute_inline(s.block("U")); },
                 "block U does not read T at exactly its own axes, each once and over its whole extent", {"U"});
  expect_refused(s, "reverse_compute_inline.reads", [&] { s.reverse_compute_inline(s.block("T")); },
                 "block T is not the only reader of any temporary", {"T"});
  expect_refused(s, "reverse_compute_inline.reads", [&] { s.reverse_compute_inline(s.block("V")); },
                 "block V is not the only reader of any temporary", {"V"});

  Workload w("two");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  Tensor t = w.compute("t", {8}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor u = w.compute("u", {8}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition { return t(i) + u(i); });
  Schedule two(w.output({y}));
  expect_refused(two, "reverse_compute_inline.reads", [&] { two.reverse_compute_inline(two.block("y")); },
                 "block y reads both t and u, but can be inlined into one producer only", {"y"});
  two.compute_inline(two.block("u"));
  two.reverse_compute_inline(two.block("y"));
  EXPECT_TRUE(same_meaning(two));
}

TEST(ReverseComputeInlineRefuses, AProducerThatSums) {
  Schedule s(gemm(3, 4, 5));
  expect_refused(s, "reverse_compute_inline.complete", [&] { s.reverse_compute_inline(s.block("C")); },
                 "block AB accumulates AB, and C would be applied to partial sums; use reverse_compute_at",
                 {"AB", "C"});
}

TEST(ReverseComputeInlineRefuses, AProducerThatRunsMoreThanOnce) {
  Schedule s(chain(4, 4));
  s.split(s.loop("U_i"), {infer, 2});
  s.compute_at(s.block("T"), s.loop("U_j"));
  s.reverse_compute_inline(s.block("U")); // each element of T is still computed once
  EXPECT_TRUE(same_meaning(s));

  Workload w("repeated");
  Tensor x = w.placeholder("x", {4}, DType::u32);
  Tensor t = w.compute("t", {4}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor u = w.compute("u", {4}, {"i"}, [&](Expr i) -> Definition { return t(i) + 1; });
  Tensor y = w.compute("y", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return u(j) * u(i); });
  Schedule r(w.output({y}));
  r.compute_at(r.block("u"), r.loop("j"));
  r.compute_at(r.block("t"), r.loop("j"));
  expect_refused(r, "reverse_compute_inline.once", [&] { r.reverse_compute_inline(r.block("u")); },
                 "block t does not compute each element of t exactly once, at its own axes", {"t", "u"});
}

TEST(ReverseComputeInlineRefuses, WhatIsNotReadyOrStillInUse) {
  Workload w("later");
  Tensor x = w.placeholder("x", {8}, DType::u32);
  Tensor t = w.compute("t", {8}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor u = w.compute("u", {8}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor v = w.compute("v", {8}, {"i"}, [&](Expr i) -> Definition { return u(i) + t(i); });
  Tensor y = w.compute("y", {8}, {"i"}, [&](Expr i) -> Definition { return v(i) + u(i); });
  Schedule s(w.output({y}));
  expect_refused(s, "reverse_compute_inline.inputs", [&] { s.reverse_compute_inline(s.block("v")); },
                 "block v also reads u, which u writes after the start of t; move u before it", {"v", "u"});

  Workload o("old");
  Tensor c = o.inout("C", {8}, DType::u32);
  Tensor a = o.compute("A", {8}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  Tensor b = o.compute("B", {8}, {"i"}, [&](Expr i) -> Definition { return c(Expr(7) - i); });
  o.update(c, {"i"}, [&](const std::vector<Expr> &n) -> Definition { return a(n[0]) * 2; });
  Tensor z = o.compute("Z", {8}, {"i"}, [&](Expr i) -> Definition { return b(i) + 1; });
  Schedule old(o.output({z}));
  expect_refused(old, "reverse_compute_inline.inputs", [&] { old.reverse_compute_inline(old.block("C")); },
                 "block B uses C, which C would overwrite first", {"C", "B"});

  Workload f("flip");
  Tensor d = f.inout("D", {8}, DType::u32);
  Tensor e = f.compute("E", {8}, {"i"}, [&](Expr i) -> Definition { return d(Expr(7) - i); });
  f.update(d, {"i"}, [&](const std::vector<Expr> &n) -> Definition { return e(n[0]) * 2; });
  Schedule flip(f.output());
  expect_refused(flip, "reverse_compute_inline.inputs", [&] { flip.reverse_compute_inline(flip.block("D")); },
                 "block E reads other elements of D than the one that D overwrites", {"E", "D"});
}

} // namespace
} // namespace nestsmith
