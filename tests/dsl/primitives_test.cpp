/// Tests the program that each primitive makes, and that its meaning stays the same at every shape.

#include "tests/dsl/support.h"

#include <functional>

namespace nestsmith {
namespace {

using test::gemm;
using test::product;

std::string nest(const Schedule &s) { return "\n" + print(s.program().body); }

/// Applies the directives at shapes around a tile of 4: 1, primes, a tile plus or minus 1, and different M, N
/// and K.
void expect_same_at_all_shapes(Program (*program)(std::int64_t, std::int64_t, std::int64_t, DType),
                               const std::function<void(Schedule &)> &recipe) {
  static constexpr std::int64_t shapes[][3] = {{1, 1, 1}, {4, 4, 4}, {3, 4, 5}, {5, 3, 4},  {8, 1, 7},
                                               {1, 9, 2}, {2, 5, 1}, {7, 5, 3}, {13, 11, 9}};
  for (auto [m, n, k] : shapes) {
    Schedule s(program(m, n, k, DType::u32));
    recipe(s);
    EXPECT_TRUE(test::same_meaning(s)) << m << "x" << n << "x" << k;
  }
}

TEST(Split, DividesALoop) {
  Schedule s(product(8, 5, 4));
  auto [outer, inner] = s.split(s.loop("i"), {infer, 2});
  EXPECT_EQ(s.name(outer), "i_outer");
  EXPECT_EQ(s.name(inner), "i_inner");
  EXPECT_EQ(nest(s), R"(
for i_outer < 4:
  for i_inner < 2:
    for j < 5:
      for k < 4:
        block C(i = i_outer*2 + i_inner, j = j, sum k = k):
          init C[i, j] = 0
          C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
}

TEST(Split, GuardsATail) {
  Schedule s(product(7, 5, 4));
  s.split(s.loop("i"), {2, infer, 3});
  EXPECT_EQ(nest(s), R"(
for i_0 < 2:
  for i_1 < 2:
    for i_2 < 3:
      for j < 5:
        for k < 4:
          block C(i = i_0*6 + i_1*3 + i_2, j = j, sum k = k) where i < 7:
            init C[i, j] = 0
            C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
}

TEST(Split, KeepsTheMeaning) {
  for (std::int64_t factor : {1, 2, 3, 4, 16})
    expect_same_at_all_shapes(product, [&](Schedule &s) {
      for (const char *axis : {"i", "j", "k"}) {
        auto [outer, inner] = s.split(s.loop(axis), {infer, factor});
        s.split(outer, {infer, 2});
        if (factor == 4)
          s.split(inner, {2, 2});
      }
    });
}

TEST(Split, GivesHandlesThatStayValid) {
  Schedule s(product(8, 5, 4));
  Loop j = s.loop("j");
  auto [a, b, c] = s.split(s.loop("i"), {2, 2, 2});
  s.reorder({j, a});
  s.split(j, {infer, 3});
  for (Loop loop : {a, b, c})
    s.unroll(loop);
  EXPECT_EQ(s.loops(s.block("C")).size(), 6U);
}

TEST(Fuse, JoinsTwoLoops) {
  Schedule s(product(7, 5, 4));
  EXPECT_EQ(s.name(s.fuse(s.loop("i"), s.loop("j"))), "i_j");
  EXPECT_EQ(nest(s), R"(
for i_j < 35:
  for k < 4:
    block C(i = i_j//5, j = i_j%5, sum k = k):
      init C[i, j] = 0
      C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
}

TEST(Fuse, UndoesASplit) {
  Schedule s(product(8, 5, 4));
  auto [outer, inner] = s.split(s.loop("i"), {infer, 2});
  s.fuse(outer, inner);
  EXPECT_EQ(nest(s), R"(
for i_outer_i_inner < 8:
  for j < 5:
    for k < 4:
      block C(i = i_outer_i_inner, j = j, sum k = k):
        init C[i, j] = 0
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
}

TEST(Fuse, KeepsTheMeaning) {
  expect_same_at_all_shapes(product, [](Schedule &s) {
    Loop all = s.fuse(s.fuse(s.loop("i"), s.loop("j")), s.loop("k"));
    s.split(all, {infer, 7});
  });
  expect_same_at_all_shapes(product, [](Schedule &s) {
    auto [outer, inner] = s.split(s.loop("j"), {infer, 4});
    s.reorder({outer, s.loop("i"), inner});
    s.split(s.fuse(s.loop("i"), inner), {infer, 2});
  });
}

TEST(Reorder, PermutesPlaces) {
  Schedule s(product(7, 5, 4));
  s.reorder({s.loop("k"), s.loop("i")});
  EXPECT_EQ(nest(s), R"(
for k < 4:
  for j < 5:
    for i < 7:
      block C(i = i, j = j, sum k = k):
        init C[i, j] = 0
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
}

TEST(Reorder, KeepsTheMeaning) {
  expect_same_at_all_shapes(product, [](Schedule &s) {
    auto [i0, i1] = s.split(s.loop("i"), {infer, 4});
    auto [k0, k1] = s.split(s.loop("k"), {infer, 4});
    s.reorder({k1, i1, s.loop("j"), k0, i0});
  });
}

TEST(BindAndUnroll, ChangeOnlyTheKindOfALoop) {
  Schedule s(product(7, 5, 4));
  s.bind(s.loop("i"), Axis::block_y);
  s.unroll(s.loop("k"));
  EXPECT_EQ(nest(s), R"(
for i < 7 in blockIdx.y:
  for j < 5:
    for k < 4 unrolled:
      block C(i = i, j = j, sum k = k):
        init C[i, j] = 0
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(CacheRead, CopiesTheWholeBuffer) {
  Schedule s(product(7, 5, 4));
  BlockRef tile = s.cache_read(s.block("C"), "A", Scope::shared);
  EXPECT_EQ(tile.id, s.block("A_shared").id);
  EXPECT_EQ("\n" + print(s.program()), R"(
product(A: u32[7, 4], B: u32[4, 5], out C: u32[7, 5]):
shared A_shared: u32[7, 4]
for ax_A_i < 7:
  for ax_A_k < 4:
    block A_shared(A_i = ax_A_i, A_k = ax_A_k):
      A_shared[A_i, A_k] = A[A_i, A_k]
for i < 7:
  for j < 5:
    for k < 4:
      block C(i = i, j = j, sum k = k):
        init C[i, j] = 0
        C[i, j] = C[i, j] + A_shared[i, k]*B[k, j]
)");
}

TEST(ComputeAt, ShrinksACopyToWhatIsRead) {
  Schedule s(product(7, 5, 4));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 3});
  (void)inner;
  s.compute_at(s.cache_read(s.block("C"), "A", Scope::shared), outer);
  EXPECT_EQ(nest(s), R"(
for i < 7:
  for j < 5:
    for k_outer < 2:
      for ax_A_i < 1:
        for ax_A_k < 3:
          block A_shared(A_i = ax_A_i + i, A_k = k_outer*3 + ax_A_k) where A_k < 4:
            A_shared[A_i, A_k] = A[A_i, A_k]
      for k_inner < 3:
        block C(i = i, j = j, sum k = k_outer*3 + k_inner) where k < 4:
          init C[i, j] = 0
          C[i, j] = C[i, j] + A_shared[i, k]*B[k, j]
)");
}

TEST(ComputeAt, BringsWhatAllThreadsShareAndWhatOneThreadOwns) {
  for (Scope scope : {Scope::shared, Scope::local}) {
    Schedule s(product(7, 5, 4));
    auto [outer, inner] = s.split(s.loop("j"), {infer, 3});
    (void)outer;
    s.bind(inner, Axis::thread_x);
    BlockRef tile = s.cache_read(s.block("C"), "B", scope);
    s.compute_at(tile, inner);
    EXPECT_TRUE(
        test::contains(print(s.program()), scope == Scope::shared ? "for ax_B_j < 3:" : "for ax_B_j < 1:"))
        << print(s.program());
    EXPECT_TRUE(test::same_meaning(s));
  }
}

TEST(ComputeAt, KeepsTheMeaning) {
  for (const char *at : {"i_outer", "i_inner", "j", "k_outer", "k_inner"})
    for (Scope scope : {Scope::shared, Scope::local})
      expect_same_at_all_shapes(product, [&](Schedule &s) {
        auto [i0, i1] = s.split(s.loop("i"), {infer, 4});
        auto [k0, k1] = s.split(s.loop("k"), {infer, 4});
        s.reorder({i0, s.loop("j"), k0, i1, k1});
        for (const char *operand : {"A", "B"})
          s.compute_at(s.cache_read(s.block("C"), operand, scope), s.loop(at));
      });
  expect_same_at_all_shapes(gemm, [](Schedule &s) {
    auto [outer, inner] = s.split(s.loop("C_i"), {infer, 4});
    (void)inner;
    s.compute_at(s.block("AB"), outer);
    s.compute_at(s.block("AB"), s.loop("C_j"));
  });
}

TEST(ReverseComputeAt, FinishesATileWhereItIsMade) {
  Schedule s(gemm(7, 5, 4));
  auto [outer, inner] = s.split(s.loop("i"), {infer, 3});
  s.reorder({outer, s.loop("j"), inner});
  s.reverse_compute_at(s.block("C"), outer);
  EXPECT_EQ(nest(s), R"(
for i_outer < 3:
  for j < 5:
    for i_inner < 3:
      for k < 4:
        block AB(i = i_outer*3 + i_inner, j = j, sum k = k) where i < 7:
          init AB[i, j] = 0
          AB[i, j] = AB[i, j] + A[i, k]*B[k, j]
  for ax_i < 3:
    for ax_j < 5:
      block C(i = i_outer*3 + ax_i, j = ax_j) where i < 7:
        C[i, j] = alpha*AB[i, j] + beta*(C[i, j] where beta != 0 else 0)
)");
}

TEST(ReverseComputeAt, KeepsTheMeaning) {
  for (const char *at : {"i_outer", "j", "i_inner"})
    expect_same_at_all_shapes(gemm, [&](Schedule &s) {
      auto [outer, inner] = s.split(s.loop("i"), {infer, 4});
      s.reorder({outer, s.loop("j"), inner});
      s.reverse_compute_at(s.block("C"), s.loop(at));
    });
  expect_same_at_all_shapes(
      gemm, [](Schedule &s) { s.reverse_compute_at(s.block("C"), s.fuse(s.loop("i"), s.loop("j"))); });
}

TEST(ReverseComputeAt, DoesNotDependOnTheNamesOfStages) {
  for (const char *last : {"A_last", "Z_last"}) {
    Workload w("two");
    Tensor x = w.placeholder("X", {4, 5}, DType::u32);
    Tensor m = w.compute("M", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
    Tensor y = w.compute(last, {4, 5}, {"i", "j"}, [&](Expr i, Expr j) { return m(i, j) * 2; });
    Schedule s(w.output({y}));
    s.reverse_compute_at(s.block(last), s.loop("i"));
    EXPECT_TRUE(test::same_meaning(s));
  }
}

TEST(CacheWrite, ComputesElsewhereAndCopiesBack) {
  Schedule s(product(7, 5, 4));
  BlockRef copy = s.cache_write(s.block("C"), Scope::local);
  s.reverse_compute_at(copy, s.loop("j"));
  EXPECT_EQ(nest(s), R"(
for i < 7:
  for j < 5:
    for k < 4:
      block C(i = i, j = j, sum k = k):
        init C_local[i, j] = 0
        C_local[i, j] = C_local[i, j] + A[i, k]*B[k, j]
    for ax_C_i < 1:
      for ax_C_j < 1:
        block C_writeback(C_i = ax_C_i + i, C_j = ax_C_j + j):
          C[C_i, C_j] = C_local[C_i, C_j]
)");
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(CacheWrite, KeepsTheMeaning) {
  expect_same_at_all_shapes(product, [](Schedule &s) {
    auto [outer, inner] = s.split(s.loop("i"), {infer, 4});
    s.reorder({outer, s.loop("j"), inner});
    s.reverse_compute_at(s.cache_write(s.block("C"), Scope::local), s.loop("j"));
  });
}

TEST(SetScope, MovesATemporary) {
  Schedule s(gemm(7, 5, 4));
  std::string before = nest(s);
  s.set_scope(s.block("AB"), Scope::local);
  EXPECT_TRUE(test::contains(print(s.program()), "local AB: u32[7, 5]"));
  EXPECT_EQ(nest(s), before);
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(DecomposeReduction, PutsTheInitBeforeTheSum) {
  Schedule s(product(7, 5, 4));
  s.reorder({s.loop("k"), s.loop("i")});
  BlockRef init = s.decompose_reduction(s.block("C"), s.loop("k"));
  EXPECT_EQ(init.id, s.block("C_init").id);
  EXPECT_EQ(nest(s), R"(
for j_init < 5:
  for i_init < 7:
    block C_init(i = i_init, j = j_init):
      C[i, j] = 0
for k < 4:
  for j < 5:
    for i < 7:
      block C(i = i, j = j, sum k = k):
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
}

TEST(DecomposeReduction, KeepsTheMeaning) {
  for (const char *at : {"i", "j", "k_outer"})
    expect_same_at_all_shapes(product, [&](Schedule &s) {
      s.split(s.loop("k"), {infer, 4});
      s.decompose_reduction(s.block("C"), s.loop(at));
    });
  // The init is below a loop that combines both axes, as in the rung naive.
  expect_same_at_all_shapes(gemm, [](Schedule &s) {
    s.reorder({s.loop("j"), s.loop("i")});
    Loop element = s.fuse(s.loop("j"), s.loop("i"));
    s.reverse_compute_at(s.block("C"), element);
    auto [outer, inner] = s.split(element, {infer, 4});
    (void)outer;
    s.decompose_reduction(s.block("AB"), inner);
  });
}

TEST(Schedule, NamesLoopsOfLaterStagesApart) {
  Schedule s(test::chain(3, 4));
  EXPECT_EQ(nest(s), R"(
for i < 3:
  for j < 4:
    block T(i = i, j = j):
      T[i, j] = X[i, j] + 1
for U_i < 3:
  for U_j < 4:
    block U(i = U_i, j = U_j):
      U[i, j] = T[i, j]*2
for Y_i < 3:
  for Y_j < 4:
    block Y(i = Y_i, j = Y_j):
      Y[i, j] = U[i, j] + 3
)");
}

} // namespace
} // namespace nestsmith
