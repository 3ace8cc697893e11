/// Products whose thread blocks form clusters, and copy parts of tiles for each other.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/role_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using kernel::as;
using test::contains;
using test::expect_right;
using test::product_of;
using test::product_of_stored;

library::MatrixTiles tiles_of_cluster(std::int64_t blocks = 2, std::int64_t persistent = 0) {
  library::MatrixTiles tiles = test::unit_tiles(true);
  tiles.cluster = blocks;
  tiles.persistent = persistent;
  tiles.group = persistent > 0 ? 4 : 1;
  return tiles;
}

kernel::Kernel lowered(const Schedule &s, std::int64_t blocks) {
  kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(kernel.cluster, blocks);
  EXPECT_EQ(kernel.copies_to_cluster(), blocks > 1);
  return kernel;
}

/// A register product by directives: the blocks of a cluster share the columns of B, which threads read.
Schedule of_threads(const Shape &shape) {
  Schedule s(gemm(shape, DType::u32), make_target("sm_90a"));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_tile, i_c, i_in] = s.split<3>(i, {infer, 2, 8});
  auto [j_tile, j_in] = s.split<2>(j, {infer, 32});
  auto [k_outer, k_in] = s.split<2>(k, {infer, 8});
  s.reorder({i_tile, j_tile, i_c, j_in, k_outer, k_in, i_in});
  s.set_scope(AB, Scope::local);
  s.bind(i_tile, Axis::block_y);
  s.bind(j_tile, Axis::block_x);
  s.bind(i_c, Axis::cluster);
  s.reverse_compute_at(C, j_in);
  s.bind(j_in, Axis::thread_x);
  auto B_s = s.cache_read(AB, "B", Scope::shared);
  s.compute_at(B_s, k_outer);
  auto [part, row] = s.split<2>(s.loops_below(B_s, k_outer).front(), {2, infer});
  s.bind(part, Axis::cluster);
  s.role({B_s}, 1, 0);
  s.bulk_copy(B_s);
  s.decompose_reduction(AB, k_outer);
  s.pipeline(k_outer, {{B_s, 0, 0}, {AB, 2, 1}});
  return s;
}

/// Numbers of tiles along k: 1, slots - 1, slots, slots + 1, and many; with tails on each axis.
TEST(Clusters, AreRightForEachNumberOfTiles) {
  for (std::int64_t k : {8, 192, 256, 320}) {
    SCOPED_TRACE(k);
    const Schedule s = product_of({64 + 5, 60, k}, DType::bf16, tiles_of_cluster());
    lowered(s, 2);
    expect_right(s);
  }
  const Schedule four = product_of({64 * 4, 64, 320}, DType::f16, tiles_of_cluster(4));
  lowered(four, 4);
  expect_right(four);
}

TEST(Clusters, AreRightInAnyStorage) {
  for (bool across : {false, true})
    for (DType dtype : {DType::f16, DType::u32}) {
      Shape shape = {64 * 2, 264, 200};
      shape.transposed.b = !across;
      library::MatrixTiles tiles = tiles_of_cluster();
      tiles.results = {16, 128};
      const Schedule s = product_of_stored(shape, dtype, tiles);
      lowered(s, 2);
      expect_right(s);
    }
}

/// Both blocks of a cluster leave out the same tiles of the last wave, also if only one has rows there.
TEST(Clusters, AreRightInWavesOfTiles) {
  for (const Shape &shape : {Shape{64 * 6, 128, 64}, Shape{64 * 9 + 1, 68, 320}, Shape{64 * 2, 64 * 5, 8}}) {
    SCOPED_TRACE(fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]));
    for (bool bulk_stores : {false, true}) {
      library::MatrixTiles tiles = tiles_of_cluster(2, 4);
      tiles.staged = true;
      tiles.bulk_stores = bulk_stores;
      const Schedule s = product_of(shape, DType::bf16, tiles);
      lowered(s, 2);
      expect_right(s);
    }
  }
}

/// A user's computation: a batch, a bias and results of 2 bytes. The batch is no axis of the grid of its own.
TEST(Clusters, AreRightForABatchWithABias) {
  Workload w("batched");
  const Tensor x = w.placeholder("X", {3, 70, 72}, DType::f16), y = w.placeholder("Y", {3, 72, 72}, DType::f16),
               bias = w.placeholder("bias", {72}, DType::f32);
  const Reduce k = reduce_axis("k", 72);
  const Tensor z = w.compute("Z", {3, 70, 72}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
    return sum(cast(DType::f32, x(b, i, k)) * cast(DType::f32, y(b, j, k)), k);
  });
  Schedule s(w.output({w.compute("R", {3, 70, 72}, {"b", "i", "j"},
                                 [&](Expr b, Expr i, Expr j) -> Definition {
                                   return cast(DType::f16, z(b, i, j) + bias(j));
                                 })}),
             make_target("sm_90a"));
  library::product(s, s.block("Z"), tiles_of_cluster());
  lowered(s, 2);
  expect_right(s);
}

/// No cluster: an odd number of tiles of rows, rows that no tensor map has, parts of sums, or another target.
TEST(Clusters, AreLeftOutWhereTheyCannotBe) {
  library::MatrixTiles parts = tiles_of_cluster();
  parts.split_k = 2;
  for (const Schedule &s : {product_of({64 * 3, 64, 128}, DType::bf16, tiles_of_cluster()),
                            product_of({64 * 2, 64, 129}, DType::bf16, tiles_of_cluster()),
                            product_of({64 * 2, 64, 256}, DType::bf16, parts)}) {
    lowered(s, 1);
    expect_right(s);
  }
}

/// The slots of tiles that threads read, with the ring of u32 and with floating-point numbers.
TEST(Clusters, MayHaveThreadsThatReadTheirTiles) {
  for (std::int64_t k : {8, 16, 24, 32, 96}) {
    SCOPED_TRACE(k);
    const Schedule s = of_threads({32, 64, k});
    ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
    const std::string text = cuda_kernel(lowered(s, 2));
    EXPECT_EQ(contains(text, "signal_freed_after_reads_to_cluster<3>(2, freed, "), k > 24) << text;
    EXPECT_EQ(contains(text, "await_freed_of_cluster<3>(freed, "), k > 24) << text;
    expect_right(s);
  }
}

TEST(Clusters, AreStatedInTheText) {
  const std::string text =
      cuda_kernel(lowered(product_of({64 * 2, 64, 8 * 64}, DType::bf16, tiles_of_cluster()), 2));
  for (const char *part :
       {"__cluster_dims__(1, 1, 2) __launch_bounds__(256, 1)", "const int rank = blockIdx.z;",
        "fence_events(); sync_cluster();  // the channels of all blocks of the cluster have started",
        "start_channel(filled, freed, 4, 1, 8);", "copy_box<4>(&A_shared[",
        "copy_box_to_cluster<4>(2, &B_shared[", "rank * 32", "signal_bulk<4>(filled, k_0, 16384);",
        "signal_freed_to_cluster<4>(2, freed, ",
        "sync_cluster();  // B_shared: written above, not in flight at the end",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64",
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

/// Without an await, a signal, the end of the cluster, or one of the blocks of a copy. Numbers of tiles along
/// k: 1, slots - 1, slots, slots + 1, and many. Up to the number of slots, no slot is freed, no barrier ends
/// the cluster, and the hazards are exactly those that the await prevents.
TEST(Clusters, NeedEachOfTheirStatements) {
  library::MatrixTiles tiles = tiles_of_cluster();
  tiles.in_flight = 0; // the last signals of calls in flight free slots that nobody fills
  std::vector<std::pair<Schedule, std::int64_t>> products;
  for (std::int64_t count : {1, 3, 4, 5, 8})
    products.emplace_back(product_of({64 * 2, 64, count * 64}, DType::bf16, tiles), count);
  for (std::int64_t count : {1, 2, 3, 4, 12})
    products.emplace_back(of_threads({16, 32, count * 8}), count);
  for (const auto &[s, count] : products) {
    const kernel::Kernel kernel = lowered(s, 2);
    ASSERT_EQ(kernel.channels.size(), 1U);
    const bool again = count > kernel.channels[0].slots;
    SCOPED_TRACE(fmt::format("{} tiles, {} slots", count, kernel.channels[0].slots));
    EXPECT_EQ(test::expect_await_certificates(s.source(), kernel, !again), again ? 2 : 1);
    int signals = 0, barriers = 0;
    for (const auto &[changed, removed] : test::without_each<kernel::Signal>(kernel)) {
      ++signals;
      const std::vector<sim::Diagnostic> found = test::diagnostics_of(s.source(), changed);
      ASSERT_FALSE(found.empty());
      EXPECT_EQ(found.front().kind, sim::ErrorKind::deadlock) << found.front().message;
      EXPECT_TRUE(contains(found.front().message, "the cluster of block (")) << found.front().message;
    }
    EXPECT_GE(signals, again ? 2 : 1);
    for (const auto &[changed, removed] : test::without_each<kernel::Barrier>(kernel)) {
      if (removed.scope != kernel::SyncScope::cluster)
        continue;
      ++barriers;
      EXPECT_EQ(test::kinds_of(test::hazards_found(s.source(), changed)), test::kinds_of(removed.hazards));
      const std::vector<sim::Diagnostic> found = test::diagnostics_of(s.source(), changed);
      EXPECT_TRUE(contains(found.front().message, "which has ended: no barrier of the cluster keeps"))
          << found.front().message;
    }
    EXPECT_EQ(barriers, again ? 1 : 0); // otherwise, a block awaits all that others send it
    kernel::Kernel changed = kernel;
    auto to_one_block = [&](const kernel::Stmt &stmt, auto &&self) -> kernel::Stmt {
      const auto *copy = as<kernel::BulkCopy>(stmt);
      if (!copy || copy->stores() || !copy->fill->to_cluster)
        return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return self(child, self); });
      kernel::BulkCopy alone = *copy;
      alone.fill->to_cluster = false;
      return kernel::make(std::move(alone), stmt->origin);
    };
    changed.body = to_one_block(changed.body, to_one_block);
    EXPECT_FALSE(test::diagnostics_of(s.source(), changed).empty());
  }
}

/// Calls in flight free the slots of the tiles that they have read, and the last ones do so where nobody fills
/// them again. These arrivals, too, meet a block that has ended unless a barrier ends the cluster.
TEST(Clusters, EndTogetherWhereTheyFreeSlotsOfEachOther) {
  library::MatrixTiles tiles = tiles_of_cluster();
  int together = 0, alone = 0;
  for (std::int64_t in_flight : {0, 1})
    for (std::int64_t count : {1, 2, 3, 4, 5, 6}) {
      tiles.in_flight = in_flight;
      const Schedule s = product_of({64 * 2, 64, count * 64}, DType::bf16, tiles);
      const kernel::Kernel kernel = lowered(s, 2);
      SCOPED_TRACE(
          fmt::format("{} calls in flight, {} tiles, {} slots", in_flight, count, kernel.channels[0].slots));
      bool ends_together = false;
      for (const auto &[changed, removed] : test::without_each<kernel::Barrier>(kernel)) {
        if (removed.scope != kernel::SyncScope::cluster)
          continue;
        ends_together = true;
        const std::vector<sim::Diagnostic> found = test::diagnostics_of(s.source(), changed);
        ASSERT_FALSE(found.empty());
        EXPECT_TRUE(contains(found.front().message, "which has ended")) << found.front().message;
      }
      EXPECT_EQ(ends_together, kernel.frees_in_cluster(0));
      EXPECT_EQ(contains(cuda_kernel(kernel), "not in flight at the end"), ends_together);
      EXPECT_TRUE(test::diagnostics_of(s.source(), kernel).empty());
      ++(ends_together ? together : alone);
    }
  EXPECT_GT(together, 2);
  EXPECT_GT(alone, 2);
}

/// A slot that only the warps of its own block free is overwritten while those of the other block read it.
TEST(Clusters, NeedTheReadersOfAllBlocks) {
  const Schedule s = product_of({64 * 2, 64, 8 * 64}, DType::bf16, tiles_of_cluster());
  kernel::Kernel changed = lowered(s, 2);
  for (std::int64_t by : {-1, 1}) {
    kernel::Kernel other = changed;
    other.channels[0].freed += by;
    EXPECT_FALSE(test::diagnostics_of(s.source(), other).empty()) << by;
  }
}

TEST(Clusters, HaveTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  auto add = [&](Schedule schedule) {
    kernel::Plan plan = lower(schedule);
    subjects.push_back({fmt::format("clusters {}", subjects.size()), std::move(schedule), std::move(plan)});
  };
  add(product_of({64 * 4 - 3, 68, 32 * 6}, DType::u32, tiles_of_cluster(2, 2)));
  add(product_of({64 * 4, 60, 32}, DType::u32, tiles_of_cluster(4)));
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

/// All blocks write to one tile: two that copy the same box would race, and bring too many bytes.
TEST(Clusters, CopyEachElementOnce) {
  for (std::int64_t rows : {1, 2}) { // of the box of a part: a guard excludes nothing in the kernel
    Schedule s(gemm({32, 64, 96}, DType::u32), make_target("sm_90a"));
    auto AB = s.block("AB");
    auto [i, j, k] = s.loops<3>(AB);
    auto [i_tile, i_c, i_in] = s.split<3>(i, {infer, 2, 8});
    auto [j_tile, j_in] = s.split<2>(j, {infer, 32});
    auto [k_outer, k_in] = s.split<2>(k, {infer, 1});
    s.reorder({i_tile, j_tile, i_c, j_in, k_outer, k_in, i_in});
    s.set_scope(AB, Scope::local);
    s.bind(i_tile, Axis::block_y);
    s.bind(j_tile, Axis::block_x);
    s.bind(i_c, Axis::cluster);
    s.reverse_compute_at(s.block("C"), j_in);
    s.bind(j_in, Axis::thread_x);
    auto B_s = s.cache_read(AB, "B", Scope::shared);
    s.compute_at(B_s, k_outer);
    auto [part, row] = s.split<2>(s.loops_below(B_s, k_outer).front(), {2, rows}); // of one row of k
    s.bind(part, Axis::cluster);
    s.role({B_s}, 1, 0);
    s.bulk_copy(B_s);
    s.decompose_reduction(AB, k_outer);
    s.pipeline(k_outer, {{B_s, 0, 0}, {AB, 2, 1}});
    EXPECT_TRUE(contains(test::owed(s), "elements to B_shared, which has 32, by the loop")) << test::owed(s);
  }
}

/// Nests of a shared launch have one grid, of blocks along blockIdx.x.
TEST(Clusters, ShareNoLaunch) {
  library::MatrixTiles even = tiles_of_cluster();
  even.even_places = 4;
  const Schedule left_out = product_of({64 * 6, 64, 1024}, DType::bf16, even);
  ASSERT_TRUE(contains(print(left_out.program()), "launched with the nest before"));
  lowered(left_out, 1);

  Workload w("two");
  const Tensor x = w.placeholder("X", {8, 4});
  auto twice = [&](const char *name) {
    return w.compute(name, {8, 4}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * Expr(2.0f); });
  };
  Schedule s(w.output({twice("Y"), twice("Z")}), make_target("sm_90a"));
  Loop last;
  for (const char *name : {"Y", "Z"}) {
    auto [i, j] = s.loops<2>(s.block(name));
    auto [i_0, i_c] = s.split<2>(i, {infer, 2});
    s.bind(i_0, Axis::block_x);
    s.bind(i_c, Axis::cluster);
    s.bind(j, Axis::thread_x);
    last = i_0;
  }
  EXPECT_TRUE(s.obligations().empty());
  expect_right(s);
  s.share_launch(last);
  EXPECT_TRUE(
      contains(test::owed(s), "the blocks of Y form clusters along blockIdx.z, and those of a shared launch"))
      << test::owed(s);
}

/// The counter of arrivals is one for each iteration of the loops on other axes.
TEST(Clusters, MayHaveALastBlockWithoutCommonTiles) {
  Workload w("sums");
  const Tensor x = w.placeholder("X", {6, 8});
  const Reduce k = reduce_axis("k", 8);
  Schedule s(w.output({w.compute("Y", {6}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })}),
             make_target("sm_90a"));
  auto Y = s.block("Y");
  auto [i, k_0] = s.loops<2>(Y);
  auto [part, k_1] = s.split<2>(k_0, {2, infer});
  auto parts = s.rfactor(part);
  auto [i_of, part_of, k_of] = s.loops<3>(parts);
  s.bind(i_of, Axis::block_x);
  s.bind(part_of, Axis::cluster);
  s.reverse_compute_at(Y, i_of);
  s.last_block(part_of);
  ASSERT_TRUE(s.obligations().empty()) << test::owed(s);
  const kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(kernel.cluster, 2);
  EXPECT_EQ(as_int(kernel.params.back()->shape.front()), 6) << kernel::print(kernel);
  expect_right(s);
}

/// Only bulk copies write to the memory of other blocks, and only of elements that all blocks need.
TEST(Clusters, ShareOnlyBulkCopiesOfCommonTiles) {
  for (bool of_rows : {false, true}) {
    Schedule s(gemm({64, 64, 64}, DType::f32), make_target("sm_90a"));
    auto AB = s.block("AB");
    auto [i, j, k] = s.loops<3>(AB);
    auto [i_0, i_c, i_1] = s.split<3>(i, {infer, 2, 8});
    s.reorder({i_0, i_c, j, i_1, k});
    s.bind(i_0, Axis::block_x);
    s.bind(i_c, Axis::cluster);
    auto tile = s.cache_read(AB, of_rows ? "A" : "B", Scope::shared);
    s.compute_at(tile, i_c);
    const Loop part = s.split(s.loops_below(tile, i_c).front(), {2, infer})[0];
    if (of_rows) {
      test::expect_refused(s, "bind.nested", [&] { s.bind(part, Axis::cluster); },
                           "differ between the blocks of a cluster", {});
      continue;
    }
    s.bind(part, Axis::cluster);
    const std::vector<Obligation> owed = s.obligations();
    EXPECT_TRUE(std::ranges::any_of(owed, [](const Obligation &x) {
      return contains(x.message, "but only bulk copies to shared memory can");
    }));
  }
}

} // namespace
} // namespace nestsmith
