/// Products with roles whose sums have parts: the main role arrives for its thread block, and the last one
/// adds.

#include "codegen/cuda.h"
#include "codegen/names.h"
#include "dsl/ir/allocation.h"
#include "lowering/lower.h"
#include "schedules/library/rows.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/role_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <regex>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using test::owed;
using test::product_of;

/// Tiles of which each sum has two parts.
template <class Tiles> Tiles in_parts(Tiles tiles, bool two_kernels = false) {
  tiles.split_k = 2;
  tiles.two_kernels = two_kernels;
  return tiles;
}

TEST(RoleSums, AreRightInTwoParts) {
  for (bool two : {false, true}) {
    SCOPED_TRACE(two);
    expect_right(product_of({17, 65, 50}, DType::f32, in_parts(test::register_tiles(), two)));
    expect_right(product_of({67, 60, 300}, DType::bf16, in_parts(test::unit_tiles(), two)));
    expect_right(product_of({67, 72, 320}, DType::f16, in_parts(test::unit_tiles(true), two)));
  }
  library::RegisterTiles grouped = test::register_tiles();
  grouped.split_k = 4;
  grouped.groups_of_parts = 2;
  expect_right(product_of({16, 64, 128}, DType::f32, grouped));
  library::MatrixTiles staged = in_parts(test::unit_tiles());
  staged.staged = true;
  expect_right(product_of({67, 60, 300}, DType::bf16, staged));
}

/// 5 whole tiles or more come first, and the others have parts. The launch has the threads of both nests.
TEST(RoleSums, AreRightWithAnEvenTail) {
  for (std::int64_t persistent : {0, 3, 4}) { // with 3, the last wave of the whole tiles is not full
    SCOPED_TRACE(persistent);
    library::RegisterTiles tiles = test::register_tiles();
    tiles.even_places = 4, tiles.persistent = persistent;
    const Schedule s = product_of({16 * 5 - 3, 64, 8 * 32}, DType::f32, tiles);
    ASSERT_EQ(nests_of(s.program().body).size(), 2U);
    EXPECT_EQ(lower(s).kernels.size(), 1U);
    expect_right(s);
    library::MatrixTiles units = test::unit_tiles(true);
    units.even_places = 4, units.persistent = persistent;
    const Schedule of_units = product_of({64 * 5 - 3, 64, 64 * 16}, DType::bf16, units);
    ASSERT_EQ(nests_of(of_units.program().body).size(), 2U);
    const kernel::Kernel kernel = lower(of_units).only();
    EXPECT_EQ(kernel.channels.size(), 1U) << "a thread block has one of the nests, so both use the same events";
    EXPECT_EQ(kernel.maps.size(), 2U);
    expect_right(of_units);
  }
}

/// 7 tiles at 4 places, of which 3 have a long part and a short one.
Schedule product_in_unequal_parts(std::int64_t m, std::int64_t k, DType dtype, bool joined) {
  library::RegisterTiles tiles = test::register_tiles();
  tiles.even_places = 4;
  tiles.joined = tiles.last_k = joined;
  return product_of({m, 64, k}, dtype, tiles);
}

/// The whole tiles, the long parts and the short ones share their loops over k.
TEST(RoleSums, AreRightWithAnEvenTailOfUnequalParts) {
  for (auto [m, k] : {std::pair{16 * 7, 8 * 64}, {16 * 7, 8 * 64 - 3}, {16 * 7 - 3, 8 * 71 + 4}}) {
    SCOPED_TRACE(k);
    const Schedule s = product_in_unequal_parts(m, k, DType::f32, k % 2 == 0);
    ASSERT_TRUE(std::ranges::any_of(s.trace(), [](const Directive &x) { return x.op == "skip_tiles"; }));
    const kernel::Kernel kernel = lower(s).only();
    std::map<kernel::Event, int> loops; // of the role that awaits it
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      if (const auto *loop = kernel::as<kernel::Loop>(stmt))
        kernel::walk(loop->body, [&](const kernel::Stmt &inside) {
          if (const auto *await = kernel::as<kernel::Await>(inside))
            ++loops[await->event];
        });
    });
    EXPECT_EQ(loops[kernel::Event::filled], 1) << kernel::print(kernel);
    // Partial tiles have code of their own.
    EXPECT_EQ(loops[kernel::Event::freed], m % 16 == 0 ? 1 : 2) << kernel::print(kernel);
    expect_right(s);
  }
}

/// Partial tiles of rows and of columns, in three nests.
TEST(RoleSums, AreRightWithPartialTilesInSharedCode) {
  library::RegisterTiles tiles = test::register_tiles();
  tiles.even_places = 8;
  tiles.joined = tiles.last_k = true;
  for (auto [m, n, k] :
       {std::array<std::int64_t, 3>{16 * 7 - 3, 2 * 64 - 5, 8 * 71 + 4}, {16 * 7 - 3, 61, 8 * 64}}) {
    tiles.even_places = n > 64 ? 8 : 4;
    const Schedule s = product_of({m, n, k}, DType::f32, tiles);
    EXPECT_TRUE(std::ranges::any_of(s.trace(), [](const Directive &x) { return x.op == "skip_tiles"; }));
    expect_right(s);
  }
}

TEST(RoleSums, AwaitTheTilesOfAllNestsInSharedCode) {
  const Schedule s = product_in_unequal_parts(16 * 7, 8 * 64, DType::u32, true);
  EXPECT_GT(test::expect_await_certificates(s.source(), lower(s).only()), 0);
}

/// With fewer slots in the second nest, it has a channel of its own.
TEST(RoleSums, HaveChannelsOfTheirOwnWhereTheyDiffer) {
  library::RegisterTiles tiles = test::register_tiles();
  tiles.even_places = 4;
  tiles.stages = 5;
  const Schedule s = product_of({16 * 5, 64, 8 * 32}, DType::f32, tiles);
  ASSERT_EQ(nests_of(s.program().body).size(), 2U);
  expect_right(s);
}

TEST(RoleSums, ArriveByTheMainRole) {
  const Schedule s = product_of({64, 64, 512}, DType::bf16, in_parts(test::unit_tiles()));
  const std::string text = cuda_kernel(lower(s).only());
  EXPECT_TRUE(contains(text, "const bool last = role_arrives_last<1, 128>(&arrived[0], 2);")) << text;
  EXPECT_FALSE(contains(text, "__syncthreads_or")) << text;
}

/// Without the barrier or the fence of the arrival, the last block may read parts that are not there.
TEST(RoleSums, NeedTheWholeOrderOfTheArrival) {
  const Schedule s = product_of({16, 64, 64}, DType::u32, in_parts(test::register_tiles()));
  const kernel::Kernel kernel = lower(s).only();
  EXPECT_TRUE(test::diagnostics_of(s.source(), kernel).empty());
  Var last;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    if (const auto *arrive = kernel::as<kernel::Arrive>(stmt))
      last = arrive->last;
  });
  for (const sim::ArrivalOrder order :
       {sim::ArrivalOrder{.fence = false}, sim::ArrivalOrder{.barrier = false}}) {
    std::vector<sim::Diagnostic> found = test::diagnostics_of(s.source(), kernel, {{last, order}});
    ASSERT_FALSE(found.empty()) << order.fence;
    EXPECT_EQ(found.front().kind, sim::ErrorKind::race) << found.front().message;
    EXPECT_TRUE(contains(found.front().message, "AB_rf[")) << found.front().message;
  }
}

TEST(RoleSums, HaveTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  library::RegisterTiles tail = test::register_tiles();
  tail.even_places = 4;
  std::vector<Subject> subjects;
  auto add = [&](Schedule schedule) {
    kernel::Plan plan = lower(schedule);
    subjects.push_back({fmt::format("sums {}", subjects.size()), std::move(schedule), std::move(plan)});
  };
  add(product_of({17, 65, 50}, DType::u32, in_parts(test::register_tiles())));
  add(product_of({16 * 5, 64, 8 * 64}, DType::u32, tail));
  add(product_of({67, 72, 320}, DType::u32, in_parts(test::unit_tiles())));
  add(product_in_unequal_parts(16 * 7 - 3, 8 * 71 + 4, DType::u32, true));
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

/// The role would read parts of other thread blocks before they have arrived.
TEST(RoleSums, HaveNoRoleAfterTheArrival) {
  Schedule s(gemm({64, 16, 64}, DType::f32), make_target("sm_90a"));
  BlockRef AB = s.block("AB");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 32});
  auto [part, k_inner] = s.split(k, {4, infer});
  BlockRef parts_of_sum = s.rfactor(part), tile = s.cache_read(AB, s.name(parts_of_sum), Scope::shared);
  s.reorder({i_block, part, i_thread, j, k_inner});
  s.reverse_compute_at(tile, i_block);
  s.reverse_compute_at(AB, i_block);
  s.set_scope(AB, Scope::local);
  s.bind(i_block, Axis::block_x);
  s.bind(part, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.last_block(part);
  auto added = s.loops_below(AB, i_block);
  s.reorder({added[2], added[0], added[1]});
  s.compute_at(tile, added[2]);
  s.pipeline(added[2], {{tile, 0, 0}, {AB, 1, 1}});
  s.bind(s.loops_below(tile, added[2])[0], Axis::thread_x);
  s.role({tile}, 1, 0);
  EXPECT_TRUE(contains(owed(s), "whose last thread block continues, but only the main role knows")) << owed(s);
}

TEST(RoleSums, ShareALaunchOnlyWithEqualRoles) {
  Schedule s(gemm({32, 64, 64}, DType::f32), make_target("sm_90a"));
  auto [first, second] = library::cut_rows(s, s.block("AB"), 16);
  library::RegisterTiles tiles = test::register_tiles();
  library::product(s, first, tiles);
  tiles.load = {};
  s.share_launch(library::product(s, second, tiles).blocks.front());
  EXPECT_TRUE(contains(owed(s), "has the roles: none; and the nest before, of block A_shared: 2 warps with 0 "
                                "registers; expected the same ones"))
      << owed(s);
}

/// No name of a program hides a function of the text.
TEST(TakenNames, AreThoseOfAllFunctionsOfTheText) {
  library::RegisterTiles tail = test::register_tiles(true);
  tail.even_places = 4;
  library::MatrixTiles units = in_parts(test::unit_tiles(true));
  library::MatrixTiles stored = test::unit_tiles(true);
  stored.staged = stored.bulk_stores = stored.early = true;
  const std::regex function(R"(__forceinline__ [\w ]+?(\w+)\()");
  for (const Schedule &s :
       {product_of({16 * 5, 64, 8 * 64}, DType::f32, tail), product_of({64, 64, 512}, DType::bf16, units),
        product_of({64, 64, 512}, DType::bf16, stored)}) {
    const std::string text = cuda_kernels(lower(s));
    int found = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), function); it != std::sregex_iterator();
         ++it, ++found)
      EXPECT_NE(identifier((*it)[1].str()), (*it)[1].str());
    EXPECT_GT(found, 10);
  }
}

} // namespace
} // namespace nestsmith
