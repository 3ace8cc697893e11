/// Tests the barriers between threads, and reductions across them. The number in the comment of a test is that
/// of the public issue of TileLang, whose compiler gave a wrong result.

#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/known_bugs/support.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::expect_right;
using testing::HasSubstr;

/// 2542: a butterfly of 48 threads combined the first 32 only.
TEST(KnownBugs, ReductionsAcrossAnyNumberOfThreads) {
  for (Reducer reducer : reducers)
    for (std::int64_t threads : {1, 2, 3, 5, 31, 32, 33, 48, 64, 96})
      for (Scope scope : {Scope::local, Scope::shared}) {
        SCOPED_TRACE(fmt::format("{} of {} threads", name(reducer), threads));
        Workload w("rows");
        Tensor x = w.placeholder("X", {3, 200}, DType::u32);
        Reduce k = reduce_axis("k", 200);
        Tensor t = w.compute("T", {3}, {"i"}, [&](Expr i) { return reduce(reducer, x(i, k), {k}); });
        Schedule s(w.output({w.compute("Y", {3, 5}, {"i", "j"},
                                       [&](Expr i, Expr j) -> Definition { return t(i) + x(i, j); })}));
        BlockRef sums = s.block("T"), result = s.block("Y");
        Loop row = s.loops(sums)[0];
        s.bind(row, Axis::block_x);
        s.set_scope(sums, scope);
        s.reduce_across(s.split<2>(s.loops(sums).back(), {infer, threads})[1], Axis::thread_x);
        s.reverse_compute_at(result, row);
        s.bind(s.split<2>(s.loops(result).back(), {infer, threads})[1], Axis::thread_x);
        expect_right(s);
      }
}

/// Y[i, j] = T[i, n - 1 - j], where T is X + 1 in shared memory. A block has 64 threads, of which `writers`
/// write T.
Schedule reversed(std::int64_t n, std::int64_t rounds) {
  Workload w("reversed");
  Tensor x = w.placeholder("X", {rounds, n}, DType::u32);
  Tensor t = w.compute("T", {rounds, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) + 1; });
  Schedule s(w.output({w.compute("Y", {rounds, n}, {"i", "j"},
                                 [&](Expr i, Expr j) -> Definition { return t(i, n - 1 - j); })}));
  BlockRef tile = s.block("T"), result = s.block("Y");
  s.compute_at(tile, s.loops(result)[0]);
  s.set_scope(tile, Scope::shared);
  for (BlockRef block : {tile, result})
    s.bind(s.split<2>(s.loops(block).back(), {infer, 64})[1], Axis::thread_x);
  return s;
}

int barriers_of(const Schedule &s) {
  int count = 0;
  kernel::walk(lower(s).only().body,
               [&](const kernel::Stmt &stmt) { count += kernel::as<kernel::Barrier>(stmt) != nullptr; });
  return count;
}

/// 2556: the barrier was lost if the threads below a guard were no multiple of 32. 2612: it was moved before
/// the guard of some threads. In each round one barrier is between the writes and the reads, and one before the
/// next round; both are outside of the guard `j < n`.
TEST(KnownBugs, BarriersOfATileThatSomeThreadsFill) {
  for (std::int64_t n : {1, 31, 33, 48, 63, 64, 65, 100})
    for (std::int64_t rounds : {1, 4}) {
      SCOPED_TRACE(fmt::format("{} x {}", rounds, n));
      Schedule s = reversed(n, rounds);
      expect_right(s);
      EXPECT_EQ(barriers_of(s), rounds == 1 ? 1 : 2);
    }
}

/// 2613: two groups of warps read one tile, and the next iteration overwrote it without a barrier.
TEST(KnownBugs, ATileThatTwoGroupsOfWarpsReadIsNotOverwritten) {
  for (std::int64_t k : {32, 64, 100}) {
    Workload w("groups");
    Tensor x = w.placeholder("X", {k}, DType::u32), y = w.placeholder("Y", {k, 64}, DType::u32);
    Reduce r = reduce_axis("k", k);
    Schedule s(w.output({w.compute("Z", {64}, {"j"}, [&](Expr j) { return sum(x(r) * y(r, j), r); })}));
    BlockRef sums = s.block("Z");
    auto [group, thread] = s.split<2>(s.loops(sums)[0], {2, 32}); // one warp each
    auto [outer, inner] = s.split<2>(s.loops(sums).back(), {infer, 32});
    s.reorder({group, thread, outer, inner});
    s.bind(group, Axis::warp);
    s.bind(thread, Axis::lane);
    s.reverse_compute_at(s.cache_write(sums, Scope::local), thread);
    BlockRef tile = s.cache_read(sums, "X", Scope::shared);
    s.compute_at(tile, outer);
    s.bind(s.split<2>(s.loops(tile).back(), {infer, 64})[1], Axis::thread_x);
    expect_right(s);
    EXPECT_EQ(barriers_of(s), k > 32 ? 2 : 1) << print(s.program());
  }
}

/// 2698: a copy to a tile and a later store to a part of it had no barrier between them. Here threads set sums
/// to 0, and if others add to them, the schedule is refused.
TEST(KnownBugs, AnInitByOtherThreadsThanTheUpdates) {
  for (bool permuted : {false, true}) {
    Schedule s(test::rows(Reducer::sum, 100, 5, DType::u32));
    BlockRef sums = s.block("Y");
    auto [block, row] = s.split<2>(s.loops(sums)[0], {infer, 64});
    s.bind(block, Axis::block_x);
    BlockRef out = s.cache_write(sums, Scope::shared);
    s.reverse_compute_at(out, block);
    BlockRef init = s.decompose_reduction(sums, row);
    if (permuted) {
      auto [high, low] = s.split<2>(row, {infer, 16});
      s.reorder({low, high});
      row = s.fuse(low, high);
    }
    for (Loop loop : {row, s.loops(init).back(), s.loops(out).back()})
      s.bind(loop, Axis::thread_x);
    if (permuted)
      test::expect_user_error([&] { lower(s); }, ExitCode::illegal_schedule,
                              "the blocks Y_init and Y write the elements of Y_shared (shared memory) from "
                              "different threads, which is a data race");
    else
      expect_right(s);
  }
}

/// 2668: a pipeline moved the next copy to a tile before the last read of it. 2595: it moved a read before an
/// update of the same element.
TEST(KnownBugs, APipelineKeepsAReadBeforeTheNextWrite) {
  for (std::int64_t k : {4, 8, 21})
    for (bool late : {false, true}) {
      test::TiledGemm t(5, 6, k);
      auto staged = [&](std::int64_t a, std::int64_t b, std::int64_t sum) {
        t.s.pipeline(t.k_outer, {{t.A, 0, a}, {t.B, 0, b}, {t.AB, late ? 1 : 0, sum}});
      };
      if (late) { // the copies of the next iteration come first: two copies of each tile
        staged(0, 1, 2);
        for (const kernel::Allocation &tile : lower(t.s).only().shared)
          EXPECT_EQ(tile.slots, k > 4 ? 2 : 1);
        expect_right(t.s);
      } else { // the sum would read what no earlier order wrote
        test::expect_refused(t.s, "pipeline.stages", [&] { staged(1, 2, 0); }, "nothing would overlap", {});
      }
    }
  Workload w("in_place"); // each iteration reads what the one before it wrote
  Tensor y = w.inout("Y", {64}, DType::u32);
  Tensor t = w.compute("T", {64}, {"i"}, [&](Expr i) -> Definition { return y.where(i > 0, i - 1) + 1; });
  w.update(y, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return t(at[0]) * 3; });
  Schedule s(w.output());
  BlockRef read = s.block("T"), update = s.block("Y");
  Loop i = s.loops(update)[0];
  EXPECT_THROW(s.compute_at(read, i), ScheduleError) << "all reads come before the first update";
}

} // namespace
} // namespace nestsmith
