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

} // namespace
} // namespace nestsmith
