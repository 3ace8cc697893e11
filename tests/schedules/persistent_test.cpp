/// Tests loops of waves: blocks that compute tiles one after the other, one condition of the block around the
/// tiles beyond the last, and barriers below it.

#include "lowering/verify_kernel.h"
#include "runtime/check/sim_executor.h"
#include "schedules/fast/rungs.h"
#include "schedules/library/product.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::expect_right;

/// A product in tiles of 16 x 32 elements and steps of 4, by a grid of `blocks` blocks.
Schedule in_waves(const Shape &shape, std::int64_t blocks, bool async = true, std::int64_t group = 1,
                  DType dtype = DType::f32) {
  Schedule s(gemm(shape, dtype), make_target("sm_90a"));
  library::product(s, s.block("AB"),
                   {.warps = {1, 1},
                    .lanes = {4, 8},
                    .results = {4, 4},
                    .async = async,
                    .k = 4,
                    .group = group,
                    .persistent = blocks});
  return s;
}

std::string kernel_of(const Schedule &s) { return kernel::print(lower(s).only()); }

/// Of 16 x 32 elements: 1, fewer tiles than blocks, as many, one more, multiples, primes, one less.
TEST(Waves, AreRightForEachNumberOfTiles) {
  constexpr std::int64_t counts[][2] = {{1, 1}, {1, 2}, {3, 1}, {2, 2}, {3, 2}, {1, 7}, {4, 3}, {5, 1}, {3, 3}};
  for (bool async : {true, false})
    for (auto [rows, columns] : counts)
      for (std::int64_t blocks : {2, 3, 5}) {
        SCOPED_TRACE(fmt::format("{} x {} tiles, {} blocks", rows, columns, blocks));
        Schedule s = in_waves({rows * 16, columns * 32, 9}, blocks, async);
        expect_right(s);
        std::int64_t tiles = rows * columns;
        std::string text = kernel_of(s);
        EXPECT_EQ(contains(text, "let tile"), tiles > blocks && tiles % blocks != 0) << text;
        EXPECT_EQ(lower(s).only().grid()[0] * lower(s).only().grid()[1], std::min(tiles, blocks));
      }
}

TEST(Waves, AreRightAtUnevenShapes) {
  for (auto [m, n, k] :
       {std::array<std::int64_t, 3>{17, 31, 1}, {31, 97, 5}, {47, 65, 13}, {1, 200, 7}, {113, 1, 4}})
    for (std::int64_t group : {1, 4})
      expect_right(in_waves({m, n, k}, 3, true, group));
}

/// By the matrix units: tiles of 32 x 16 elements.
TEST(Waves, AreRightOfMatrixUnits) {
  for (DType dtype : {DType::bf16, DType::tf32})
    for (auto [m, n, k] : {std::array<std::int64_t, 3>{96, 16, 32}, {95, 31, 34}, {33, 65, 7}})
      for (std::int64_t stages : {1, 3}) {
        SCOPED_TRACE(fmt::format("{} {}x{}x{} {}", name(dtype), m, n, k, stages));
        Schedule s(gemm({m, n, k}, dtype), make_target("sm_90a"));
        library::product(s, s.block("AB"),
                         library::MatrixTiles{.warps = {2, 1},
                                              .results = {16, 16},
                                              .steps = 1,
                                              .stages = stages,
                                              .edges = true,
                                              .group = 2,
                                              .persistent = 2});
        expect_right(s);
        EXPECT_EQ(lower(s).only().grid()[0], 2);
      }
}

/// The condition of the tile is the only one of a product whose tiles are whole.
TEST(Waves, NeedNoGuardsOfElements) {
  for (std::int64_t group : {1, 2, 4}) {
    Schedule s = in_waves({64, 96, 8}, 5, false, group);
    std::string text = kernel_of(s);
    EXPECT_TRUE(contains(text, " < 12:  # skips each")) << text;
    EXPECT_FALSE(contains(text, "# tail")) << text;
  }
}

/// The barriers below the condition, and those between the tiles of a block.
TEST(Waves, NeedEachBarrierForWhatItSays) {
  for (bool async : {true, false}) {
    Schedule s = in_waves({48, 32, 8}, 2, async, 1, DType::u32);
    kernel::Kernel kernel = lower(s).only();
    EXPECT_GE(test::expect_certificates(s.source(), kernel), 2);
  }
}

/// The kernel with another condition of the tile.
template <class Change> kernel::Stmt with_other_condition(const kernel::Stmt &stmt, const Change &change) {
  kernel::Stmt inner = kernel::map_children(
      stmt, [&](const kernel::Stmt &child) { return with_other_condition(child, change); });
  const auto *guard = kernel::as<kernel::If>(inner);
  if (!guard || guard->purpose.kind != kernel::Purpose::Kind::with_terms)
    return inner;
  kernel::If copy = *guard;
  copy.condition = change(copy.condition);
  return kernel::make(std::move(copy), inner->origin);
}

TEST(Waves, SkipNoTileTooMany) {
  Schedule s = in_waves({48, 32, 8}, 2);
  auto passes = [&](std::int64_t more) {
    kernel::Plan plan = lower(s);
    plan.kernels.front().body = with_other_condition(plan.only().body, [&](const Expr &condition) {
      const auto *below = condition.as<Binary>();
      return binary(below->op, below->a, below->b + int_imm(more, below->b.dtype()));
    });
    SimExecutor simulator;
    return check(s, plan, simulator).passed;
  };
  EXPECT_TRUE(passes(0));
  EXPECT_FALSE(passes(-1));
  EXPECT_FALSE(passes(1)); // outside of C
}

/// A barrier below the condition is accepted only because all threads of the block agree on it.
TEST(Waves, HaveAConditionOfTheWholeBlock) {
  Schedule s = in_waves({48, 32, 8}, 2);
  kernel::Plan plan = lower(s);
  kernel::Kernel &kernel = plan.kernels.front();
  EXPECT_EQ(kernel::find_breach(kernel, true), std::nullopt);
  Var thread = std::ranges::find(kernel.indices, Axis::thread_x, &kernel::ThreadIndex::axis)->var;
  kernel.body = with_other_condition(kernel.body, [&](const Expr &condition) {
    return condition && Expr(thread) < int_imm(7, thread->dtype);
  });
  auto breach = kernel::find_breach(kernel, true);
  ASSERT_TRUE(breach.has_value());
  EXPECT_TRUE(contains(*breach, "differs between the threads of a block")) << *breach;
  std::vector<std::string> found = test::diagnostics(s, plan);
  EXPECT_TRUE(std::ranges::any_of(found, [](const std::string &text) { return contains(text, "barrier"); }))
      << fmt::format("{}", fmt::join(found, "\n"));
}

TEST(Waves, ThatAreAllWholeHaveNothingToSkip) {
  Schedule s = in_waves({64, 32, 8}, 2);
  Loop wave = s.loops(s.block("C")).front();
  expect_refused(s, "skip_tiles.stores", [&] { s.skip_tiles(wave); }, "which remains after an iteration", {});
}

/// As many blocks as the GPU holds.
TEST(Persistent, HasTheBlocksThatAreResident) {
  Target target = make_target("sm_90a");
  auto grid = [&](std::int64_t sms) {
    target.sms = sms;
    Knobs knobs(KnobValues{{"blocks", "2"}});
    return lower(fast::persistent({640, 640, 16}, DType::f32, target, knobs)).only().grid()[0];
  };
  EXPECT_EQ(grid(3), 6);
  EXPECT_EQ(grid(11), 22);
}

} // namespace
} // namespace nestsmith
