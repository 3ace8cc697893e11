/// Tests that the claims about skipped tiles (tests/proofs/skipped.h) are proved for the conditions of
/// lowering, and refuted for wrong ones.

#include "tests/causal.h"
#include "tests/proofs/rungs.h"
#include "tests/proofs/skipped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::proofs {
namespace {

using test::causal_product;
using test::CausalTiles;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SkippedTiles, HaveNoTerms) {
  for (std::int64_t rows : {32, 37}) {
    CausalTiles t(causal_product(rows, 24, rows));
    t.s.double_buffer(t.k_outer);
    t.s.skip_tiles(t.k_outer);
    Proof proof = Lowered(t.s).prove();
    EXPECT_THAT(proof.failures, IsEmpty());
    EXPECT_THAT(proof.unreached, IsEmpty());
    EXPECT_EQ(proof.proved_of(Claim::skipped), 1);
  }
}

/// The fill of a maximum is in the copy, and one factor of a product of integers is masked.
TEST(SkippedTiles, HaveNoTermsByTheMasksOfTheirCopies) {
  for (DType dtype : {DType::u32, DType::f32}) {
    Workload work("rows");
    Tensor x = work.placeholder("X", {40, 64}, dtype), z = work.placeholder("Z", {64}, dtype);
    Reduce k = reduce_axis("k", 64);
    Tensor y = work.compute("Y", {40}, {"i"}, [&](Expr i) {
      Expr least = identity_of(Reducer::max, dtype);
      return is_float(dtype) ? max_over(load(x.buffer(), {i, k}, k <= i, least), k)
                             : sum(x.where(k <= i, i, k) * z(k), k);
    });
    Schedule s(work.output({y}));
    BlockRef copy = s.cache_read(s.block("Y"), "X", Scope::shared);
    auto [i, whole] = s.loops<2>(s.block("Y"));
    auto [block, thread] = s.split<2>(i, {infer, 16});
    auto [outer, inner] = s.split<2>(whole, {infer, 8});
    s.reorder({block, thread, outer, inner});
    s.compute_at(copy, outer);
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    s.skip_tiles(outer);
    Proof proof = prove_skipped(s.program());
    EXPECT_THAT(proof.failures, IsEmpty());
    EXPECT_EQ(proof.proved_of(Claim::skipped), 1);
  }
}

TEST(SkippedTilesThatAreWrong, OneTileTooMany) {
  CausalTiles t(causal_product(32, 24, 32));
  t.s.skip_tiles(t.k_outer);
  Expr i = t.i_outer.var, k = t.k_outer.var;
  EXPECT_THAT(prove_skipped(t.s.program(), [&](const For &) { return k <= i * 2 + 1; }).failures, IsEmpty());
  EXPECT_THAT(prove_skipped(t.s.program(), [&](const For &) { return k <= i * 2; }).failures,
              Contains(testing::AllOf(HasSubstr("skipped k_outer of C"), HasSubstr("refuted by"))));
}

/// The loop is marked by hand, because skip_tiles refuses it.
TEST(SkippedTilesThatAreWrong, ATermThatIsMultipliedByZero) {
  Workload work("product");
  Tensor a = work.placeholder("A", {32, 32}), b = work.placeholder("B", {32, 24});
  Reduce k = reduce_axis("k", 32);
  Tensor c = work.compute("C", {32, 24}, {"i", "j"},
                          [&](Expr i, Expr j) { return sum(a.where(k <= i, i, k) * b(k, j), k); });
  CausalTiles t(work.output({c}));
  Program program = t.s.program();
  Stmt loop = path_to(program.body, t.k_outer.var).back();
  For skipping = *as<For>(loop);
  std::get<Serial>(skipping.form).skipping = true;
  program.body = replace(program.body, loop, make_for(skipping));
  Expr i = t.i_outer.var, step = t.k_outer.var;
  EXPECT_THAT(prove_skipped(program, [&](const For &) { return step <= i * 2 + 1; }).failures,
              Contains(HasSubstr("skipped k_outer of C")));
}

} // namespace
} // namespace nestsmith::proofs
