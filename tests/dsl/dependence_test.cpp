/// Tests dependences through parameters. Directives keep the order of conflicting accesses, and threads do not
/// race.

#include "dsl/ir/dependence.h"

#include "dsl/ir/tensor.h"
#include "tests/dsl/support.h"

#include <algorithm>

namespace nestsmith {
namespace {

using test::expect_refused;

/// AB = C * B, then C = AB.
Schedule in_place_product(std::int64_t m, std::int64_t n) {
  Workload w("product");
  Tensor c = w.inout("C", {m, n}), b = w.placeholder("B", {n, n});
  Reduce k = reduce_axis("k", n);
  Tensor ab = w.compute("AB", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(c(i, k) * b(k, j), k); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &at) -> Definition { return ab(at[0], at[1]); });
  return Schedule(w.output());
}

/// T = C + 1; C = 2*C; U = T + X.
Schedule overwritten(std::int64_t n) {
  Workload w("overwritten");
  Tensor c = w.inout("C", {n}), x = w.placeholder("X", {n});
  Tensor t = w.compute("T", {n}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return c(at[0]) * 2; });
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition { return t(i) + x(i); });
  return Schedule(w.output({u}));
}

/// T = X + 1; Y = 3*T, an output; U = Y[i - distance] + T. `swapped` exchanges the operands of the last sum.
Schedule output_is_read(std::int64_t n, std::int64_t distance, bool swapped = false) {
  Workload w("output_is_read");
  Tensor x = w.placeholder("X", {n});
  Tensor t = w.compute("T", {n}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return t(i) * 3; });
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition {
    Expr read =
        y.where(Expr(distance) <= i && i < Expr(n + std::min<std::int64_t>(distance, 0)), i - Expr(distance));
    return swapped ? t(i) + read : read + t(i);
  });
  return Schedule(w.output({y, u}));
}

TEST(ReverseComputeAtRefuses, UpdateThatOverwritesWhatIsReadLater) {
  Schedule s = in_place_product(8, 5);
  BlockRef ab = s.block("AB"), c = s.block("C");
  auto [i, j, k] = s.loops<3>(ab);
  expect_refused(s, "reverse_compute_at.order", [&, j = j] { s.reverse_compute_at(c, j); },
                 "block AB reads C, and block C writes it later; with C at j this order is not kept",
                 {"AB", "C"});
}

TEST(ReverseComputeAt, KeepsTheOrderOfRowsOfAnInPlaceProduct) {
  Schedule s = in_place_product(8, 5);
  BlockRef ab = s.block("AB"), c = s.block("C");
  auto [i, j, k] = s.loops<3>(ab);
  s.reverse_compute_at(c, i); // a row of C is overwritten once the row of AB is complete
  EXPECT_EQ(s.extent(s.loops(c).back()), 5);
}

TEST(ReverseComputeAtRefuses, ReaderThatPassesTheWriterOfAnOutput) {
  Schedule s = output_is_read(16, 0);
  BlockRef t = s.block("T"), u = s.block("U");
  auto [i] = s.loops<1>(t);
  expect_refused(s, "reverse_compute_at.order", [&, i = i] { s.reverse_compute_at(u, i); },
                 "block Y writes Y, and block U reads it later; with U at i this order is not kept",
                 {"Y", "U"});
  s.reverse_compute_at(s.block("Y"), i);
  s.reverse_compute_at(u, i); // now Y is written directly before U
}

/// The consumer reads a temporary and an output, in either order. The loop writes both.
TEST(ReverseComputeAt, MovesAReaderOfATemporaryAndOfAnOutput) {
  for (bool temporary_first : {false, true}) {
    Workload w("both");
    Tensor x = w.placeholder("X", {16});
    Tensor t = w.compute("T", {16}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
    Tensor y = w.compute("Y", {16}, {"i"}, [&](Expr i) -> Definition { return t(i) * 3; });
    Tensor u = w.compute("U", {16}, {"i"},
                         [&](Expr i) -> Definition { return temporary_first ? t(i) + y(i) : y(i) + t(i); });
    Schedule s(w.output({y, u}));
    auto [i] = s.loops<1>(s.block("T"));
    s.reverse_compute_at(s.block("Y"), i);
    s.reverse_compute_at(s.block("U"), i);
    EXPECT_EQ(s.name(s.loops(s.block("U")).front()), s.name(i));
  }
}

TEST(ComputeAtRefuses, ProducerThatPassesAnOverwriteOfWhatItReads) {
  Schedule s = overwritten(16);
  BlockRef t = s.block("T");
  Loop i = s.loops(s.block("U"))[0];
  expect_refused(s, "compute_at.order", [&] { s.compute_at(t, i); },
                 "block T reads C, and block C writes it later", {"T", "C"});
}

TEST(ComputeAtRefuses, CacheThatPassesAnOverwriteOfWhatItCopies) {
  Workload w("cached");
  Tensor c = w.inout("C", {16});
  Tensor t = w.compute("T", {16}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return c(at[0]) * 2; });
  Tensor u = w.compute("U", {16}, {"i"}, [&](Expr i) -> Definition { return t(i) * 3; });
  Schedule s(w.output({u}));
  BlockRef copy = s.cache_read(s.block("T"), "C", Scope::local);
  Loop i = s.loops(s.block("U"))[0];
  s.compute_at(s.block("T"), i);
  expect_refused(s, "compute_at.order", [&] { s.compute_at(copy, i); },
                 "block C_local reads C, and block C writes it later", {"C_local", "C"});
}

TEST(DecomposeReductionRefuses, InitThatPassesAReaderOfTheOldElement) {
  Workload w("old_element"); // T = C + 1; C = the sums of the rows of A, times T
  Tensor c = w.inout("C", {8}), a = w.placeholder("A", {8, 5});
  Reduce k = reduce_axis("k", 5);
  Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return sum(a(at[0], k) * t(at[0]), k); });
  Schedule s(w.output());
  auto [i, sum_loop] = s.loops<2>(s.block("C"));
  expect_refused(s, "compute_at.order", [&, k = sum_loop] { s.compute_at(s.block("T"), k); },
                 "block T reads C, and block C writes it later", {"T", "C"});
  s.compute_at(s.block("T"), i);
  expect_refused(s, "decompose_reduction.order", [&, i = i] { s.decompose_reduction(s.block("C"), i); },
                 "block T reads C, and block C writes it later; with C_init at C_i this order is not kept",
                 {"T", "C"});
  s.decompose_reduction(s.block("C"), sum_loop);
}

std::string race_of(const Schedule &s) {
  auto owed = s.obligations();
  return owed.empty() ? "" : owed.front().message;
}

TEST(ReverseComputeAt, KeepsTheOrderOfAReaderOfEarlierElements) {
  for (bool swapped : {false, true})
    for (std::int64_t distance : {-1, 0, 1, 3}) {
      Schedule s = output_is_read(16, distance, swapped);
      Loop i = s.loops(s.block("T"))[0];
      s.reverse_compute_at(s.block("Y"), i);
      if (distance >= 0)
        s.reverse_compute_at(s.block("U"), i);
      else
        expect_refused(s, "reverse_compute_at.order", [&] { s.reverse_compute_at(s.block("U"), i); },
                       "block Y writes Y, and block U reads it later", {"Y", "U"});
    }
}

/// T = X + 1; Y = 3*T, an output; U = Y[i - 1, j] + T, an output. All blocks are below the loop j.
Schedule rows_are_read(std::int64_t m, std::int64_t n) {
  Workload w("rows_are_read");
  Tensor x = w.placeholder("X", {m, n}, DType::u32);
  Tensor t = w.compute("T", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * 3; });
  Tensor u = w.compute("U", {m, n}, {"i", "j"},
                       [&](Expr i, Expr j) { return y.where(Expr(0) < i, i - 1, j) + t(i, j); });
  Schedule s(w.output({y, u}));
  Loop j = s.loops(s.block("T"))[1];
  s.reverse_compute_at(s.block("Y"), j);
  s.reverse_compute_at(s.block("U"), j);
  return s;
}

TEST(ReorderRefuses, ReaderOfEarlierElementsInATileOfTheirLoop) {
  for (std::int64_t distance : {0, 1, 4, 5}) {
    Schedule s = output_is_read(16, distance);
    Loop i = s.loops(s.block("T"))[0];
    s.reverse_compute_at(s.block("Y"), i);
    s.reverse_compute_at(s.block("U"), i);
    auto loops = s.split(i, {infer, 4});
    Loop outer = loops[0], inner = loops[1];
    if (distance % 4 == 0) { // both accesses are in the same inner iteration
      s.reorder({inner, outer});
      continue;
    }
    expect_refused(s, "reorder.order",
                   [&] {
                     s.reorder({inner, outer});
                   },
                   "block Y writes Y, and block U reads it later, possibly in another iteration of i_outer and "
                   "i_inner; with i_outer inside of i_inner this order is not kept for all elements; keep the "
                   "order of these loops, or reorder before moving block U into this nest",
                   {"i_outer", "i_inner", "Y", "U"});
  }
}

TEST(Reorder, ExchangesALoopThatTheElementDetermines) {
  Schedule s = rows_are_read(6, 10);
  Loop i = s.loop("i"), j = s.loop("j");
  s.reorder({j, i}); // each access stays in its column
  auto rows = s.split(i, {infer, 2}), columns = s.split(j, {infer, 4});
  Loop block = rows[0], row = rows[1], strip = columns[0], column = columns[1];
  s.reorder({block, strip, row, column});
  s.reorder({strip, column, block, row});
  expect_refused(s, "reorder.order",
                 [&] {
                   s.reorder({strip, column, row, block});
                 },
                 "block Y writes Y, and block U reads it later", {"i_outer", "i_inner", "Y", "U"});
}

TEST(Reorder, ExchangesTheLoopsOfAnUpdateInPlace) {
  Schedule s = in_place_product(8, 5);
  auto [i, j, k] = s.loops<3>(s.block("AB"));
  s.reverse_compute_at(s.block("C"), i);
  auto [outer, inner] = s.split(i, {infer, 4});
  s.reorder({inner, outer}); // each access stays in its row

  Schedule sum(test::product(8, 8, 3));
  auto [row, column, term] = sum.loops<3>(sum.block("C"));
  sum.decompose_reduction(sum.block("C"), term);
  sum.tile(row, column, {3, 3}); // the init and the sum write the same element
}

TEST(TileRefuses, ReaderOfEarlierElementsInATileOfTheirLoop) {
  Schedule s = output_is_read(16, 1);
  Loop i = s.loops(s.block("T"))[0];
  s.reverse_compute_at(s.block("Y"), i);
  s.reverse_compute_at(s.block("U"), i);
  auto loops = s.split(i, {infer, 4});
  Loop outer = loops[0], inner = loops[1];
  expect_refused(s, "tile.order",
                 [&] {
                   s.tile(outer, inner, {2, 2});
                 },
                 "block Y writes Y, and block U reads it later", {"i_outer", "i_inner"});
}

TEST(CacheWriteRefuses, StageThatIsComputedInPart) {
  Workload w("part");
  Tensor x = w.placeholder("X", {4, 8, 3}, DType::u32), z = w.placeholder("Z", {4, 6}, DType::u32);
  Reduce k = reduce_axis("k", 3);
  Tensor t = w.compute("T", {4, 8}, {"i", "j"}, [&](Expr i, Expr j) { return sum(x(i, j, k), k); });
  Tensor u = w.compute("U", {4, 6}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j + 2); });
  Tensor y = w.compute("Y", {4, 6}, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) + z(i, j); });
  Schedule s(w.output({y}));
  s.compute_at(s.block("T"), s.loops(s.block("U"))[0]);
  s.compute_inline(s.block("U")); // T stays in its nest, and Y reads T in another nest
  expect_refused(s, "cache_write.whole", [&] { s.cache_write(s.block("T"), Scope::shared); },
                 "the loops around block T compute only a part of T, and the new block would read all of it; "
                 "use cache_write before compute_at",
                 {"T"});
  expect_refused(s, "rfactor.whole", [&] { s.rfactor(s.loops(s.block("T")).back()); },
                 "the loops around block T compute only a part of T, and the new block would read all of it; "
                 "use rfactor before compute_at",
                 {"T"});
}

TEST(Obligations, AThreadBlockMustNotReadWhatAnotherOneWrites) {
  for (std::int64_t distance : {0, 1}) {
    Schedule s = output_is_read(16, distance);
    s.set_scope(s.block("T"), Scope::local);
    Loop i = s.loops(s.block("T"))[0];
    s.reverse_compute_at(s.block("Y"), i);
    s.reverse_compute_at(s.block("U"), i);
    EXPECT_EQ(race_of(s), "") << "one thread executes the iterations in order";
    s.bind(i, Axis::block_x);
    EXPECT_EQ(race_of(s),
              distance == 0
                  ? ""
                  : "block U reads an element of Y that block Y writes at another index of blockIdx.x, in "
                    "the same kernel, where nothing orders the two; bind the loops of both so that one "
                    "index makes both accesses, or leave the blocks in nests of their own");
  }
}

/// T = C + 1, and C is the sum of T over one k. Lowering places the init of C before the loop k, so T would
/// read the initial value.
TEST(ComputeAtRefuses, ReaderOfTheOldElementInALoopOfTheSum) {
  Workload w("one_term");
  Tensor c = w.inout("C", {4});
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  Reduce k = reduce_axis("k", 1);
  w.update(c, {"i"}, [&](const std::vector<Expr> &at) { return sum(t(at[0]), k); });
  Schedule s(w.output());
  Loop sum_loop = s.loops(s.block("C"))[1];
  expect_refused(s, "compute_at.order", [&] { s.compute_at(s.block("T"), sum_loop); },
                 "block T reads C, and block C writes it later", {"T", "C"});
}

/// T = C + 1, and C is the sum of T over k. The threads compute T together and read it after a barrier. The
/// init of the sum overwrites C before the barrier.
TEST(Obligations, TheInitOfASumRacesWithAReaderBeforeTheBarrier) {
  Workload w("init_overwrites");
  Tensor c = w.inout("C", {4, 8});
  Tensor t = w.compute("T", {4, 8}, {"i", "j"}, [&](Expr i, Expr j) { return c(i, j) + 1; });
  Reduce k = reduce_axis("k", 3);
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &at) { return sum(t(at[0], at[1]), k); });
  Schedule s(w.output());
  s.set_scope(s.block("T"), Scope::shared);
  auto [rows, row] = s.split(s.loops(s.block("C"))[0], {infer, 2});
  s.compute_at(s.block("T"), rows);
  s.bind(rows, Axis::block_x);
  s.bind(row, Axis::thread_x);
  Loop column = s.split(s.loops(s.block("T")).back(), {infer, 2})[1];
  s.bind(column, Axis::thread_x);
  EXPECT_TRUE(test::contains(
      race_of(s), "block C writes an element of C that block T reads at another index of threadIdx.x"))
      << race_of(s);
}

TEST(Obligations, AnInPlaceProductRacesWhereThreadsShareARow) {
  Schedule s = in_place_product(8, 32);
  s.set_scope(s.block("AB"), Scope::shared);
  auto [i, j, k] = s.loops<3>(s.block("AB"));
  s.reverse_compute_at(s.block("C"), i);
  s.bind(i, Axis::block_x);
  s.bind(j, Axis::thread_x);
  s.bind(s.loops(s.block("C")).back(), Axis::thread_x);
  EXPECT_EQ(race_of(s), "") << "the row of AB is complete at a barrier before C is overwritten";
}

} // namespace
} // namespace nestsmith
