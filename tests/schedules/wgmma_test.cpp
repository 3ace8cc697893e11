/// Products by matrix units that read their tiles themselves (`wgmma`).

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/sim/simulate.h"
#include "schedules/library/product.h"
#include "schedules/tensor/rungs.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using library::MatrixTiles;
using test::contains;
using test::expect_refused;
using test::expect_right;

Target hopper() { return make_target("sm_90a"); }

MatrixTiles small_tiles() {
  return {.warps = {4, 1}, .results = {16, 64}, .steps = 4, .source = library::Source::tiles, .stages = 3};
}

/// How A and B are stored: each operand along k, or across.
struct Stored {
  bool a_across = false, b_across = false;
};

/// Alpha*A*B + beta*C.
Schedule product_of(const Shape &shape, DType dtype, const MatrixTiles &tiles, const Stored &stored = {}) {
  Shape transposed = shape;
  transposed.transposed = {.a = stored.a_across, .b = !stored.b_across};
  Schedule s(gemm(transposed, dtype), hopper());
  library::product(s, s.block("AB"), tiles);
  return s;
}

kernel::Kernel without_fence(kernel::Kernel kernel, std::vector<kernel::Hazard> &certificate) {
  std::function<kernel::Stmt(const kernel::Stmt &)> rewrite = [&](const kernel::Stmt &stmt) {
    if (const auto *fence = kernel::as<kernel::Fence>(stmt)) {
      certificate.insert(certificate.end(), fence->hazards.begin(), fence->hazards.end());
      return kernel::make_seq({});
    }
    return kernel::map_children(stmt, rewrite);
  };
  kernel.body = rewrite(kernel.body);
  return kernel;
}

TEST(Wgmma, IsRightAtEdgeSizes) {
  for (DType dtype : {DType::bf16, DType::f16, DType::u32})
    for (const Shape &shape : {Shape{64, 64, 64}, Shape{1, 1, 1}, Shape{67, 131, 66}, Shape{128, 65, 200}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(dtype), shape[0], shape[1], shape[2]));
      expect_right(product_of(shape, dtype, small_tiles()));
    }
}

TEST(Wgmma, TakesOperandsThatAreStoredAcrossK) {
  MatrixTiles wide = small_tiles();
  wide.warps = {4, 2}, wide.results[1] = 128, wide.stages = 2;
  for (const Stored &stored : {Stored{false, true}, Stored{true, false}, Stored{true, true}}) {
    SCOPED_TRACE(fmt::format("across: {} {}", stored.a_across, stored.b_across));
    expect_right(product_of({1, 1, 1}, DType::bf16, small_tiles(), stored));
    expect_right(product_of({67, 131, 66}, DType::f16, small_tiles(), stored));
    expect_right(product_of({72, 264, 136}, DType::bf16, wide, stored));
    expect_right(product_of({67, 131, 40}, DType::u32, wide, stored));
  }
}

TEST(Wgmma, HasSeveralGroupsOfWarpsAndWideResults) {
  for (auto [warps, columns] : {std::pair<Grid, std::int64_t>{{8, 1}, 128}, {{4, 2}, 64}, {{4, 1}, 256}}) {
    MatrixTiles tiles = small_tiles();
    tiles.warps = warps, tiles.results[1] = columns;
    SCOPED_TRACE(fmt::format("{}x{} {}", warps[0], warps[1], columns));
    expect_right(product_of({130, 140, 130}, DType::bf16, tiles));
  }
}

TEST(Wgmma, HasPartsWavesEvenTailsAndBatches) {
  MatrixTiles parts = small_tiles(), waves = small_tiles(), even = small_tiles();
  parts.split_k = 2;
  waves.persistent = 2;
  even.even_places = 4;
  expect_right(product_of({65, 66, 256}, DType::bf16, parts));
  expect_right(product_of({190, 128, 130}, DType::bf16, waves));
  Schedule tail = product_of({5 * 64, 64, 1024}, DType::bf16, even);
  EXPECT_TRUE(contains(print(tail.program()), "launched with the nest before"));
  expect_right(tail);
  Workload w("batched");
  Tensor x = w.placeholder("X", {3, 70, 72}, DType::f16), y = w.placeholder("Y", {3, 66, 72}, DType::f16);
  Reduce k = reduce_axis("k", 72);
  Schedule s(w.output({w.compute("Z", {3, 70, 66}, {"b", "i", "j"},
                                 [&](Expr b, Expr i, Expr j) {
                                   return sum(cast(DType::f32, x(b, i, k)) * cast(DType::f32, y(b, j, k)), k);
                                 })}),
             hopper());
  library::product(s, s.block("Z"), small_tiles());
  expect_right(s);
}

TEST(Wgmma, RefusesTilesThatTheUnitsDoNotRead) {
  auto refused = [](const MatrixTiles &tiles, DType dtype, const std::string &message) {
    test::expect_user_error(
        [&] {
          product_of({64, 64, 64}, dtype, tiles);
        },
        ExitCode::illegal_schedule, "library::product: block AB: with Source::tiles, " + message);
  };
  MatrixTiles tiles = small_tiles();
  tiles.results = {32, 64};
  refused(tiles, DType::bf16, "got 32x64 results of a warp and 4 rows of warps, expected 16x64");
  tiles = small_tiles();
  tiles.warps = {2, 2};
  refused(tiles, DType::bf16, "got 16x64 results of a warp and 2 rows of warps");
  tiles = small_tiles();
  tiles.steps = 2;
  refused(tiles, DType::bf16, "the matrix units read A, got elements of 2 bytes, 2 steps of k, expected");
  tiles = small_tiles();
  tiles.in_flight = 2;
  refused(tiles, DType::bf16,
          "got 3 stages with the calls of 2 iterations in flight, expected at least 4 stages");
  refused(small_tiles(), DType::tf32, "the matrix units read A, got elements of 4 bytes");
}

/// The obligation of a call whose tile has another layout, or whose warps have other rows.
TEST(Wgmma, OwesTilesInTheLayoutOfTheUnits) {
  Shape shape = {64, 64, 64};
  shape.transposed.b = true;
  auto owed = [&](const char *swizzled, std::int64_t warps, const std::string &message) {
    Schedule s(gemm(shape, DType::bf16), hopper());
    BlockRef AB = s.block("AB"), C = s.block("C");
    auto [i_warp, i_in] = s.split(s.loop("i"), {infer, 16});
    auto [k_step, k_in] = s.split(s.loop("k"), {infer, 16});
    Loop j = s.loop("j");
    auto [i_group, i_of_group] = s.split(i_warp, {infer, warps});
    s.reorder({i_group, i_of_group, k_step, i_in, j, k_in});
    s.set_scope(AB, Scope::warp);
    s.transform_layout(AB, "i, j -> i%8*4 + j%8//2, j//8, i//8, j%2");
    s.reverse_compute_at(C, i_of_group);
    s.bind(i_group, Axis::block_x);
    s.bind(i_of_group, Axis::warp);
    for (const char *operand : {"A", "B"}) {
      BlockRef tile = s.cache_read(AB, operand, Scope::shared);
      s.compute_at(tile, i_group);
      s.bind(s.split(s.loops_below(tile, i_group)[0], {infer, warps})[1], Axis::warp);
      if (std::string(swizzled) != operand)
        s.swizzle(tile, 3, 3, 3);
    }
    s.decompose_reduction(AB, k_step);
    s.tensorize(i_in, "wgmma_m64n64k16");
    EXPECT_TRUE(contains(test::owed(s), message));
  };
  owed("A", 4,
       "A_shared, a tile of 64 x 64 elements, which is not swizzled, expected a multiple of 8 rows of 64 "
       "elements (128 bytes) with the layout of swizzle(3, 3, 3)");
  owed("", 2, "expected a multiple of 4");
}

TEST(Wgmma, NeedsAFenceBeforeTheBarrier) {
  for (std::int64_t k : {64, 200}) {
    Schedule s = product_of({64, 64, k}, DType::u32, small_tiles());
    std::vector<kernel::Hazard> certificate;
    kernel::Kernel changed = without_fence(lower(s).only(), certificate);
    ASSERT_FALSE(certificate.empty());
    EXPECT_EQ(test::kinds_of(test::hazards_found(s.source(), changed)), test::kinds_of(certificate));
  }
}

/// The statement number `n` that orders calls of matrix units: it is removed, or, if it is a wait and `more` is
/// positive, leaves that many more groups in flight. If it exists, n is -1 afterwards.
kernel::Stmt with_order_of_calls(const kernel::Stmt &stmt, int &n, std::int64_t more,
                                 std::vector<kernel::Hazard> &certificate) {
  const auto *begin = kernel::as<kernel::Begin>(stmt);
  const auto *wait = kernel::as<kernel::Wait>(stmt);
  const bool of_calls = begin || (wait && wait->queue == kernel::Queue::calls);
  if (of_calls && n-- == 0) {
    certificate = begin ? begin->hazards : wait->hazards;
    if (!wait || more == 0)
      return kernel::make_seq({});
    kernel::Wait relaxed = *wait;
    relaxed.pending += more;
    return kernel::make(std::move(relaxed));
  }
  return kernel::map_children(
      stmt, [&](const kernel::Stmt &child) { return with_order_of_calls(child, n, more, certificate); });
}

/// Without the begin, without a wait, or with a wait for fewer groups, the simulator reports the hazards that
/// the statement prevents. The other groups of the step are in flight then, so that more may follow.
TEST(Wgmma, NeedsEachBeginAndWait) {
  for (std::int64_t in_flight : {0, 1})
    for (std::int64_t more : {0, 1}) {
      MatrixTiles tiles = small_tiles();
      tiles.stages = 4, tiles.in_flight = in_flight;
      Schedule s = product_of({64, 64, 6 * 64}, DType::bf16, tiles);
      const kernel::Kernel kernel = lower(s).only();
      int statements = 0;
      for (;; ++statements) {
        SCOPED_TRACE(fmt::format("in flight {}, statement {}, {} more", in_flight, statements, more));
        kernel::Kernel changed = kernel;
        std::vector<kernel::Hazard> certificate;
        int left = statements;
        changed.body = with_order_of_calls(changed.body, left, more, certificate);
        if (left >= 0)
          break;
        EXPECT_FALSE(certificate.empty());
        const test::HazardKinds found = test::kinds_of(test::hazards_found(s.source(), changed)),
                                promised = test::kinds_of(certificate);
        EXPECT_TRUE(std::ranges::includes(found, promised)) << found.size();
      }
      EXPECT_EQ(statements, 3) << "a wait at the barrier, a begin, and a wait before the results";
    }
}

/// The wait at the barrier leaves the calls of as many iterations in flight as the schedule states, and those
/// of none if the tiles have no copies for them.
TEST(Wgmma, WaitsAsLateAsTheTilesAllow) {
  auto pending = [](const MatrixTiles &tiles, std::int64_t k) {
    std::vector<std::int64_t> list;
    const kernel::Kernel kernel = lower(product_of({64, 64, k}, DType::bf16, tiles)).only();
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      if (const auto *wait = kernel::as<kernel::Wait>(stmt); wait && wait->queue == kernel::Queue::calls)
        list.push_back(wait->pending);
    });
    return list;
  };
  MatrixTiles tiles = small_tiles();
  EXPECT_EQ(pending(tiles, 8 * 64), (std::vector<std::int64_t>{0, 0}));
  tiles.in_flight = 1;
  EXPECT_EQ(pending(tiles, 8 * 64), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(pending(tiles, 64), (std::vector<std::int64_t>{0})) << "one iteration has no loop";
  tiles.stages = 5, tiles.in_flight = 2;
  EXPECT_EQ(pending(tiles, 8 * 64), (std::vector<std::int64_t>{2, 0}));
  tiles = small_tiles();
  tiles.stages = 1;
  EXPECT_EQ(pending(tiles, 8 * 64), (std::vector<std::int64_t>{0})) << "nothing is in flight after the loop";
}

TEST(Wgmma, IsRightWithCallsInFlight) {
  for (bool late : {false, true})
    for (std::int64_t k : {64, 128, 192, 256, 200, 520}) {
      MatrixTiles tiles = small_tiles();
      tiles.stages = 4, tiles.in_flight = 1, tiles.late = late;
      SCOPED_TRACE(fmt::format("late {}, k {}", late, k));
      expect_right(product_of({67, 60, k}, DType::bf16, tiles));
      tiles.stages = 5, tiles.in_flight = 3;
      expect_right(product_of({64, 64, k}, DType::f16, tiles, {.b_across = true}));
    }
}

/// Rows that are no vectors go through registers, so that the barrier of an iteration comes after its calls.
/// The staged results take the memory of the tiles, and the calls of the last iteration are in flight after the
/// loop.
TEST(Wgmma, StagedResultsFollowTheLastCalls) {
  auto schedule = [](std::int64_t k) {
    Knobs knobs(parse_knobs("wgmma=true,in_flight=true,staged=true,warps=4x2,results=16x64,stages=3"));
    return test::rung("tensor/tuned").build({3, 3, k}, DType::f16, hopper(), knobs);
  };
  for (std::int64_t k : {63, 129, 257, 321})
    expect_right(schedule(k));
  const Schedule s = schedule(193); // the last tile is in a slot of which the results take the memory
  expect_right(s);
  const kernel::Kernel kernel = lower(s).only();
  const std::string text = cuda_kernel(kernel);
  EXPECT_TRUE(contains(text, "wait_calls<1>(AB);")) << text;
  EXPECT_TRUE(contains(text, "  wait_calls<0>(AB);  // AB_shared: takes the memory of B_shared")) << text;
  EXPECT_TRUE(contains(text, "  __syncthreads();  // AB_shared: takes the memory of B_shared")) << text;
  for (int left = 0, statement = 0;; left = ++statement) {
    kernel::Kernel changed = kernel;
    std::vector<kernel::Hazard> certificate;
    changed.body = with_order_of_calls(changed.body, left, 0, certificate);
    if (left >= 0)
      break;
    EXPECT_FALSE(test::hazards_found(s.source(), changed).empty()) << statement;
  }
  for (const auto &[changed, removed] : test::without_each<kernel::Barrier>(kernel))
    if (removed.scope == kernel::SyncScope::block) {
      EXPECT_TRUE(std::ranges::includes(test::kinds_of(test::hazards_found(s.source(), changed)),
                                        test::kinds_of(removed.hazards)))
          << note_of(kernel::make(removed));
    }
}

/// Tiles start at multiples of 1024 bytes, whatever lies before them.
TEST(Wgmma, PlacesTilesAtMultiplesOf1024Bytes) {
  const kernel::Plan plan = lower(product_of({64, 64, 256}, DType::bf16, small_tiles()));
  for (const kernel::Allocation &tile : plan.only().shared) {
    EXPECT_EQ(tile.alignment, 1024);
    EXPECT_EQ(tile.byte_offset % 1024, 0);
  }
  EXPECT_TRUE(
      contains(cuda_kernel(plan.only()), "__shared__ __align__(1024) __nv_bfloat16 A_shared[3 * 64 * 64];"));
}

} // namespace
} // namespace nestsmith
