/// Pipelined loops that end earlier in some thread blocks (`shortened` of dsl/ir/skip_tiles.h).

#include "dsl/ir/skip_tiles.h"
#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/check/blame.h"
#include "schedules/library/product.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;

/// C[i, j] = sum over r and k <= i of A[i, k] * B[r, k, j]. Blocks of 8 rows need 1 to 4 tiles of k. The parts
/// of r are on `axis`. A role copies the tiles of A.
Schedule triangle(Axis axis, bool bulk = false) {
  Workload w("triangle");
  Tensor A = w.placeholder("A", {32, 32}, DType::u32), B = w.placeholder("B", {4, 32, 64}, DType::u32);
  Reduce r = reduce_axis("r", 4), k = reduce_axis("k", 32);
  Tensor C = w.compute("C", {32, 64}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(select(k <= i, A(i, k) * B(r, k, j), constant(DType::u32, 0)), {r, k});
  });
  Schedule s(w.output({C}), make_target("sm_90a"));
  const BlockRef sum_of_all = s.block("C");
  auto [i, j, r_, k_] = s.loops<4>(sum_of_all);
  auto [part, r_inner] = s.split<2>(r_, {2, infer});
  auto [i_block, i_inner] = s.split<2>(i, {infer, 8});
  auto [k_outer, k_inner] = s.split<2>(k_, {infer, 8});
  const BlockRef parts = s.rfactor(part), written = s.cache_write(parts, Scope::local);
  s.reorder({i_block, part, j, r_inner, k_outer, i_inner, k_inner});
  s.bind(i_block, Axis::block_y);
  s.bind(part, axis);
  s.bind(j, Axis::thread_x);
  s.reverse_compute_at(written, j);
  const BlockRef tile = s.cache_read(parts, "A", Scope::shared);
  s.compute_at(tile, k_outer);
  s.role({tile}, 1, 0);
  std::vector<Loop> copied = s.loops_below(tile, k_outer);
  if (bulk) {
    s.bulk_copy(tile);
  } else {
    s.bind(s.split<2>(s.fuse(copied[0], copied[1]), {infer, 32})[1], Axis::thread_x);
    s.async_copy(tile);
  }
  s.pipeline(k_outer, {{tile, 0, 0}, {parts, 2, 1}});
  s.reverse_compute_at(sum_of_all, i_block);
  s.last_block(part);
  s.bind(s.loops_below(sum_of_all, i_block)[1], Axis::thread_x);
  s.skip_tiles(k_outer);
  return s;
}

/// The blocks of each row have a kernel, and all of them count in one array, each in its own element.
TEST(ShortenedLoops, KeepTheCountersOfOtherParts) {
  const Schedule s = triangle(Axis::block_z);
  const auto loops = shortened_loops(s.program(), s.program().body);
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops.front().extents, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(lower(s).kernels.size(), 1U);
  EXPECT_EQ(lower(s).only().params.back()->shape.front().as<IntImm>()->value, 4);
  expect_right(s);
}

/// A cluster is no part of a shared launch. Then single iterations are skipped.
TEST(ShortenedLoops, HaveNoClusters) {
  const Schedule s = triangle(Axis::cluster);
  EXPECT_TRUE(shortened_loops(s.program(), s.program().body).empty());
  expect_right(s);
}

/// The bytes of bulk copies are announced in each iteration.
TEST(ShortenedLoops, AreRequiredByBulkCopies) {
  expect_right(triangle(Axis::block_z, true));
  try {
    triangle(Axis::cluster, true);
    FAIL() << "single iterations would be skipped";
  } catch (const ScheduleError &error) {
    EXPECT_EQ(error.requirement(), "skip_tiles.joined");
    EXPECT_TRUE(test::contains(error.what(),
                               "A_shared is filled by bulk copies, whose bytes are announced in each "
                               "iteration of k_outer, of which one may be skipped"))
        << error.what();
  }
}

/// The mask of a term adds to the condition, so that its blocks cannot end earlier by parts. Then there is no
/// tail of unequal parts.
TEST(ShortenedLoops, LeaveMaskedSumsWithoutUnequalParts) {
  for (bool bulk : {false, true})
    for (bool joined : {false, true}) {
      Workload w("masked");
      Tensor A = w.placeholder("A", {112, 512}, DType::u32), B = w.placeholder("B", {512, 32}, DType::u32);
      Reduce k = reduce_axis("k", 512);
      Tensor AB = w.compute("AB", {112, 32}, {"i", "j"}, [&](Expr i, Expr j) {
        return sum(select(k <= i, A(i, k) * B(k, j), constant(DType::u32, 0)), k);
      });
      Tensor C = w.compute("C", {112, 32}, {"i", "j"}, [&](Expr i, Expr j) { return AB(i, j) + AB(i, j); });
      Schedule s(w.output({C}), make_target("sm_90a"));
      library::RegisterTiles tiles{.warps = {1, 1},
                                   .lanes = {4, 8},
                                   .results = {4, 4},
                                   .async = true,
                                   .fragments = joined,
                                   .joined = joined,
                                   .k = 8,
                                   .stages = 2,
                                   .even_places = 4,
                                   .load = {1, 0, bulk}};
      library::product(s, s.block("AB"), tiles);
      expect_right(s);
    }
}

/// Tiles of 16x32 without roles, whose loops over k are joined.
library::RegisterTiles in_two_parts(std::int64_t tiles_of_part) {
  return {.warps = {1, 1},
          .lanes = {4, 8},
          .results = {4, 4},
          .async = true,
          .fragments = true,
          .joined = true,
          .last_k = true,
          .k = 8,
          .split_k = 2,
          .tiles_of_part = tiles_of_part};
}

/// Between the passes, the kernels of both parts count their arrivals together, too.
TEST(ShortenedLoops, KeepTheirMeaningAtEveryStep) {
  Schedule s(gemm({3, 5, 29}, DType::u32));
  library::product(s, s.block("AB"), in_two_parts(3));
  const Blame blame = find_blame(s);
  EXPECT_FALSE(blame.fault) << to_string(blame);
}

TEST(ShortenedLoops, NeedAGridOfAKnownSize) {
  Workload w("gemm");
  const Expr m = w.size("M"), n = w.size("N");
  Tensor A = w.placeholder("A", {m, 64}, DType::f32), B = w.placeholder("B", {64, n}, DType::f32);
  Reduce k = reduce_axis("k", 64);
  Tensor C = w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); });
  Schedule s(w.output({C}));
  library::RegisterTiles tiles = in_two_parts(6);
  test::expect_user_error([&] { library::product(s, s.block("C"), tiles); }, ExitCode::illegal_schedule,
                          "so that its steps belong to two iterations");
  EXPECT_TRUE(s.trace().empty());
  tiles.joined = false; // then a condition is sufficient
  library::product(s, s.block("C"), tiles);
  EXPECT_EQ(lower(s).kernels.size(), 1U);
}

} // namespace
} // namespace nestsmith
