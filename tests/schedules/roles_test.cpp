/// Products whose tiles warps of their own fill (`role`).

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/sim/simulate.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/contains.h"
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
using test::count_of;
using test::expect_right;
using test::product_of;
using test::register_tiles;
using test::unit_tiles;

Target hopper() { return make_target("sm_90a"); }

/// Numbers of tiles along k: 1, slots - 1, slots, slots + 1, and many.
TEST(Roles, AreRightForEachNumberOfTiles) {
  for (bool joined : {false, true})
    for (std::int64_t k : {1, 8, 16, 24, 32, 33, 200}) {
      SCOPED_TRACE(fmt::format("joined {}, k {}", joined, k));
      library::RegisterTiles tiles = register_tiles();
      tiles.joined = joined;
      expect_right(product_of({17, 65, k}, DType::f32, tiles));
      tiles.stages = 2;
      expect_right(product_of({16, 64, k}, DType::f32, tiles, Target{}));
    }
}

TEST(Roles, AreRightWithCallsInFlight) {
  for (std::int64_t k : {1, 64, 192, 256, 320, 520}) {
    SCOPED_TRACE(fmt::format("k {}", k));
    library::MatrixTiles tiles = unit_tiles();
    expect_right(product_of({67, 60, k}, DType::bf16, tiles));
    tiles.in_flight = 0, tiles.stages = 2;
    expect_right(product_of({64, 64, k}, DType::f16, tiles));
    tiles.in_flight = 2, tiles.stages = 5;
    expect_right(product_of({64, 64, k}, DType::bf16, tiles));
  }
}

/// The numbers of fills go on from one tile of the result to the next.
TEST(Roles, AreRightInWavesOfTiles) {
  for (std::int64_t k : {8, 24, 40}) {
    SCOPED_TRACE(fmt::format("k {}", k));
    library::RegisterTiles tiles = register_tiles();
    tiles.persistent = 2;
    expect_right(product_of({16 * 5, 64, k}, DType::f32, tiles));
    tiles.joined = true;
    expect_right(product_of({16 * 3, 64 * 3, k}, DType::f32, tiles));
    library::MatrixTiles units = unit_tiles();
    units.persistent = 2;
    expect_right(product_of({64 * 5, 64, 64 * k / 8}, DType::bf16, units));
  }
}

/// The extents are known at launch.
TEST(Roles, AreRightForSizes) {
  Shape shape = {100, 200, 300};
  shape.stated = Size{};
  Schedule s(gemm(shape, DType::f32), hopper());
  library::RegisterTiles tiles = register_tiles();
  tiles.width = 1;
  library::product(s, s.block("AB"), tiles);
  const kernel::Plan plan = lower(s);
  EXPECT_TRUE(contains(cuda_kernel(plan.only()), "await_filled<3>")) << cuda_kernel(plan.only());
}

/// "A_shared: write after read", for each of the hazards.
std::set<std::string> texts_of(const std::vector<kernel::Hazard> &hazards) {
  std::set<std::string> texts;
  for (const kernel::Hazard &hazard : hazards)
    texts.insert(fmt::format("{}: {}", hazard.buffer->name, kernel::name(hazard.kind)));
  return texts;
}

/// Without an await, the simulator reports the hazards that it prevents; without a signal, a deadlock with the
/// waits of all warps. Numbers of tiles along k: 1, slots - 1, slots, slots + 1, and many. Up to the number of
/// slots, no slot is freed, and the hazards are exactly those that the await prevents.
TEST(Roles, NeedEachAwaitAndSignal) {
  auto expect_needed = [](const Schedule &s, std::int64_t tiles) {
    const kernel::Kernel kernel = lower(s).only();
    ASSERT_EQ(kernel.channels.size(), 1U);
    const bool again = tiles > kernel.channels[0].slots;
    SCOPED_TRACE(fmt::format("{} tiles, {} slots", tiles, kernel.channels[0].slots));
    EXPECT_EQ(test::expect_await_certificates(s.source(), kernel, !again), again ? 2 : 1);
    int n = 0;
    for (const auto &[changed, removed] : test::without_each<kernel::Signal>(kernel)) {
      SCOPED_TRACE(fmt::format("signal {}: {}", n++, kernel::name(removed.event)));
      std::vector<sim::Diagnostic> found = test::diagnostics_of(s.source(), changed);
      ASSERT_FALSE(found.empty());
      EXPECT_EQ(found.front().kind, sim::ErrorKind::deadlock) << found.front().message;
      EXPECT_TRUE(contains(found.front().message, "is deadlocked: warp 0")) << found.front().message;
    }
    EXPECT_EQ(n, again ? 2 : 1);
  };
  for (std::int64_t tiles : {1, 2, 3, 4, 8})
    expect_needed(product_of({16, 64, 8 * tiles}, DType::u32, register_tiles()), tiles);
  library::MatrixTiles units = unit_tiles();
  units.in_flight = 0;
  for (std::int64_t tiles : {1, 3, 4, 5, 8})
    expect_needed(product_of({64, 64, 64 * tiles}, DType::bf16, units), tiles);
}

/// A phase that takes one arrival more never ends, or one less ends too early.
TEST(Roles, NeedExactNumbersOfArrivals) {
  const Schedule s = product_of({16, 64, 8 * 8}, DType::u32, register_tiles());
  const kernel::Kernel kernel = lower(s).only();
  for (std::int64_t by : {-1, 1})
    for (auto count : {&kernel::Channel::filled, &kernel::Channel::freed}) {
      kernel::Kernel changed = kernel;
      changed.channels[0].*count += by;
      EXPECT_FALSE(test::diagnostics_of(s.source(), changed).empty()) << by;
    }
}

/// The warps that multiply execute the fence, because those that fill a tile do not know when their copies
/// arrive.
TEST(Roles, NeedAFenceAfterTheAwait) {
  Schedule s = product_of({64, 64, 8 * 64}, DType::u32, unit_tiles());
  kernel::Kernel changed = lower(s).only();
  kernel::Fence removed;
  int left = 0;
  changed.body = test::without(changed.body, left, removed);
  ASSERT_EQ(left, -1);
  EXPECT_EQ(texts_of(test::hazards_found(s.source(), changed)), texts_of(removed.hazards));
}

/// A slot is freed after the wait for the calls that read it.
TEST(Roles, FreeASlotAfterTheCallsThatReadIt) {
  Schedule s = product_of({64, 64, 8 * 64}, DType::bf16, unit_tiles());
  const kernel::Kernel kernel = lower(s).only();
  for (std::int64_t more : {0, 1}) {
    kernel::Kernel changed = kernel;
    kernel::Wait wait;
    int left = 0;
    changed.body = test::with_wait(changed.body, left, more == 0 ? -1 : more, wait);
    ASSERT_LT(left, 0);
    EXPECT_FALSE(test::hazards_found(s.source(), changed).empty()) << more;
  }
}

/// The part of an offset that grows with the loop is added to the pointer by itself, if matrix units compute
/// the sums.
TEST(Roles, StepTheSourcesOfTheirCopies) {
  const std::string units = cuda_kernel(lower(product_of({128, 64, 512}, DType::bf16, unit_tiles())).only()),
                    registers =
                        cuda_kernel(lower(product_of({64, 64, 512}, DType::f32, register_tiles())).only());
  EXPECT_TRUE(contains(units, "&(A + k_0 * 64)[A_i * 512 + thread % 8 * 8]")) << units;
  EXPECT_FALSE(contains(registers, "&(A + ")) << registers;
}

/// A product of 2 warps, which fill the tile of B themselves: they have a barrier of their own. 4 warps fill
/// the tile of A.
Schedule with_own_tile(const Shape &shape, DType dtype) {
  return test::product_with_fetches(shape, dtype, 4, 0);
}

TEST(Roles, HaveABarrierOfTheirOwn) {
  for (const Shape &shape : {Shape{64, 8, 8}, Shape{64, 16, 16}, Shape{130, 7, 41}})
    expect_right(with_own_tile(shape, DType::f32));
  const Schedule s = with_own_tile({64, 16, 64}, DType::u32);
  const kernel::Kernel kernel = lower(s).only();
  const std::string text = cuda_kernel(kernel);
  EXPECT_TRUE(contains(text, "sync_role<1, 64>();  // B_shared: written above, read below by AB")) << text;
  EXPECT_EQ(test::expect_certificates(s.source(), kernel), 2);
}

/// Each warp of a role must reach its barrier, and the same one.
TEST(Roles, NeedTheirBarrierInAllWarps) {
  const Schedule s = with_own_tile({64, 16, 64}, DType::u32);
  // `change` gets a barrier, and the condition of the first warp.
  auto found = [&](FunctionRef<kernel::Stmt(const kernel::Stmt &, const Expr &)> change) {
    kernel::Kernel changed = lower(s).only();
    const auto tid = std::ranges::find(changed.indices, Axis::thread_x, &kernel::ThreadIndex::axis);
    auto rewrite = [&](const kernel::Stmt &stmt, auto &&self) -> kernel::Stmt {
      if (as<kernel::Barrier>(stmt))
        return change(stmt, Expr(tid->var) < Expr(32));
      return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return self(child, self); });
    };
    changed.body = rewrite(changed.body, rewrite);
    std::string messages;
    for (const sim::Diagnostic &diagnostic : test::diagnostics_of(s.source(), changed))
      messages += diagnostic.message + "\n";
    return messages;
  };
  const std::string missing = found([](const kernel::Stmt &barrier, const Expr &first) {
    return kernel::make(kernel::If{first, barrier, nullptr, {}}, barrier->origin);
  });
  EXPECT_TRUE(contains(missing, "no barrier of their role lies between them")) << missing;
  EXPECT_TRUE(contains(missing, "is deadlocked: warp 0")) << missing;
  const std::string other = found([](const kernel::Stmt &barrier, const Expr &first) {
    return kernel::make(kernel::If{first, barrier, barrier, {}}, barrier->origin);
  });
  EXPECT_TRUE(contains(other, "is deadlocked: warp 0 (threads (0, 0, 0) to (31, 0, 0)) waits at sync_role()"))
      << other;
  EXPECT_TRUE(contains(other, "warp 1 (threads (32, 0, 0) to (63, 0, 0)) waits at sync_role()")) << other;
}

TEST(Roles, HaveTheirBarrierInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (const Shape &shape : {Shape{64, 8, 8}, Shape{70, 9, 33}}) {
    Schedule schedule = with_own_tile(shape, DType::u32);
    kernel::Plan plan = lower(schedule);
    subjects.push_back({fmt::format("own tile {}", subjects.size()), std::move(schedule), std::move(plan)});
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

/// Of full and partial tiles, only the copies and the stores differ: the loop of the products stands once.
TEST(Roles, ShareTheLoopOfFullAndPartialTiles) {
  for (const Shape &shape : {Shape{41, 130, 64}, Shape{64, 130, 72}, Shape{41, 128, 70}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(std::vector<std::int64_t>(shape.begin(), shape.end()), "x")));
    Schedule s = product_of(shape, DType::f32, register_tiles());
    const std::string text = cuda_kernel(lower(s).only());
    EXPECT_EQ(count_of(text, "// all tiles are full"), 2) << text;
    EXPECT_EQ(count_of(text, "signal_copies<3>(filled, k_outer)"), 2) << text;
    EXPECT_EQ(count_of(text, "] +="), 1) << text; // the multiplication
    expect_right(s);
  }
  // Where no tile is partial, there is no branch.
  EXPECT_EQ(
      count_of(cuda_kernel(lower(product_of({64, 128, 64}, DType::f32, register_tiles())).only()), "full"), 0);
}

/// The main role gets the registers that the others leave.
TEST(Roles, MoveRegisters) {
  library::MatrixTiles tiles = unit_tiles();
  tiles.warps = {8, 1};
  const std::string text = cuda_kernel(lower(product_of({128, 64, 256}, DType::bf16, tiles)).only());
  EXPECT_TRUE(contains(text, "__launch_bounds__(384, 1)")) << text;
  EXPECT_TRUE(contains(text, "more_registers<232>();")) << text;
  EXPECT_TRUE(contains(text, "fewer_registers<40>();")) << text;
}

} // namespace
} // namespace nestsmith
