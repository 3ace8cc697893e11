/// Tests bulk_copy: what it states, its refusals, and what a schedule with bulk copies owes.

#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;
using test::owed;

/// A product whose tile of B a role fills.
struct Tiled {
  Schedule s;
  BlockRef AB, B_shared;
  Loop k_outer;

  explicit Tiled(std::int64_t columns = 64, std::int64_t depth = 16,
                 const Target &target = make_target("sm_90"))
      : s(gemm(64, columns, 64), target), AB(s.block("AB")) {
    auto [i, j, k] = s.loops<3>(AB);
    auto [outer, inner] = s.split(k, {infer, depth});
    k_outer = outer;
    auto [i_block, i_thread] = s.split(i, {infer, 64});
    s.reorder({i_block, i_thread, k_outer, j, inner});
    s.set_scope(AB, Scope::local);
    s.reverse_compute_at(s.block("C"), i_thread);
    s.bind(i_block, Axis::block_x);
    s.bind(i_thread, Axis::thread_x);
    B_shared = s.cache_read(AB, "B", Scope::shared);
    s.compute_at(B_shared, k_outer);
  }
  void complete() {
    s.role({B_shared}, 1, 0);
    s.bulk_copy(B_shared);
    s.pipeline(k_outer, {{B_shared, 0, 0}, {AB, 1, 1}});
  }
};

TEST(BulkCopy, IsAMarkThatKeepsTheMeaning) {
  Tiled t;
  t.complete();
  EXPECT_TRUE(contains(print(t.s.program()), "block B_shared(")) << print(t.s.program());
  EXPECT_TRUE(contains(print(t.s.program()), ") bulk:")) << print(t.s.program());
  EXPECT_TRUE(t.s.obligations().empty()) << owed(t.s);
  EXPECT_TRUE(test::same_meaning(t.s));
  const std::string json = to_json(trace_file(t.s, {64, 64, 64}, DType::u32));
  EXPECT_EQ(
      print(replay(parse_trace(json, "t.json"), gemm(64, 64, 64), make_target("sm_90"), "t.json").program()),
      print(t.s.program()));
  t.s.async_copy(t.B_shared); // the last mark holds
  EXPECT_TRUE(contains(print(t.s.program()), ") async:")) << print(t.s.program());
}

TEST(BulkCopyRefuses, OtherTargets) {
  Tiled t(64, 16, make_target("sm_80"));
  expect_refused(t.s, "bulk_copy.feature", [&] { t.s.bulk_copy(t.B_shared); }, "tma needs sm_90", {"B_shared"});
}

TEST(BulkCopyRefuses, OtherBlocks) {
  Tiled t;
  expect_refused(t.s, "bulk_copy.copy", [&] { t.s.bulk_copy(t.AB); }, "block AB writes AB in local memory",
                 {"AB"});
}

TEST(BulkCopyOwes, ARoleAndAPipeline) {
  Tiled t;
  t.s.bulk_copy(t.B_shared);
  EXPECT_TRUE(contains(owed(t.s), "block B_shared is a bulk copy, but it has no role")) << owed(t.s);
  t.s.role({t.B_shared}, 1, 0);
  EXPECT_TRUE(contains(owed(t.s), "no loop around block B_shared is pipelined")) << owed(t.s);
}

TEST(BulkCopyOwes, LoopsThatAreABox) {
  Tiled t;
  t.complete();
  auto loops = t.s.loops_below(t.B_shared, t.k_outer);
  t.s.bind(t.s.split(loops[1], {infer, 32})[1], Axis::thread_x);
  EXPECT_TRUE(contains(owed(t.s), "is bound to threadIdx.x, but one thread issues a bulk copy")) << owed(t.s);

  Tiled wide(512);
  wide.complete();
  EXPECT_TRUE(contains(owed(wide.s), "has 512 elements in dimension 1, expected at most 256")) << owed(wide.s);

  Tiled layout;
  layout.complete();
  layout.s.transform_layout(layout.B_shared, "k, j -> j, k");
  EXPECT_TRUE(contains(owed(layout.s), "expected them in the order of the box")) << owed(layout.s);

  Tiled swizzled;
  swizzled.complete();
  swizzled.s.swizzle(swizzled.B_shared, 3, 2, 3);
  EXPECT_TRUE(contains(owed(swizzled.s),
                       "the box of block B_shared has rows of 256 bytes, expected rows of 32, 64 or "
                       "128 bytes with a swizzle"))
      << owed(swizzled.s);
}

TEST(BulkCopyOwes, RowsOfSixteenBytes) {
  Tiled t(66);
  t.complete();
  EXPECT_TRUE(contains(owed(t.s),
                       "whose rows in dimension 0 are 66 elements apart, but in a tensor map they are a "
                       "multiple of 4 elements (16 bytes)"))
      << owed(t.s);
}

/// Loops around the largest box that fits repeat it: here, the parts of 32 columns of a swizzled tile.
TEST(BulkCopy, MayHaveSeveralBoxes) {
  Tiled t(64);
  t.complete();
  auto loops = t.s.loops_below(t.B_shared, t.k_outer);
  auto [part, column] = t.s.split(loops[1], {infer, 32});
  t.s.reorder({part, loops[0], column});
  t.s.transform_layout(t.B_shared, "k, j -> j//32, k, j%32");
  t.s.swizzle(t.B_shared, 3, 2, 3);
  EXPECT_TRUE(t.s.obligations().empty()) << owed(t.s);
}

/// Y = 2*X in tiles of 8 x 32 elements of a warp, which are stored in bulk.
struct Stored {
  Schedule s;
  BlockRef y, store;
  Loop warp, part;

  explicit Stored(std::int64_t columns = 64, std::int64_t rows = 32)
      : s(doubled(rows, columns)), y(s.block("Y")) {
    s = Schedule(doubled(rows, columns), make_target("sm_90"));
    y = s.block("Y");
    store = s.cache_write(y, Scope::shared);
    auto [i, j] = s.loops<2>(store);
    auto [block, warp_loop, row] = s.split(i, {infer, 2, 8});
    auto [part_loop, column] = s.split(j, {infer, 32});
    warp = warp_loop, part = part_loop;
    s.reorder({block, warp, part, row, column});
    s.bind(block, Axis::block_x);
    s.bind(warp, Axis::warp);
    s.compute_at(y, part);
    auto tile = s.loops_below(y, part);
    s.bind(s.split(tile[0], {2, infer})[0], Axis::warp);
    s.bind(tile[1], Axis::lane);
  }
  static Program doubled(std::int64_t rows, std::int64_t columns) {
    Workload w("doubled");
    Tensor x = w.placeholder("X", {rows, columns});
    return w.output({w.compute("Y", {rows, columns}, {"i", "j"},
                               [&](Expr i, Expr j) -> Definition { return x(i, j) * 2.0f; })});
  }
};

TEST(BulkStore, IsAMarkThatKeepsTheMeaning) {
  for (std::int64_t rows : {32, 30}) {
    Stored t(60, rows);
    t.s.bulk_copy(t.store);
    EXPECT_TRUE(contains(print(t.s.program()), " bulk where Y_")) << print(t.s.program());
    EXPECT_TRUE(t.s.obligations().empty()) << owed(t.s);
    EXPECT_TRUE(test::same_meaning(t.s));
  }
}

TEST(BulkStoreRefuses, WhatIsNoCopy) {
  Workload w("doubled");
  Tensor x = w.placeholder("X", {8, 8});
  Tensor y = w.compute("Y", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 2.0f; });
  Schedule s(w.output({y}), make_target("sm_90"));
  expect_refused(s, "bulk_copy.copy", [&] { s.bulk_copy(s.block("Y")); },
                 "to Y in global memory, expected a copy from shared to global memory", {"Y"});
}

TEST(BulkStoreOwes, AWarpAndLoopsThatAreABox) {
  Stored lanes;
  lanes.s.bulk_copy(lanes.store);
  lanes.s.bind(lanes.s.loops_below(lanes.store, lanes.part)[1], Axis::lane);
  EXPECT_TRUE(contains(owed(lanes.s), "is bound to lane, but one lane of each warp issues a bulk store"))
      << owed(lanes.s);

  Stored rows(66);
  rows.s.bulk_copy(rows.store);
  EXPECT_TRUE(contains(owed(rows.s), "copies to Y, whose rows in dimension 0 are 66 elements apart"))
      << owed(rows.s);

  Stored swizzled(32);
  swizzled.s.bulk_copy(swizzled.store);
  swizzled.s.swizzle(swizzled.y, 3, 3, 3);
  EXPECT_TRUE(contains(owed(swizzled.s), "expected swizzle(3, 2, 3)")) << owed(swizzled.s);

  Workload w("doubled");
  Tensor x = w.placeholder("X", {8, 32});
  Tensor y = w.compute("Y", {8, 32}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 2.0f; });
  Schedule s(w.output({y}), make_target("sm_90"));
  BlockRef block = s.block("Y"), store = s.cache_write(block, Scope::shared);
  s.compute_at(block, s.loops(store)[0]);
  s.bulk_copy(store);
  EXPECT_TRUE(contains(owed(s), "no loop around block Y_writeback is bound to warp")) << owed(s);
}

/// Z reads what the store of Y writes to a temporary, in the same thread block.
TEST(BulkStoreOwes, NoReaderAfterIt) {
  Workload w("chain");
  Tensor x = w.placeholder("X", {32, 64});
  Tensor y = w.compute("Y", {32, 64}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 2.0f; });
  Tensor z = w.compute("Z", {32, 64}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return y(i, j) + 1.0f; });
  Schedule s(w.output({z}), make_target("sm_90"));
  BlockRef first = s.block("Y"), store = s.cache_write(first, Scope::shared);
  auto [i, j] = s.loops<2>(store);
  auto [warp, row] = s.split(i, {infer, 8});
  s.bind(warp, Axis::warp);
  s.compute_at(first, warp);
  s.reverse_compute_at(s.block("Z"), warp);
  s.bulk_copy(store);
  EXPECT_TRUE(contains(owed(s), "block Z reads Y, to which bulk stores of Y_writeback write")) << owed(s);
}

/// The unit would read a tile while the next one is copied to its slot.
TEST(BulkStoreOwes, NoPipelinedLoopAroundIt) {
  for (bool async : {false, true}) {
    Workload w("copy");
    Tensor x = w.placeholder("X", {32, 64});
    Tensor y = w.compute("Y", {32, 64}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j); });
    Schedule s(w.output({y}), make_target("sm_90"));
    BlockRef store = s.block("Y"), tile = s.cache_read(store, "X", Scope::shared);
    auto [i, j] = s.loops<2>(store);
    auto [step, rows] = s.split(i, {infer, 8});
    auto [warp, row] = s.split(rows, {infer, 8});
    s.bind(warp, Axis::warp);
    s.compute_at(tile, step);
    if (async)
      s.async_copy(tile);
    s.bulk_copy(store);
    s.pipeline(step, {{tile, 0, 0}, {store, 1, 1}});
    EXPECT_TRUE(contains(owed(s),
                         "block Y is a bulk store below the pipelined loop i_outer, which does not wait until "
                         "the unit has read a tile before its slot is filled again"))
        << owed(s);
  }
}

} // namespace
} // namespace nestsmith
