/// Tests the properties of the statements of synchronisation, for which passes ask.

#include "dsl/expr/expr_text.h"
#include "lowering/kernel.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace nestsmith::kernel {
namespace {

struct SyncProperties : testing::Test {
  Buffer tile = std::make_shared<const BufferNode>(
      BufferNode{"tile", DType::f32, {Expr(32)}, Scope::shared, Role::temporary});
  Buffer counters = std::make_shared<const BufferNode>(
      BufferNode{"counters", DType::u32, {Expr(4)}, Scope::global, Role::temporary});
  Var last = make_var("last", DType::boolean), block = make_var("block");
  std::vector<Hazard> hazards = {{.buffer = tile}};
  const Sync of_block{Barrier{SyncScope::block, hazards}}, of_warp{Barrier{SyncScope::warp}},
      of_role{Barrier{SyncScope::role, {}, 1}}, commit{Commit{{tile}}}, wait{Wait{2, hazards}},
      arrive{Arrive{last, counters, Expr(block), Expr(8), Axis::block_x}};
};

TEST_F(SyncProperties, StateWhichThreadsAreOrdered) {
  EXPECT_EQ(of_block.orders(), SyncScope::block);
  EXPECT_EQ(of_warp.orders(), SyncScope::warp);
  EXPECT_EQ(of_role.orders(), SyncScope::role);
  EXPECT_EQ(arrive.orders(), SyncScope::block);
  EXPECT_EQ(commit.orders(), std::nullopt);
  EXPECT_EQ(wait.orders(), std::nullopt) << "other threads see the data after a barrier only";
}

TEST_F(SyncProperties, StateTheGroupsInFlight) {
  EXPECT_EQ(wait.completes(Queue::copies), 2);
  EXPECT_EQ(commit.completes(Queue::copies), std::nullopt);
  for (const Sync *sync : {&commit, &wait})
    EXPECT_TRUE(sync->counts_groups(Queue::copies));
  const Sync calls{Wait{1, hazards, Queue::calls, {tile}}};
  EXPECT_EQ(calls.completes(Queue::calls), 1);
  EXPECT_EQ(calls.completes(Queue::copies), std::nullopt);
  EXPECT_TRUE(calls.counts_groups(Queue::calls) && !calls.counts_groups(Queue::copies));
  EXPECT_TRUE(std::ranges::equal(calls.registers(), std::vector{tile}));
  for (const Sync *sync : {&of_block, &of_warp, &arrive})
    EXPECT_FALSE(sync->completes(Queue::copies) || sync->counts_groups(Queue::copies));
}

TEST_F(SyncProperties, StateThatTheyPassTiles) {
  const Sync await{Await{0, Event::filled, Expr(block), hazards}},
      signal{Signal{.channel = 0, .event = Event::freed, .number = Expr(block), .hazards = hazards}};
  for (const Sync *sync : {&await, &signal}) {
    EXPECT_TRUE(sync->passes_tiles());
    EXPECT_EQ(sync->orders(), std::nullopt) << "it orders the accesses of two roles, and not those of a block";
    EXPECT_EQ(sync->uses().size(), 1u);
  }
  EXPECT_FALSE(of_block.passes_tiles());
  EXPECT_TRUE(std::ranges::equal(await.hazards(), hazards));
  EXPECT_TRUE(signal.hazards().empty()) << "the awaits prevent them";
}

TEST_F(SyncProperties, StateTheCertificate) {
  for (const Sync *sync : {&of_block, &wait})
    EXPECT_TRUE(std::ranges::equal(sync->hazards(), hazards)) << sync->name();
  for (const Sync *sync : {&of_warp, &commit, &arrive})
    EXPECT_TRUE(sync->hazards().empty()) << sync->name();
}

/// The rewriting of expressions needs no case for a variant.
TEST_F(SyncProperties, StateTheOperands) {
  const Stmt stmt = make(arrive);
  std::vector<std::string> texts;
  each_expr(stmt, [&](const Expr &e) { texts.push_back(nestsmith::to_string(e)); });
  EXPECT_EQ(texts, (std::vector<std::string>{"block", "8"}));
  const Stmt changed = map_exprs(stmt, [&](const Expr &e) { return e.as<Var>() ? Expr(3) : e; });
  EXPECT_EQ(as_int(as<Arrive>(changed)->index), 3);
  EXPECT_EQ(as_int(as<Arrive>(changed)->arrivals), 8);
  EXPECT_EQ(map_exprs(stmt, [](const Expr &e) { return e; }), stmt) << "an unchanged statement is kept";
  EXPECT_EQ(arrive.updates(), counters);
  EXPECT_EQ(arrive.declares(), last);
  for (const Sync *sync : {&of_block, &of_warp, &commit, &wait})
    EXPECT_TRUE(sync->uses().empty() && !sync->updates() && !sync->declares()) << sync->name();
}

TEST_F(SyncProperties, AreThoseOfOneStatement) {
  const Stmt stmt = make(Wait{1});
  EXPECT_TRUE(as<Wait>(stmt) && as<Sync>(stmt));
  EXPECT_FALSE(as<Barrier>(stmt));
  EXPECT_FALSE(as<Store>(stmt));
  EXPECT_FALSE(as<Wait>(make_seq({})));
}

} // namespace
} // namespace nestsmith::kernel
