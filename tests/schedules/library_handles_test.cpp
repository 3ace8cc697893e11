/// Tests that the handles of `library::elementwise`, `transpose`, `reduction` and `fallback`, and those of
/// `product` for what is no product of matrices, are of loops and blocks of the program, so that directives
/// follow.

#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/library/contraction.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"
#include "schedules/library/program.h"

#include <gtest/gtest.h>
#include <vector>

namespace nestsmith {
namespace {

/// "" if the schedule is right.
std::string checked_after(const Schedule &s) {
  if (auto owed = s.obligations(); !owed.empty())
    return owed.front().message;
  SimExecutor simulator;
  const CheckResult result = check(s, lower(s), simulator);
  return result.passed ? "" : result.messages().front();
}

Axis axis_of(const Schedule &s, Loop loop) { return find_loop(s.program().body, loop.var)->axis().value(); }

/// S[i] = sum over k of X[i, k], or of X[k, i].
Program sums(std::int64_t results, std::int64_t terms, bool along_terms) {
  Workload w("sums");
  Tensor X = along_terms ? w.placeholder("X", {results, terms}) : w.placeholder("X", {terms, results});
  Reduce k = reduce_axis("k", terms);
  return w.output({w.compute("S", {results}, {"i"},
                             [&](Expr i) -> Definition { return sum(along_terms ? X(i, k) : X(k, i), k); })});
}

TEST(LibraryHandles, OfElementsTakeDirectives) {
  for (std::int64_t columns : {64, 33}) {
    Workload w("copy");
    Tensor X = w.placeholder("X", {40, columns});
    Schedule s(w.output({w.compute("Y", {40, columns}, {"i", "j"},
                                   [&](Expr i, Expr j) -> Definition { return X(i, j) + 1; })}));
    const library::Elementwise made = library::elementwise(s, s.block("Y"));
    EXPECT_EQ(axis_of(s, made.blocks), Axis::block_x);
    EXPECT_EQ(s.extent(made.threads), 256);
    EXPECT_EQ(made.elements.has_value(), columns == 64);
    if (made.elements) {
      EXPECT_EQ(s.extent(*made.elements), 4);
    }
    // The elements of a thread come from registers.
    const BlockRef copy = s.cache_read(made.block, "X", Scope::local);
    s.compute_at(copy, made.threads);
    if (made.elements)
      s.vectorize(s.loops_below(copy, made.threads).back());
    EXPECT_EQ(checked_after(s), "") << columns;
  }
}

TEST(LibraryHandles, OfATransposeTakeDirectives) {
  for (std::int64_t batch : {1, 3}) {
    Workload w("transpose");
    Tensor X = w.placeholder("X", {65, batch, 33});
    Schedule s(w.output({w.compute("Y", {batch, 33, 65}, {"b", "j", "i"},
                                   [&](Expr b, Expr j, Expr i) -> Definition { return X(i, b, j); })}));
    const library::Transpose made = library::transpose(s, s.block("Y"));
    EXPECT_EQ(axis_of(s, made.blocks), Axis::block_x);
    EXPECT_EQ(s.extent(made.elements), 4);
    EXPECT_EQ(s.extent(made.tile_elements), 4);
    for (const auto &[block, thread] :
         {std::pair(made.block, made.threads), std::pair(made.tile, made.tile_threads)}) {
      EXPECT_EQ(s.extent(thread), 256);
      EXPECT_EQ(s.loops(block).back().var, thread.var);
    }
    s.async_copy(made.tile);
    s.launch_bounds(4);
    EXPECT_EQ(checked_after(s), "") << batch;
  }
}

TEST(LibraryHandles, OfReductionsTakeDirectives) {
  struct Case {
    std::int64_t results, terms;
    bool along_terms;
    std::size_t blocks, threads, copies;
    bool parts;
  };
  for (const auto &[results, terms, along_terms, blocks, threads, copies, parts] :
       {Case{3, 9000, true, 2, 2, 1, true}, Case{1, 9000, true, 2, 2, 1, true},
        Case{600, 2100, true, 1, 2, 1, false}, Case{70, 96, true, 1, 2, 1, false},
        Case{70, 97, true, 1, 2, 0, false}, Case{70, 960, false, 2, 2, 0, true},
        Case{20000, 40, false, 1, 2, 0, false}, Case{5, 7, true, 1, 1, 0, false}}) {
    SCOPED_TRACE(testing::Message() << results << " results of " << terms << " terms");
    Schedule s(sums(results, terms, along_terms));
    const BlockRef block = s.block("S");
    const library::Reduction made = library::reduction(s, block);
    EXPECT_EQ(made.sum.id, block.id);
    EXPECT_EQ(made.terms.id == block.id, threads == 1) << "a thread adds all terms of a result";
    EXPECT_EQ(made.blocks.size(), blocks);
    EXPECT_EQ(made.threads.size(), threads);
    ASSERT_EQ(made.steps.size(), 1U);
    EXPECT_EQ(made.copies.size(), copies);
    EXPECT_EQ(made.elements.has_value(), copies > 0);
    EXPECT_EQ(made.parts.has_value(), parts);
    for (const Loop &loop : made.blocks)
      EXPECT_TRUE(is_block(axis_of(s, loop)));
    for (const Loop &loop : made.threads)
      EXPECT_TRUE(is_thread(axis_of(s, loop)));
    if (made.parts) {
      EXPECT_EQ(made.parts->var, made.blocks.back().var);
    }
    if (made.elements) {
      EXPECT_EQ(s.extent(*made.elements), s.extent(s.loops(made.copies.front()).back()));
    }
    EXPECT_EQ(find_block(s.program().body, made.result.id)->body.buffer->name, "S");
    if (threads == 1) {
      s.unroll(made.steps.front());
    } else if (copies == 0) { // a register for the term of a step
      const BlockRef copy = s.cache_read(made.terms, "X", Scope::local);
      s.compute_at(copy, s.loops(made.terms).back());
    } else {
      s.partition(made.steps.front());
    }
    s.launch_bounds(2);
    EXPECT_EQ(checked_after(s), "");
  }
}

TEST(LibraryHandles, OfAFallbackTakeDirectives) {
  Schedule s(sums(300, 12, true));
  const library::Fallback made = library::fallback(s, s.block("S"));
  ASSERT_TRUE(made.blocks && made.threads);
  EXPECT_EQ(s.extent(*made.blocks), 2);
  EXPECT_EQ(s.extent(*made.threads), 256);
  ASSERT_EQ(made.steps.size(), 1U);
  EXPECT_NE(made.result.id, made.block.id);
  s.unroll_by(made.steps.front(), 4);
  EXPECT_EQ(checked_after(s), "");

  Workload w("one");
  Tensor X = w.placeholder("X", {7});
  Reduce k = reduce_axis("k", 7);
  Schedule one(w.output(
      {w.compute("S", {}, {}, [&](const std::vector<Expr> &) -> Definition { return sum(X(k), k); })}));
  const library::Fallback alone = library::fallback(one, one.block("S"));
  EXPECT_FALSE(alone.blocks || alone.threads);
  one.unroll(alone.steps.front());
  EXPECT_EQ(checked_after(one), "");
}

TEST(LibraryHandles, OfAProductWithAVectorTakeDirectives) {
  Workload w("matvec");
  Tensor X = w.placeholder("X", {70, 8192}), v = w.placeholder("v", {8192});
  Reduce k = reduce_axis("k", 8192);
  Schedule s(
      w.output({w.compute("S", {70}, {"i"}, [&](Expr i) -> Definition { return sum(X(i, k) * v(k), k); })}));
  const library::Product made = library::product(s, s.block("S"));
  EXPECT_EQ(made.blocks.size(), 2U);
  EXPECT_TRUE(is_thread(axis_of(s, made.threads)));
  EXPECT_EQ(s.extent(made.k_inner), 4);
  ASSERT_EQ(made.results.size(), 1U);
  EXPECT_EQ(find_block(s.program().body, made.results.front().id)->body.buffer->name, "S");
  EXPECT_GT(s.extent(made.k_outer), 1);
  s.launch_bounds(2);
  EXPECT_EQ(checked_after(s), "");
}

TEST(LibraryHandles, OfAStoreAreTheLoopsOfAThread) {
  Workload w("product");
  Tensor X = w.placeholder("X", {64, 64}), W = w.placeholder("W", {64, 64});
  Reduce k = reduce_axis("k", 64);
  Schedule s(w.output({w.compute("S", {64, 64}, {"i", "j"},
                                 [&](Expr i, Expr j) -> Definition { return sum(X(i, k) * W(k, j), k); })}));
  const library::Contraction c = library::contraction(s, s.block("S"), Scope::local);
  auto [i_block, i_thread, i_result] = s.split(c.i, {infer, 8, 4});
  auto [j_block, j_thread, j_result] = s.split(c.j, {infer, 8, 4});
  s.reorder({i_block, j_block, i_thread, j_thread, c.k, i_result, j_result});
  const Loop thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(c.results.front(), thread);
  const std::vector<Loop> stores = library::store_result(s, c.results.front(), thread, 4);
  library::bind_grid(s, c.batch, i_block, j_block, 1);
  s.bind(thread, Axis::thread_x);
  ASSERT_EQ(stores.size(), 2U);
  EXPECT_EQ(s.extent(stores.front()), 4) << "over accesses";
  EXPECT_EQ(s.extent(stores.back()), 4) << "over the elements of an access";
  EXPECT_TRUE(find_loop(s.program().body, stores.back().var)->is<Vectorized>());
  EXPECT_EQ(checked_after(s), "");
}

} // namespace
} // namespace nestsmith
