/// Products whose results a unit of the multiprocessor stores (`bulk_copy` of results).

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/model/count.h"
#include "runtime/model/traffic.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/role_products.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using kernel::as;
using test::contains;
using test::expect_right;
using test::product_of;

library::MatrixTiles stored_tiles(std::int64_t persistent = 0) {
  library::MatrixTiles tiles = test::unit_tiles(true);
  tiles.staged = tiles.bulk_stores = true;
  tiles.persistent = persistent;
  tiles.group = persistent > 0 ? 4 : 1;
  return tiles;
}

int bulk_stores(const kernel::Kernel &kernel) {
  int count = 0;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *copy = as<kernel::BulkCopy>(stmt);
    count += copy && copy->stores();
  });
  return count;
}

TEST(BulkStores, AreRight) {
  for (const Shape &shape : {Shape{64, 64, 64}, Shape{67, 60, 100}, Shape{64 * 5, 132, 128}, Shape{1, 4, 8}})
    for (std::int64_t persistent : {0, 3}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} {}", shape[0], shape[1], shape[2], persistent));
      const Schedule s = product_of(shape, DType::bf16, stored_tiles(persistent));
      EXPECT_EQ(bulk_stores(lower(s).only()), 1);
      expect_right(s);
    }
}

/// The rows of warps side by side, and results of 2 and of 4 bytes.
TEST(BulkStores, AreRightForColumnsOfWarps) {
  for (DType dtype : {DType::bf16, DType::u32})
    for (std::array<std::int64_t, 2> warps : {std::array<std::int64_t, 2>{4, 2}, {8, 1}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}", name(dtype), warps[0], warps[1]));
      library::MatrixTiles tiles = stored_tiles();
      tiles.warps = warps;
      for (const Schedule &s :
           {product_of({130, 264, 72}, dtype, tiles), test::product_of_stored({130, 264, 72}, dtype, tiles)}) {
        EXPECT_EQ(bulk_stores(lower(s).only()), 1);
        expect_right(s);
      }
    }
}

/// Without roles, the tiles of A and B may lie in memory of other arrays, but not in that of a tile which the
/// unit still reads in the next wave.
TEST(BulkStores, NeedNoRoles) {
  for (DType dtype : {DType::f16, DType::u32})
    for (std::int64_t persistent : {0, 2}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), persistent));
      const library::MatrixTiles tiles = {.warps = {2, 2},
                                          .results = {32, 32},
                                          .steps = 2,
                                          .stages = 3,
                                          .persistent = persistent,
                                          .staged = true,
                                          .bulk_stores = true};
      const Schedule s = test::product_of_stored({65, 132, 40}, dtype, tiles);
      const kernel::Kernel kernel = lower(s).only();
      EXPECT_EQ(bulk_stores(kernel), 1);
      for (const kernel::Allocation &array : kernel.shared)
        EXPECT_FALSE(array.tenancy);
      expect_right(s);
    }
}

/// Where the unit cannot store the rows, lanes do.
TEST(BulkStores, AreLeftToLanesOtherwise) {
  const Schedule odd = product_of({64, 66, 64}, DType::bf16, stored_tiles());
  EXPECT_EQ(bulk_stores(lower(odd).only()), 0);
  expect_right(odd);
  library::MatrixTiles parts = stored_tiles();
  parts.split_k = 2;
  const Schedule in_parts = product_of({64, 64, 256}, DType::bf16, parts);
  EXPECT_EQ(bulk_stores(lower(in_parts).only()), 0);
  expect_right(in_parts);
}

/// The unit moves lines of 128 bytes, and memory is written once. In the simulator, a lane stores element by
/// element.
TEST(BulkStores, AreCountedInLines) {
  const Schedule s = product_of({128, 128, 64}, DType::bf16, stored_tiles());
  const kernel::Kernel kernel = lower(s).only();
  const std::vector<Scalar> scalars = {Scalar::from_double(DType::f32, 1), Scalar::from_double(DType::f32, 0)};
  const model::Counters counters = model::count(kernel, scalars);
  const std::uint64_t lines = 128 * 128 * 4 / 128;
  const model::RequestSums stores = counters.total(Scope::global, true);
  EXPECT_EQ(stores.requests, lines);
  EXPECT_EQ(stores.sectors, 4 * lines);
  const model::Traffic moved =
      model::traffic(kernel, scalars, counters, {.sms = 4, .l2_bytes = 1 << 20}).traffic;
  EXPECT_EQ(moved.l2_writes, 4 * lines);
  EXPECT_EQ(moved.dram_writes, 4 * lines);
}

TEST(BulkStores, AreStatedInTheText) {
  const std::string text = cuda_kernel(lower(product_of({64, 64, 64}, DType::bf16, stored_tiles())).only());
  for (const char *part : {"wait_stores<0>();  // C_shared: read above by C, overwritten below",
                           "fence_tiles();  // C_shared", "store_box(&C_map, &C_shared[",
                           "commit_stores();  // C", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

/// The kinds of the statements without which the simulator reports exactly what they prevent.
TEST(BulkStores, NeedEachBarrierFenceAndWait) {
  const Schedule s = product_of({64, 128, 64}, DType::u32, stored_tiles(1));
  const kernel::Kernel kernel = lower(s).only();
  int barriers = 0, waits = 0, fences = 0;
  for (const auto &[changed, removed] : test::without_each<kernel::Barrier>(kernel)) {
    ++barriers;
    std::vector<kernel::Hazard> found = test::hazards_found(s.source(), changed);
    // The barrier before a store also orders the reads of C by other lanes, which are accesses to global
    // memory.
    std::erase_if(found, [](const kernel::Hazard &hazard) {
      return hazard.buffer->name == "C" && hazard.kind == kernel::Hazard::Kind::write_after_read;
    });
    EXPECT_EQ(test::kinds_of(found), test::kinds_of(removed.hazards)) << barriers;
    EXPECT_NE(std::ranges::find(found, removed.hazards.front()), found.end()) << barriers;
  }
  EXPECT_EQ(barriers, 2);
  for (const auto &[changed, removed] : test::without_each<kernel::Wait>(kernel)) {
    if (removed.queue != kernel::Queue::stores)
      continue;
    ++waits;
    EXPECT_EQ(test::kinds_of(test::hazards_found(s.source(), changed)), test::kinds_of(removed.hazards))
        << waits;
  }
  EXPECT_EQ(waits, 2);
  for (const auto &[changed, removed] : test::without_each<kernel::Fence>(kernel)) {
    if (removed.hazards.front().buffer->name != "C_shared")
      continue;
    ++fences;
    EXPECT_EQ(test::kinds_of(test::hazards_found(s.source(), changed)), test::kinds_of(removed.hazards))
        << fences;
  }
  EXPECT_EQ(fences, 1);
}

/// A wait that leaves the last group in flight lets the tile be overwritten while the unit reads it.
TEST(BulkStores, NeedAWaitForTheirLastGroup) {
  const Schedule s = product_of({64, 64, 64}, DType::u32, stored_tiles());
  kernel::Kernel changed = lower(s).only();
  auto rewrite = [&](const kernel::Stmt &stmt, auto &&self) -> kernel::Stmt {
    const auto *wait = as<kernel::Wait>(stmt);
    if (!wait || wait->queue != kernel::Queue::stores)
      return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return self(child, self); });
    kernel::Wait weak = *wait;
    weak.pending = 1;
    return kernel::make(std::move(weak), stmt->origin);
  };
  changed.body = rewrite(changed.body, rewrite);
  std::string messages;
  for (const sim::Diagnostic &diagnostic : test::diagnostics_of(s.source(), changed))
    messages += diagnostic.message + "\n";
  EXPECT_TRUE(contains(messages, "is overwritten while a bulk store of warp ")) << messages;
  EXPECT_TRUE(contains(messages, "still reads C_shared at the end of the kernel")) << messages;
}

TEST(BulkStores, HaveTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (std::int64_t persistent : {0, 3}) {
    Schedule schedule = product_of({67, 132, 72}, DType::u32, stored_tiles(persistent));
    kernel::Plan plan = lower(schedule);
    subjects.push_back({fmt::format("stores {}", subjects.size()), std::move(schedule), std::move(plan)});
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

/// The same texts without a wait are wrong there: each wait is necessary, and the comparison sees it.
TEST(BulkStores, NeedTheirWaitsInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  const Schedule schedule = product_of({67, 132, 72}, DType::u32, stored_tiles(3));
  kernel::Plan plan = lower(schedule);
  for (const auto &[changed, removed] : test::without_each<kernel::Wait>(plan.only())) {
    if (removed.queue != kernel::Queue::stores)
      continue;
    plan.kernels.front() = changed;
    subjects.push_back({fmt::format("without {}", subjects.size()), schedule, plan});
  }
  const std::string found = fmt::format("{}", fmt::join(differences_on_host(subjects), "\n"));
  for (const char *name : {"without 0", "without 1"})
    EXPECT_TRUE(contains(found, name)) << found;
}

} // namespace
} // namespace nestsmith
