/// Products whose tiles bulk copies fill (`bulk_copy`).

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "lowering/lower.h"
#include "runtime/check/inputs.h"
#include "runtime/check/sim_executor.h"
#include "runtime/model/request_counter.h"
#include "runtime/sim/simulate.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/role_products.h"

#include <algorithm>
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

library::RegisterTiles register_tiles() { return test::register_tiles(true); }
library::MatrixTiles unit_tiles() { return test::unit_tiles(true); }

std::size_t bulk_copies(const kernel::Kernel &kernel) {
  std::size_t count = 0;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) { count += as<kernel::BulkCopy>(stmt) != nullptr; });
  return count;
}

/// Numbers of tiles along k: 1, slots - 1, slots, slots + 1, and many; with tails on each axis.
TEST(BulkCopies, AreRightForEachNumberOfTiles) {
  for (bool joined : {false, true})
    for (std::int64_t k : {4, 8, 16, 24, 32, 36, 200}) {
      SCOPED_TRACE(fmt::format("joined {}, k {}", joined, k));
      library::RegisterTiles tiles = register_tiles();
      tiles.joined = joined;
      const Schedule s = product_of({17, 68, k}, DType::f32, tiles);
      EXPECT_GE(bulk_copies(lower(s).only()), 1U); // blocks at edges have code of their own
      expect_right(s);
    }
}

TEST(BulkCopies, AreRightWithMatrixUnits) {
  for (std::int64_t k : {8, 192, 256, 320}) {
    SCOPED_TRACE(fmt::format("k {}", k));
    library::MatrixTiles tiles = unit_tiles();
    const Schedule s = product_of({67, 60, k}, DType::bf16, tiles);
    EXPECT_GE(bulk_copies(lower(s).only()), 2U);
    expect_right(s);
    tiles.in_flight = 0, tiles.stages = 2;
    expect_right(product_of({64, 64, k}, DType::f16, tiles));
  }
}

/// Of an operand that is not stored along k, a box has the columns that the layout of the units keeps together.
TEST(BulkCopies, AreRightInAnyStorage) {
  for (auto [a_across, b_across] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)})
    for (Shape shape : {Shape{64, 128, 64}, Shape{72, 136, 200}}) {
      SCOPED_TRACE(fmt::format("across: {} {}, k {}", a_across, b_across, shape[2]));
      shape.transposed = {.a = a_across, .b = !b_across};
      library::MatrixTiles tiles = unit_tiles();
      tiles.results = {16, 128};
      const Schedule s = product_of_stored(shape, DType::bf16, tiles);
      EXPECT_EQ(bulk_copies(lower(s).only()), 2U);
      expect_right(s);
      expect_right(product_of_stored(shape, DType::u32, unit_tiles()));
    }
}

TEST(BulkCopies, AreRightInWavesOfTiles) {
  for (std::int64_t k : {8, 24, 40}) {
    SCOPED_TRACE(fmt::format("k {}", k));
    library::RegisterTiles tiles = register_tiles();
    tiles.persistent = 2;
    expect_right(product_of({16 * 5, 64, k}, DType::f32, tiles));
    library::MatrixTiles units = unit_tiles();
    units.persistent = 2;
    expect_right(product_of({64 * 5, 64, 64 * k / 8}, DType::bf16, units));
  }
}

/// Rows of 65 elements have no tensor map: the threads copy both tiles.
TEST(BulkCopies, AreLeftToThreadsWhereRowsAreNotAligned) {
  const Schedule s = product_of({17, 65, 24}, DType::f32, register_tiles());
  EXPECT_EQ(bulk_copies(lower(s).only()), 0U);
  expect_right(s);
}

/// The first bulk copy changed by `change`, or the first signal of bytes.
template <class T, class F> kernel::Stmt changed(const kernel::Stmt &stmt, bool &done, const F &change) {
  if (const auto *node = as<T>(stmt); node && !done) {
    T copy = *node;
    if (change(copy)) {
      done = true;
      return kernel::make(std::move(copy), stmt->origin);
    }
  }
  return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return changed<T>(child, done, change); });
}

std::vector<sim::Diagnostic> found_in(const Schedule &s, const kernel::Kernel &kernel, kernel::Stmt body) {
  kernel::Kernel faulty = kernel;
  faulty.body = std::move(body);
  return test::diagnostics_of(s.source(), faulty);
}

/// Bytes that differ by a row: the phase never ends, or too early.
TEST(BulkCopies, NeedExactBytes) {
  const Schedule s = product_of({16, 64, 64}, DType::u32, register_tiles());
  const kernel::Kernel kernel = lower(s).only();
  EXPECT_TRUE(test::diagnostics_of(s.source(), kernel).empty());
  for (std::int64_t by : {-256, 256}) {
    bool done = false;
    auto found = found_in(s, kernel, changed<kernel::Signal>(kernel.body, done, [&](kernel::Signal &signal) {
                            const bool of_bulk = signal.bulk_bytes != 0;
                            signal.bulk_bytes += of_bulk ? by : 0;
                            return of_bulk;
                          }));
    ASSERT_TRUE(done);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(contains(found.front().message, fmt::format("announces {} bytes in", 8 * 64 * 4 + by)) &&
                contains(found.front().message, by < 0 ? "ends before they have arrived" : "never ends"))
        << found.front().message;
  }
}

/// A box that starts at another place brings other elements.
TEST(BulkCopies, NeedTheStartOfTheBox) {
  const Schedule s = product_of({16, 64, 64}, DType::u32, register_tiles());
  const kernel::Kernel kernel = lower(s).only();
  bool done = false;
  kernel::Kernel faulty = kernel;
  faulty.body = changed<kernel::BulkCopy>(kernel.body, done, [](kernel::BulkCopy &copy) {
    copy.start[0] = copy.start[0] + int_imm(1, copy.start[0].dtype());
    return true;
  });
  ASSERT_TRUE(done);
  const Inputs inputs = make_inputs(s.source(), CheckRun::ring, 1);
  std::vector<std::vector<Array>> results;
  for (const kernel::Kernel &each : {kernel, faulty}) {
    results.push_back(inputs.arrays);
    EXPECT_TRUE(SimExecutor().run(each, results.back(), inputs.scalars).diagnostics.empty());
  }
  EXPECT_FALSE(results[0] == results[1]);
}

/// Ordinary reads of a tile, then a bulk copy to it: without the fence of the readers, nothing orders the two.
TEST(BulkCopies, NeedAFenceBeforeTheTileIsFreed) {
  const Schedule s = product_of({16, 64, 64}, DType::u32, register_tiles());
  const kernel::Kernel kernel = lower(s).only();
  int left = 0;
  kernel::Fence removed;
  auto found = found_in(s, kernel, test::without(kernel.body, left, removed));
  ASSERT_LT(left, 0);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().kind, sim::ErrorKind::unfenced);
  EXPECT_TRUE(contains(found.front().message,
                       "overwrites B_shared, which warps of another role have read without a "
                       "fence"))
      << found.front().message;
  ASSERT_EQ(removed.hazards.size(), 1U);
  EXPECT_EQ(removed.hazards.front().buffer->name, "B_shared");
}

/// Matrix units read what bulk copies bring without a fence.
TEST(BulkCopies, NeedNoFenceForMatrixUnits) {
  const kernel::Kernel kernel = lower(product_of({64, 64, 512}, DType::bf16, unit_tiles())).only();
  kernel::walk(kernel.body, [](const kernel::Stmt &stmt) { EXPECT_FALSE(as<kernel::Fence>(stmt)); });
}

/// The text on the host, with the meaning of its instructions: the map that the launcher makes, the box, its
/// swizzle and its bytes.
TEST(BulkCopies, HaveTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  auto add = [&](Schedule schedule) {
    kernel::Plan plan = lower(schedule);
    EXPECT_GE(bulk_copies(plan.only()), 1U);
    subjects.push_back({fmt::format("bulk {}", subjects.size()), std::move(schedule), std::move(plan)});
  };
  for (DType dtype : {DType::u32, DType::f32})
    for (const Shape &shape : {Shape{16, 64, 8}, Shape{17, 68, 36}, Shape{33, 132, 200}})
      add(product_of(shape, dtype, register_tiles()));
  library::MatrixTiles units = unit_tiles();
  units.in_flight = 0, units.load.registers = 0;
  for (const Shape &shape : {Shape{64, 64, 64}, Shape{67, 60, 292}})
    add(product_of(shape, DType::u32, units));
  add(product_of_stored({68, 60, 92}, DType::u32, units)); // B across
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

/// The unit moves lines of 128 bytes. A lane that stands for it in the simulator copies an element of 2.
TEST(BulkCopies, AreCountedInLines) {
  const Schedule s = product_of({64, 64, 256}, DType::bf16, unit_tiles());
  Inputs inputs = make_inputs(s.source(), CheckRun::integers, 1);
  std::vector<sim::Argument> arguments;
  for (Array &array : inputs.arrays)
    arguments.push_back({&array});
  model::RequestCounter counter(false);
  EXPECT_TRUE(sim::run(lower(s).only(), arguments, inputs.scalars, {.observer = &counter}).good());
  const model::Counters &counters = counter.counters.front();
  const std::uint64_t lines = std::uint64_t{2} * 64 * 256 * 2 / 128; // of both operands
  EXPECT_EQ(counters.copied(Scope::global).requests, lines);
  EXPECT_EQ(counters.copied(Scope::global).sectors, 4 * lines);
  EXPECT_EQ(counters.copied(Scope::shared).wavefronts, lines);
  EXPECT_EQ(counters.copied(Scope::shared).conflicts, 0U);
}

TEST(BulkCopies, AreInTheText) {
  const Schedule s = product_of({128, 128, 512}, DType::bf16, unit_tiles());
  const std::string text = emit({}, lower(s));
  for (const char *part : {"const __grid_constant__ TensorMap A_map", "copy_box<4>(&A_shared[",
                           "signal_bulk<4>(filled, k_0, 16384);", "#include <cuda.h>", "= {512, 128};",
                           "= {64, 64};", "encode_map(", "cuTensorMapEncodeTiled"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

} // namespace
} // namespace nestsmith
