/// Tests role: what it states in the program, its refusals, and what a schedule with roles owes.

#include "dsl/ir/printer.h"
#include "dsl/ir/roles.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;
using test::owed;

/// A product of `threads` threads with a tile of A, which is not yet bound.
struct Tiled {
  Schedule s;
  BlockRef AB, A_shared;
  Loop k_outer;

  explicit Tiled(const Target &target = {}, std::int64_t threads = 64)
      : s(gemm(threads, 64, 64), target), AB(s.block("AB")) {
    auto [i, j, k] = s.loops<3>(AB);
    auto [outer, inner] = s.split(k, {infer, 16});
    k_outer = outer;
    auto [i_block, i_thread] = s.split(i, {infer, threads});
    s.reorder({i_block, i_thread, k_outer, j, inner});
    s.set_scope(AB, Scope::local);
    s.reverse_compute_at(s.block("C"), i_thread);
    s.bind(i_block, Axis::block_x);
    s.bind(i_thread, Axis::thread_x);
    A_shared = s.cache_read(AB, "A", Scope::shared);
    s.compute_at(A_shared, k_outer);
  }

  void pipeline() { s.pipeline(k_outer, {{A_shared, 0, 0}, {AB, 1, 1}}); }
  void bind(std::int64_t threads) { bind(threads, A_shared); }
  void bind(std::int64_t threads, BlockRef tile) {
    auto loops = s.loops_below(tile, k_outer);
    Loop element = s.fuse(loops[0], loops[1]);
    s.bind(s.split(element, {infer, threads})[1], Axis::thread_x);
  }
  void complete() {
    s.role({A_shared}, 4, 0);
    bind(128);
    s.async_copy(A_shared);
    pipeline();
  }
};

TEST(Role, IsStatedInTheProgramAndHasThreadsOfItsOwn) {
  Tiled t;
  t.complete();
  EXPECT_TRUE(contains(print(t.s.program()), "4 warps for A_shared")) << print(t.s.program());
  EXPECT_EQ(threads_of_role(t.s.program(), t.s.program().body, std::nullopt), 64);
  EXPECT_EQ(threads_of_role(t.s.program(), t.s.program().body, 0), 128);
  EXPECT_EQ(threads_of_roles(t.s.program(), t.s.program().body), 192);
  EXPECT_TRUE(t.s.obligations().empty()) << owed(t.s);
  EXPECT_TRUE(test::same_meaning(t.s));
}

TEST(Role, SurvivesTheReplayOfItsTrace) {
  Tiled t;
  t.complete();
  EXPECT_TRUE(contains(trace_to_cpp(t.s), "s.role({A_shared}, 4, 0);")) << trace_to_cpp(t.s);
  const std::string json = to_json(trace_file(t.s, {64, 64, 64}, DType::u32));
  EXPECT_EQ(print(replay(parse_trace(json, "t.json"), gemm(64, 64, 64), Target{}, "t.json").program()),
            print(t.s.program()));
}

TEST(RoleRefuses, OtherTargets) {
  Tiled t(make_target("sm_75"));
  expect_refused(t.s, "role.feature", [&] { t.s.role({t.A_shared}, 4, 0); }, "mbarrier needs sm_80",
                 {"A_shared"});
}

TEST(RoleRefuses, OtherBlocks) {
  Tiled t;
  expect_refused(t.s, "role.blocks", [&] { t.s.role({}, 4, 0); }, "got no block, expected the blocks", {});
  expect_refused(t.s, "role.blocks", [&] { t.s.role({t.AB}, 4, 0); },
                 "block AB writes local memory, but a role fills tiles in shared memory", {"AB"});
  t.s.role({t.A_shared}, 4, 0);
  expect_refused(t.s, "role.blocks", [&] { t.s.role({t.A_shared}, 4, 0); }, "block A_shared has a role already",
                 {"A_shared"});
}

TEST(RoleRefuses, OtherNumbersOfWarps) {
  Tiled t;
  expect_refused(t.s, "role.warps", [&] { t.s.role({t.A_shared}, 0, 0); }, "got 0 warps, expected at least 1",
                 {"A_shared"});
  expect_refused(
      t.s, "role.warps", [&] { t.s.role({t.A_shared}, 31, 0); },
      "got 31 warps, so that the thread block has 1056 threads, expected at least 1, and at most 1024",
      {"A_shared"});
}

TEST(RoleRefuses, OtherNumbersOfRegisters) {
  Tiled none;
  expect_refused(none.s, "role.registers", [&] { none.s.role({none.A_shared}, 4, 40); },
                 "setmaxnreg needs sm_90a", {"A_shared"});
  Tiled t(make_target("sm_90a"));
  expect_refused(t.s, "role.registers", [&] { t.s.role({t.A_shared}, 4, 20); },
                 "got 20 registers, expected 0, or a multiple of 8 from 24 to 256", {"A_shared"});
  expect_refused(t.s, "role.registers", [&] { t.s.role({t.A_shared}, 2, 40); },
                 "got 2 warps with stated registers, expected a multiple of 4", {"A_shared"});
}

TEST(RoleOwes, APipelineAndThreads) {
  Tiled t;
  t.s.role({t.A_shared}, 4, 0);
  EXPECT_TRUE(contains(owed(t.s), "no loop around block A_shared is pipelined")) << owed(t.s);
  t.pipeline();
  EXPECT_TRUE(
      contains(owed(t.s), "block A_shared has 1 threads of its own, but the role of A_shared has 4 warps"))
      << owed(t.s);
  t.bind(64);
  EXPECT_TRUE(contains(owed(t.s), "block A_shared has 64 threads of its own")) << owed(t.s);
}

TEST(RoleOwes, WholeGroupsOfWarpsForRegisters) {
  Tiled t(make_target("sm_90a"));
  t.s.role({t.A_shared}, 4, 40);
  t.bind(128);
  t.pipeline();
  EXPECT_TRUE(contains(owed(t.s), "has 4 warps and the main role 64 threads, expected whole groups of 4 warps"))
      << owed(t.s);
}

/// 384 threads start with 168 registers each.
TEST(RoleOwes, RegistersForTheMainRole) {
  const auto owed_with = [](std::int64_t warps, std::int64_t registers) {
    Tiled t(make_target("sm_90a"), 128);
    t.s.role({t.A_shared}, warps, registers);
    t.bind(warps * 32);
    t.pipeline();
    return t.s.obligations().empty() ? "" : owed(t.s);
  };
  EXPECT_TRUE(contains(owed_with(8, 256),
                       "a thread block of 384 threads starts with 64512 registers; 65536 of them "
                       "are those of the roles, and the 128 threads of the main role need 24 "
                       "each, at least, which are 3072; state fewer registers, or fewer warps"))
      << owed_with(8, 256);
  EXPECT_TRUE(contains(owed_with(8, 248), "63488 of them are those of the roles")) << owed_with(8, 248);
  EXPECT_EQ(owed_with(8, 240), ""); // 24 are left
  EXPECT_EQ(owed_with(4, 240), "");
}

TEST(Role, EndsWithItsBlocks) {
  Tiled t;
  t.s.role({t.A_shared}, 4, 0);
  t.s.compute_inline(t.A_shared);
  EXPECT_TRUE(t.s.obligations().empty()) << owed(t.s);
  EXPECT_EQ(threads_of_roles(t.s.program(), t.s.program().body), 64);
}

TEST(RoleOwes, OneBlockOnAnSmForRegisters) {
  Tiled t(make_target("sm_90a"));
  t.s.role({t.A_shared}, 4, 40);
  t.bind(128);
  t.pipeline();
  t.s.launch_bounds(2);
  EXPECT_TRUE(contains(owed(t.s), "states 40 registers, and launch_bounds 2 blocks on an SM, expected 1 block"))
      << owed(t.s);
}

TEST(RoleOwes, TilesThatOnlyItFills) {
  Tiled t;
  BlockRef B_shared = t.s.cache_read(t.AB, "B", Scope::shared);
  t.s.compute_at(B_shared, t.k_outer);
  t.s.role({t.A_shared}, 4, 0);
  t.bind(128);
  t.s.pipeline(t.k_outer, {{t.A_shared, 0, 0}, {B_shared, 1, 1}, {t.AB, 2, 2}});
  EXPECT_TRUE(contains(owed(t.s), "expected one stage: its warps execute one iteration at a time"))
      << owed(t.s);
}

/// Its warps have a barrier of their own.
TEST(Role, LeavesTilesToTheMainRole) {
  Tiled two;
  BlockRef other = two.s.cache_read(two.AB, "B", Scope::shared);
  two.s.compute_at(other, two.k_outer);
  two.s.role({two.A_shared}, 4, 0);
  two.bind(128);
  two.bind(64, other);
  two.s.pipeline(two.k_outer, {{two.A_shared, 0, 0}, {other, 1, 1}, {two.AB, 1, 2}});
  EXPECT_TRUE(two.s.obligations().empty()) << owed(two.s);
  EXPECT_TRUE(test::same_meaning(two.s));
}

} // namespace
} // namespace nestsmith
