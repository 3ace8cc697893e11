/// Products whose last tiles a few thread blocks help (`HelpedTail`): their kernel executes beside the one that
/// adds what they have stored.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "lowering/lower.h"
#include "lowering/verify_kernel.h"
#include "runtime/model/analyse.h"
#include "schedules/even_tail.h"
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

using test::contains;
using test::product_of;

/// Seven tiles at four places: the last three are helped.
template <class Tiles> Tiles helped(Tiles tiles, std::int64_t persistent = 0) {
  tiles.helped_places = 4;
  tiles.persistent = persistent;
  return tiles;
}

std::vector<Schedule> helped_products() {
  library::RegisterTiles plain = test::register_tiles();
  plain.load = {};
  library::MatrixTiles staged = helped(test::unit_tiles(true), 3);
  staged.staged = staged.bulk_stores = true;
  return {product_of({16 * 7, 64, 8 * 48}, DType::u32, helped(plain)),
          product_of({16 * 7 - 3, 61, 8 * 48 - 5}, DType::u32, helped(test::register_tiles())),
          product_of({16 * 7, 64, 8 * 48}, DType::u32, helped(test::register_tiles(true), 3)), // in waves
          product_of({64 * 7, 64, 64 * 24}, DType::u32, helped(test::unit_tiles(true))),
          product_of({64 * 7 - 1, 60, 64 * 24 - 8}, DType::u32, staged)};
}

TEST(HelpedTail, HasTheLeastTime) {
  const Extents tile = {128, 256, 16};
  EXPECT_FALSE(helped_tail({128 * 132, 256, 4096}, tile, 132)) << "one whole wave";
  EXPECT_FALSE(helped_tail({1024, 1024, 4096}, tile, 132)) << "less than one: all blocks have one tile each";
  EXPECT_FALSE(helped_tail({128, 256 * 200, 4096}, tile, 132)) << "one row of tiles";
  EXPECT_FALSE(helped_tail({4096, 4096, 64}, tile, 132)) << "the sums of the helpers take longer";
  EXPECT_FALSE(helped_tail({0, 1, 1}, tile, 132));
  const auto tail = helped_tail({4096, 4096, 4096}, tile, 132); // 512 tiles: 3.88 waves
  ASSERT_TRUE(tail);
  EXPECT_GT(tail->waves, 512.0 / 132);
  EXPECT_LT(tail->waves, 3.95);
  EXPECT_LE((32 - tail->whole_rows) * 16, 132) << "a place for each helped tile";
  EXPECT_GT(tail->own * 2, 256) << "the block of a tile multiplies most of it";
}

TEST(HelpedTail, IsRight) {
  for (const Schedule &s : helped_products()) {
    SCOPED_TRACE(print(s.program()));
    const kernel::Plan plan = lower(s);
    ASSERT_EQ(plan.kernels.size(), 2U);
    ASSERT_EQ(plan.kernels[1].awaited.size(), 1U);
    EXPECT_EQ(plan.kernels[1].awaited.front()->name, "AB_part1_rest");
    test::expect_right(s);
  }
}

/// A bias and another output read the sum, too.
TEST(HelpedTail, HasAnyResults) {
  Workload w("two");
  Tensor a = w.placeholder("A", {112, 384}, DType::u32), b = w.placeholder("B", {384, 64}, DType::u32),
         bias = w.placeholder("bias", {64}, DType::u32);
  Reduce k = reduce_axis("k", 384);
  Tensor ab = w.compute("AB", {112, 64}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(k, j), k); });
  Tensor y = w.compute("Y", {112, 64}, {"i", "j"}, [&](Expr i, Expr j) { return ab(i, j) + bias(j); });
  Tensor z = w.compute("Z", {112, 64}, {"i", "j"}, [&](Expr i, Expr j) { return ab(i, j) * 3; });
  Schedule s(w.output({y, z}), make_target("sm_90a"));
  library::product(s, s.block("AB"), helped(test::register_tiles()));
  EXPECT_EQ(lower(s).kernels.size(), 2U);
  test::expect_right(s);
}

TEST(HelpedTail, IsLeftOutWhereItCannotBe) {
  auto kernels = [](Schedule s) { return lower(s).kernels.size(); };
  library::RegisterTiles tiles = helped(test::register_tiles());
  EXPECT_EQ(kernels(product_of({16 * 8, 64, 384}, DType::u32, tiles)), 1U) << "two whole waves";
  library::RegisterTiles plain = tiles;
  plain.load = {};
  EXPECT_EQ(kernels(product_of({16 * 7, 64, 384}, DType::u32, plain, make_target("sm_80"))), 1U)
      << "no early launches";
  Schedule parameter(test::product(16 * 7, 64, 384), make_target("sm_90a"));
  library::product(parameter, parameter.block("C"), tiles);
  EXPECT_EQ(kernels(parameter), 1U) << "the sum is a parameter";
  tiles.split_k = 2;
  EXPECT_EQ(kernels(product_of({16 * 7, 64, 384}, DType::u32, tiles)), 1U) << "all tiles have parts";
}

/// The loop of the helpers has half of the steps of k if both loops would not fit in the cache of instructions.
TEST(HelpedTail, HasAShorterLoopOfHelpersInLargeTiles) {
  library::RegisterTiles tiles = helped(test::register_tiles());
  tiles.warps = {1, 1}, tiles.results = {16, 8}, tiles.k = 16; // 64 x 64 results
  const Schedule s = product_of({64 * 7, 64, 16 * 48}, DType::u32, tiles);
  const kernel::Plan plan = lower(s);
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_LT(3 * plan.kernels[0].shared_bytes, 2 * plan.kernels[1].shared_bytes) << "half of the tiles";
  test::expect_right(s);
}

/// A thread loads what the helpers have stored, and the old results, before it stores its first result.
TEST(HelpedTail, ReadsAhead) {
  const Schedule s = product_of({16 * 7, 64, 8 * 48}, DType::f32, helped(test::register_tiles()));
  std::string trace;
  for (const Directive &directive : s.trace())
    trace += to_cpp(directive) + "\n";
  for (const char *part :
       {"s.cache_read(C_part1, \"AB_part1_rest\", Scope::local)", "s.cache_read(C_part1, \"C\", Scope::local)",
        "s.cache_read(C, \"C\", Scope::local)"})
    EXPECT_TRUE(contains(trace, part)) << part << "\n" << trace;
}

/// Without the await, what the helpers store may be read before it is stored. Nothing else needs it.
TEST(HelpedTail, NeedsTheAwaitBeforeItsSums) {
  const std::vector<Schedule> products = helped_products();
  for (std::size_t n : {1, 3}) {
    const Schedule &s = products[n];
    const kernel::Plan plan = lower(s);
    const auto all = test::without_each<kernel::AwaitKernel>(plan.kernels[1]);
    ASSERT_EQ(all.size(), 1U);
    kernel::Plan changed = plan;
    changed.kernels[1] = all.front().kernel;
    EXPECT_TRUE(contains(*kernel::find_breach(changed.kernels[1], true),
                         "the kernel accesses AB_part1_rest without an await of the kernel before"));
    const std::string messages = fmt::format("{}", fmt::join(test::diagnostics(s, changed), "\n"));
    EXPECT_TRUE(contains(messages, "loads AB_part1_rest in ")) << messages;
    EXPECT_FALSE(contains(messages, "loads A in ")) << messages;
  }
}

/// The first kernel waits before it lets the second one start, which relies on it alone.
TEST(HelpedTail, StartsTheSecondKernelAfterTheAwaitOfTheFirst) {
  const Schedule s = product_of({16 * 7, 64, 8 * 48}, DType::f32, helped(test::register_tiles(), 4));
  const std::string text = cuda_kernels(lower(s));
  const std::size_t second = text.rfind("__global__");
  ASSERT_NE(second, std::string::npos);
  const std::size_t first_await = text.find("  await_kernel();"),
                    await = text.find("  await_kernel();", second);
  EXPECT_LT(first_await, second);
  ASSERT_NE(await, std::string::npos);
  EXPECT_GT(await, text.find("for (", second)) << "after the products of the tile\n" << text;
  EXPECT_TRUE(contains(text, "griddepcontrol.wait; griddepcontrol.launch_dependents;")) << text;
}

/// Seven tiles on four multiprocessors: the times of the two kernels do not add up.
TEST(HelpedTail, IsTimedBesideTheOtherKernel) {
  Gpu gpu = find_gpu("H200");
  gpu.sms = 4;
  const Schedule s = product_of({16 * 7, 64, 8 * 48}, DType::f32, helped(test::register_tiles()));
  const PlanAnalysis analysis = analyse(s.source(), lower(s), gpu, {});
  ASSERT_EQ(analysis.kernels.size(), 2U);
  const double helpers = analysis.kernels[0].seconds(), others = analysis.kernels[1].seconds();
  EXPECT_LT(analysis.seconds(), helpers + others);
  EXPECT_GE(analysis.seconds(), std::max(helpers, others));
  EXPECT_LE(analysis.seconds(), analysis.estimated_seconds());
  const Schedule split = [] {
    library::RegisterTiles tiles = test::register_tiles();
    tiles.early = tiles.two_kernels = true;
    tiles.split_k = 2;
    return product_of({16 * 7, 64, 8 * 48}, DType::f32, tiles);
  }();
  const PlanAnalysis in_turn = analyse(split.source(), lower(split), gpu, {});
  ASSERT_EQ(in_turn.kernels.size(), 2U);
  EXPECT_TRUE(in_turn.kernels[1].kernel.awaited.empty()) << "it has nothing to do before the parts are stored";
  EXPECT_DOUBLE_EQ(in_turn.seconds(), in_turn.kernels[0].seconds() + in_turn.kernels[1].seconds());
}

TEST(HelpedTail, HasTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  std::vector<Schedule> products = helped_products();
  for (std::size_t n : {0, 3}) {
    kernel::Plan plan = lower(products[n]);
    subjects.push_back({fmt::format("helped {}", n), std::move(products[n]), std::move(plan)});
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

} // namespace
} // namespace nestsmith
