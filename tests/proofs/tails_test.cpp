/// Tests that the claims about filled tails and caches (tests/proofs/tails.h, tests/proofs/covered.h) are
/// refuted for wrong programs that a mistake in the pass could produce. kernels_test.cpp tests the rungs.

#include "tests/proofs/tails.h"
#include "tests/schedules/rung.h"

#include "dsl/ir/fill_tails.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "schedules/workloads.h"
#include "tests/dsl/rows.h"
#include "tests/proofs/covered.h"
#include "tests/proofs/rungs.h"
#include "tests/triangle.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::proofs {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// Lowers a rung for a shape with partial tiles in each dimension.
Lowered ragged(const std::string &name, const Shape &shape = {33, 35, 37}) {
  return *lowered(test::rung(name), {"", shape});
}
Lowered shared() { return ragged("deep_dive/shared"); }

/// Changes the last block of this name.
Program changed(Program program, const std::string &name, const std::function<void(Block &)> &change) {
  const Block *last = nullptr;
  for (const Block *block : blocks_of(program.body))
    if (block->id->name == name)
      last = block;
  Stmt at = path_to(program.body, last->id).back();
  Block copy = *last;
  change(copy);
  program.body = replace(program.body, at, make_block(std::move(copy)));
  return program;
}

IterVar &axis(Block &block, const std::string &name) {
  for (IterVar &iter : block.iters)
    if (iter.var->name == name)
      return iter;
  throw std::out_of_range(name);
}

/// Replaces the masked load of the copy by the result of `mask`.
Program masked(const Program &program, const std::string &cache,
               const std::function<Expr(const Load &)> &mask) {
  return changed(program, cache, [&](Block &block) {
    const Load &access = *block.body.value.as<Load>();
    block.body.value = load(access.buffer, access.indices, mask(access), access.fill);
  });
}

TEST(Tails, OfARaggedRungAreProved) {
  Lowered rung = shared();
  Proof proof = prove_tails(rung.before, rung.after);
  EXPECT_THAT(proof.failures, IsEmpty());
  EXPECT_EQ(proof.proved_of(Claim::tails), proof.asked[static_cast<std::size_t>(Claim::tails)]);
  EXPECT_GE(proof.proved_of(Claim::tails), 10);
}

Lowered triangle() { return Lowered(triangle_product(37, 29, constant(DType::f32, 0))); }

TEST(Tails, OfACopyWithAMaskAreProved) {
  Lowered tiles = triangle();
  Proof proof = tiles.prove();
  EXPECT_THAT(proof.failures, IsEmpty());
  EXPECT_GE(proof.proved_of(Claim::tails), 10);
  for (const Block *block : blocks_of(tiles.after.body))
    for (const IterVar &iter : block->iters)
      EXPECT_TRUE(!iter.guarded || block->id->name == "C_writeback")
          << block->id->name << " " << iter.var->name;
}

TEST(TailsThatAreWrong, MaskThatLosesTheMaskOfTheCopy) {
  Lowered tiles = triangle();
  Program wrong = masked(tiles.after, "A_shared", [](const Load &access) {
    return access.indices[0] < Expr(37) && access.indices[1] < Expr(37);
  });
  EXPECT_THAT(prove_tails(tiles.before, wrong).failures,
              Contains(testing::AllOf(HasSubstr("masked where it was not"), HasSubstr("refuted by"))));
}

TEST(TailsThatAreWrong, CopyThatFillsItsTailWithOnes) {
  Lowered tiles = triangle();
  Program before = tiles.before, wrong = tiles.after;
  for (Program *program : {&before, &wrong})
    *program = changed(*program, "A_shared", [](Block &block) {
      const Load &access = *block.body.value.as<Load>();
      block.body.value = load(access.buffer, access.indices, access.mask, constant(DType::f32, 1));
    });
  EXPECT_THAT(prove_tails(before, wrong).failures, Contains(HasSubstr("is not 0.0 past the end of A_shared")));
}

TEST(TailsThatAreWrong, MaskOneElementTooWide) {
  Lowered rung = shared();
  Program wrong = masked(rung.after, "A_shared", [](const Load &access) {
    return access.indices[0] < Expr(33) && access.indices[1] < Expr(38);
  });
  EXPECT_THAT(
      prove_tails(rung.before, wrong).failures,
      Contains(testing::AllOf(HasSubstr("is not 0.0 past the end of A_shared"), HasSubstr("refuted by"))));
}

TEST(TailsThatAreWrong, MaskOneElementTooNarrow) {
  Lowered rung = shared();
  Program wrong = masked(rung.after, "A_shared", [](const Load &access) {
    return access.indices[0] < Expr(33) && access.indices[1] < Expr(36);
  });
  EXPECT_THAT(prove_tails(rung.before, wrong).failures,
              Contains(testing::AllOf(HasSubstr("masked where it was not"), HasSubstr("refuted by"))));
}

TEST(TailsThatAreWrong, MaskThatFillsOnes) {
  Lowered rung = shared();
  Program wrong = changed(rung.after, "A_shared", [](Block &block) {
    const Load &access = *block.body.value.as<Load>();
    block.body.value = load(access.buffer, access.indices, access.mask, constant(DType::f32, 1));
  });
  EXPECT_THAT(prove_tails(rung.before, wrong).failures,
              Contains(HasSubstr("is not 0.0 past the end of A_shared")));
}

/// The maxima of rows, whose tile in shared memory is filled with -infinity past the end of a row.
Program rows_in_tiles(Reducer reducer) {
  Schedule s(test::rows(reducer, 5, 70));
  auto [outer, inner] = s.split<2>(s.loop("k"), {infer, 32});
  BlockRef tile = s.cache_read(s.block("Y"), "X", Scope::shared);
  s.compute_at(tile, outer);
  return s.program();
}

TEST(Tails, OfEachReducerAreProved) {
  for (Reducer reducer : reducers) {
    Program before = rows_in_tiles(reducer), after = with_filled_tails(before);
    EXPECT_NE(print(before), print(after));
    Proof proof = prove_tails(before, after);
    EXPECT_THAT(proof.failures, IsEmpty()) << print(after);
    EXPECT_GE(proof.proved_of(Claim::tails), 3);
    for (const Block *block : blocks_of(after.body))
      EXPECT_TRUE(std::ranges::none_of(block->iters, &IterVar::guarded)) << print(after);
  }
}

/// The fill of a sum is no identity of a maximum.
TEST(TailsThatAreWrong, FillOfAnotherReducer) {
  for (auto [reducer, message] :
       {std::pair(Reducer::max, "is not -inf past the end of X_shared"),
        std::pair(Reducer::min, "is not inf past"), std::pair(Reducer::product, "is not 1.0 past")}) {
    Program before = rows_in_tiles(reducer);
    Program wrong = changed(with_filled_tails(before), "X_shared", [](Block &block) {
      const Load &access = *block.body.value.as<Load>();
      block.body.value = load(access.buffer, access.indices, access.mask, constant(DType::f32, 0));
    });
    EXPECT_THAT(prove_tails(before, wrong).failures, Contains(HasSubstr(message)));
  }
}

TEST(TailsThatAreWrong, NoMask) {
  Lowered rung = shared();
  Program wrong = masked(rung.after, "B_shared", [](const Load &) { return Expr(); });
  EXPECT_THAT(prove_tails(rung.before, wrong).failures,
              Contains(HasSubstr("is not 0.0 past the end of B_shared")));
}

TEST(TailsThatAreWrong, GuardOfWhatTheCallerSees) {
  Lowered rung = shared();
  Program wrong = changed(rung.after, "C", [](Block &block) { axis(block, "i").guarded = false; });
  EXPECT_THAT(prove_tails(rung.before, wrong).failures,
              Contains(HasSubstr("the guard of i went from what writes to global memory")));
}

TEST(TailsThatAreWrong, AnotherAxis) {
  Lowered rung = shared();
  Program wrong =
      changed(rung.after, "C", [](Block &block) { axis(block, "i").binding = axis(block, "j").binding; });
  EXPECT_THAT(prove_tails(rung.before, wrong).failures,
              Contains(HasSubstr("more than guards, masks and paddings")));
}

/// Replaces k by k//2*2. The extent is even, so both are inside or both are past the end. The comparison of the
/// programs must fail.
TEST(TailsThatAreWrong, AnotherElementOfTheSum) {
  Lowered rung = ragged("deep_dive/shared", {33, 35, 38});
  Program wrong = changed(rung.after, "AB", [](Block &block) {
    Expr &binding = axis(block, "k").binding;
    binding = floordiv(binding, 2) * 2;
  });
  EXPECT_THAT(prove_tails(rung.before, rung.after).failures, IsEmpty());
  EXPECT_THAT(prove_tails(rung.before, wrong).failures,
              Contains(HasSubstr("more than guards, masks and paddings")));
}

/// The fill past the end of A_shared is 1 instead of 0.
TEST(TailsThatAreWrong, FactorThatAMaskFillsWithOnes) {
  Lowered rung = shared();
  auto ones = [](Block &block) {
    const auto *sum = block.body.value.as<Binary>();
    const auto *product = sum->b.as<Binary>();
    const Load &a = *product->a.as<Load>();
    Expr filled = load(a.buffer, a.indices, a.indices[1] < Expr(40), constant(DType::f32, 1));
    block.body.value = sum->a + filled * product->b;
  };
  Program before = changed(rung.before, "AB", ones), wrong = changed(rung.after, "AB", ones);
  EXPECT_THAT(prove_tails(before, wrong).failures, Contains(HasSubstr("is not 0.0 where k is past its end")));
}

TEST(TailsThatAreWrong, SumThatTakesAnotherElement) {
  Lowered rung = shared();
  auto moved = [](Block &block) {
    const auto *sum = block.body.value.as<Binary>();
    const Load &old = *sum->a.as<Load>();
    block.body.value = load(old.buffer, {old.indices[0], old.indices[0]}) + sum->b;
  };
  Program before = changed(rung.before, "AB", moved), wrong = changed(rung.after, "AB", moved);
  EXPECT_THAT(prove_tails(before, wrong).failures,
              Contains(HasSubstr("the guard of k went from what is no sum")));
}

/// Only one factor is cached. The other factor may be NaN past the end of B, so the product is not 0.
TEST(TailsThatAreWrong, SumWithOneFactorThatIsNotFilled) {
  Schedule s(accumulate_nt({33, 35, 37}, DType::f32));
  auto AB = s.block("AB");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [k_outer, k_inner] = s.split(k, {infer, 8});
  s.compute_at(s.cache_read(AB, "A", Scope::local), k_outer);
  Program before = s.program(), after = with_filled_tails(before);
  EXPECT_THAT(prove_tails(before, after).failures, IsEmpty());
  Program wrong = changed(after, "AB", [](Block &block) { axis(block, "k").guarded = false; });
  EXPECT_THAT(prove_tails(before, wrong).failures, Contains(HasSubstr("is not 0.0 where k is past its end")));
}

/// Reduces the extent of the innermost loop around the first block of this name by one.
Program shorter(Program program, const std::string &name) {
  for (const Block *block : blocks_of(program.body))
    if (block->id->name == name) {
      Stmt inner = *std::next(path_to(program.body, block->id).rbegin());
      For loop = *as<For>(inner);
      loop.extent = Expr(as_int(loop.extent).value() - 1);
      program.body = replace(program.body, inner, make_for(loop));
      return program;
    }
  throw std::out_of_range(name);
}

TEST(CachesThatAreWrong, CopyThatIsOneElementShort) {
  Lowered rung = ragged("deep_dive/shared");
  EXPECT_THAT(prove_covered(rung.after).failures, IsEmpty());
  EXPECT_THAT(prove_covered(shorter(rung.after, "A_shared")).failures,
              Contains(HasSubstr("AB reads A_shared[i, k], which is not written")));
}

TEST(CachesThatAreWrong, InitThatIsOneElementShort) {
  Lowered rung = ragged("deep_dive/tile1d");
  EXPECT_THAT(prove_covered(rung.after).failures, IsEmpty());
  EXPECT_THAT(prove_covered(shorter(rung.after, "AB_init")).failures,
              Contains(HasSubstr("AB reads AB[i, j], which is not written")));
}

TEST(CachesThatAreWrong, SumThatNothingBegins) {
  Lowered rung = shared();
  for (const Block *block : blocks_of(rung.after.body))
    if (block->id->name == "AB_init") {
      Program wrong = rung.after;
      wrong.body = replace(wrong.body, path_to(wrong.body, block->id).back(), nullptr);
      EXPECT_THAT(prove_covered(wrong).failures, Contains(HasSubstr("AB reads AB before it is written")));
    }
}

TEST(CachesThatAreWrong, CopyThatComesTooLate) {
  Lowered rung = shared();
  const Seq *body = nullptr; // the body of k_outer: two copies and the sum
  walk(rung.after.body, [&](const Stmt &stmt) {
    if (const Seq *seq = as<Seq>(stmt); seq && seq->stmts.size() == 3)
      body = seq;
    return true;
  });
  ASSERT_TRUE(body);
  Program wrong = rung.after;
  walk(rung.after.body, [&](const Stmt &stmt) {
    if (as<Seq>(stmt) == body)
      wrong.body = replace(wrong.body, stmt, make_seq({body->stmts[1], body->stmts[2], body->stmts[0]}));
    return true;
  });
  EXPECT_THAT(prove_covered(wrong).failures, Contains(HasSubstr("AB reads A_shared before it is written")));
}

TEST(CachesThatAreWrong, CopyThatKeptItsGuard) {
  Lowered rung = shared();
  Program wrong = changed(rung.after, "A_shared", [](Block &block) {
    axis(block, "A_k").guarded = true;
    axis(block, "A_k").extent = Expr(37);
  });
  EXPECT_THAT(prove_covered(wrong).failures, Contains(HasSubstr("which its guard leaves out")));
}

} // namespace
} // namespace nestsmith::proofs
