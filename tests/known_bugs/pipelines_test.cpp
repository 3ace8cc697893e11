/// Tests pipelines: stages, copies of tiles, tails and barriers.

#include "lowering/verify_kernel.h"
#include "tests/known_bugs/stages.h"
#include "tests/known_bugs/support.h"
#include "tests/runtime/sim/kernel_builder.h"

#include <algorithm>
#include <set>

namespace nestsmith {
namespace {

using test::all_stages;
using test::deep_pipeline;
using test::expect_right;
using test::Factor;
using test::Stages;
using test::TiledGemm;

/// The small product, with k_outer inside of a serial loop of two rounds.
Schedule two_rounds(std::int64_t k, Stages stages) {
  Schedule s(test::gemm(16, 5, k));
  BlockRef AB = s.block("AB");
  s.set_scope(AB, Scope::local);
  auto [i_block, round, i_inner] = s.split(s.loop("i"), {infer, 2, 4});
  auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 4});
  Loop k_outer = s.split(s.loop("k"), {infer, 4})[0];
  s.reorder({i_block, j_outer, round, i_inner, j_inner, k_outer});
  Loop thread = s.fuse(i_inner, j_inner);
  s.reverse_compute_at(s.block("C"), thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_outer, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  std::vector<BlockRef> tiles;
  for (const char *operand : {"A", "B"}) {
    BlockRef tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    s.bind(s.fuse(loops[loops.size() - 2], loops.back()), Axis::thread_x);
    tiles.push_back(tile);
  }
  if (stages.AB > 0)
    s.pipeline(k_outer, {{tiles[0], stages.A, 0}, {tiles[1], stages.B, 1}, {AB, stages.AB, 2}});
  return s;
}

/// The second round must not overwrite tiles that the first round still reads, and must wait until its own
/// tiles are filled.
TEST(KnownBugs, PipelinedLoopInAnOuterSerialLoopRunTwice) {
  for (Stages stages : all_stages)
    for (std::int64_t k : {1, 4, 5, 8, 9, 12, 13, 16, 24})
      expect_right(two_rounds(k, stages));
}

std::vector<Array> results(const Schedule &s) {
  test::Values values = test::make_values(s.source());
  SimExecutor simulator;
  Execution execution = simulator.run(lower(s), values.arrays, values.scalars);
  EXPECT_THAT(execution.diagnostics, testing::IsEmpty());
  return values.arrays;
}

/// Pipelines of one stage (no pipeline) to five stages, with one to six iterations. Some have fewer iterations
/// than stages.
TEST(KnownBugs, EveryPipelineStageCountEqualsNone) {
  for (std::int64_t k = 1; k <= 22; ++k) {
    const TiledGemm plain(5, 6, k);
    expect_right(plain.s);
    const std::vector<Array> expected = results(plain.s);
    for (Stages stages : all_stages) {
      TiledGemm t = plain;
      pipeline(t, stages);
      ASSERT_EQ(results(t.s), expected)
          << "k = " << k << ", stages " << stages.A << ", " << stages.B << ", " << stages.AB;
    }
    for (std::int64_t stages : {3, 4, 5})
      for (Factor first : {Factor::A, Factor::B})
        ASSERT_EQ(results(deep_pipeline(plain, stages, first).s), expected)
            << "k = " << k << ", " << stages << " stages\n"
            << print(deep_pipeline(plain, stages, first).s.program());
  }
}

/// The stages of the two tiles, of the registers that hold their elements first, and of the sum.
struct Staging {
  std::int64_t from_A, A, from_B, B, AB;
  bool late; ///< in a step, registers are filled after they are stored to shared memory
};

constexpr const char *gap = "number the stages from 0 without a gap";

/// Returns the reasons for the refusal of a staging, in the words of the message; empty: it is accepted.
std::vector<std::string> reasons(const Staging &x) {
  std::set<std::int64_t> stages = {x.from_A, x.A, x.from_B, x.B, x.AB};
  if (*stages.rbegin() + 1 != static_cast<std::int64_t>(stages.size()))
    return {gap};
  if (stages.size() == 1)
    return {"have stage 0, so nothing would overlap"};
  std::vector<std::string> all;
  for (auto [from, tile] : {std::pair{x.from_A, x.A}, {x.from_B, x.B}}) {
    if (tile < from || x.AB < tile || (tile == from && x.late))
      all.emplace_back("would reverse the two");
    if (tile - from > (x.late ? 1 : 0)) // the registers need more than one copy
      all.emplace_back("registers have no dynamic index");
  }
  return all;
}

/// Gives each of five blocks a stage from 0 to 4. The result equals the result without a pipeline, or the
/// directive is refused: because it needs more than one copy of the registers, reverses reads and writes, or
/// has a gap in the stages. Most stagings have a gap; the test tries one in 16 of these.
TEST(KnownBugs, EveryStagingThroughRegistersEqualsNoneOrIsRefused) {
  constexpr std::int64_t k = 21;
  const std::vector<Array> expected = results(TiledGemm(5, 6, k).s);
  std::map<std::int64_t, int> accepted; // the number of accepted stagings by the number of stages
  TiledGemm plain(5, 6, k);
  plain.through_registers();
  for (bool late : {false, true})
    for (std::int64_t code = 0; code < 5 * 5 * 5 * 5 * 5; ++code) {
      Staging x = {code % 5, code / 5 % 5, code / 25 % 5, code / 125 % 5, code / 625, late};
      const std::vector<std::string> why_not = reasons(x);
      if (!why_not.empty() && why_not.front() == gap && code % 16 != 0)
        continue;
      TiledGemm t = plain;
      std::int64_t first = late ? 2 : 0, then = late ? 0 : 2;
      auto stage = [&] {
        t.s.pipeline(t.k_outer, {{t.locals[0], x.from_A, first},
                                 {t.locals[1], x.from_B, first + 1},
                                 {t.A, x.A, then},
                                 {t.B, x.B, then + 1},
                                 {t.AB, x.AB, 4}});
      };
      try {
        stage();
      } catch (const ScheduleError &error) {
        bool foreseen = std::ranges::any_of(why_not, [&](const std::string &reason) {
          return error.message().find(reason) != std::string::npos;
        });
        ASSERT_TRUE(foreseen) << error.what();
        continue;
      }
      ASSERT_THAT(why_not, testing::IsEmpty()) << print(t.s.program());
      ++accepted[x.AB + 1];
      ASSERT_EQ(results(t.s), expected) << print(t.s.program());
    }
  for (std::int64_t stages : {2, 3, 4, 5})
    EXPECT_GT(accepted[stages], 0) << stages << " stages";
}

/// Fills the elements past the end of k with NaN in place of 0. The check reports this in every tail.
kernel::Kernel filled_with_nan(kernel::Kernel kernel) {
  std::function<Expr(const Expr &)> poison = [&](const Expr &e) {
    Expr result = map_children(e, poison);
    const auto *access = result.as<Load>();
    return access && access->mask.exists() && access->buffer->role == Role::input
               ? load(access->buffer, access->indices, access->mask, float_imm(std::nan("")), access->lanes)
               : result;
  };
  kernel.body = test::map_all(kernel.body, poison);
  return kernel;
}

TEST(KnownBugs, RaggedKWithNaNPoisonedSharedMemory) {
  for (std::int64_t k : {1, 3, 5, 7, 9, 11}) {
    for (Stages stages : all_stages) {
      TiledGemm t(5, 6, k, {}, DType::f32);
      pipeline(t, stages);
      expect_right(t.s); // the simulator poisons elements of shared memory that were not written
      EXPECT_THAT(test::diagnostics(t.s, filled_with_nan(lower(t.s).only())), testing::Not(testing::IsEmpty()));
    }
  }
}

/// Collects the conditions around each barrier, with the values of declared variables inserted.
void conditions_of_barriers(const kernel::Stmt &stmt, std::vector<Expr> around, std::map<Var, Expr> &values,
                            std::vector<std::vector<Expr>> &found) {
  if (const auto *declare = kernel::as<kernel::Declare>(stmt))
    values[declare->var] = declare->value;
  if (kernel::as<kernel::Barrier>(stmt))
    found.push_back(around);
  if (const auto *branch = kernel::as<kernel::If>(stmt)) {
    around.push_back(branch->condition);
    conditions_of_barriers(branch->body, around, values, found);
    if (branch->otherwise)
      conditions_of_barriers(branch->otherwise, around, values, found);
    return;
  }
  if (const auto *loop = kernel::as<kernel::Loop>(stmt)) {
    around.push_back(loop->extent);
    return conditions_of_barriers(loop->body, around, values, found);
  }
  if (const auto *seq = kernel::as<kernel::Seq>(stmt))
    for (const kernel::Stmt &child : seq->stmts)
      conditions_of_barriers(child, around, values, found);
}

bool uses_a_thread(const Expr &e, const kernel::Kernel &kernel, const std::map<Var, Expr> &values) {
  bool found = false;
  walk(e, [&](const Expr &node) {
    found = found || node.as<Load>() != nullptr;
    if (const Var *var = node.as<Var>()) {
      for (const kernel::ThreadIndex &index : kernel.indices)
        found = found || (index.var == *var && is_thread(index.axis));
      if (auto it = values.find(*var); it != values.end())
        found = found || uses_a_thread(it->second, kernel, values);
    }
  });
  return found;
}

TEST(KnownBugs, BarriersStandInUniformFlowOnlyAfterPartitioningAndGuards) {
  int below_a_guard = 0;
  for (std::int64_t k = 1; k <= 14; ++k)
    for (Stages stages : all_stages) {
      TiledGemm t(5, 9, k);
      pipeline(t, stages);
      if (k % 4 != 0)
        t.s.partition(t.k_outer);
      t.s.partition(t.s.loop("i_outer"));
      t.s.partition(t.s.loop("j_outer"));
      kernel::Kernel kernel = lower(t.s).only();
      std::map<Var, Expr> values;
      std::vector<std::vector<Expr>> barriers;
      conditions_of_barriers(kernel.body, {}, values, barriers);
      EXPECT_FALSE(barriers.empty());
      for (const std::vector<Expr> &conditions : barriers)
        for (const Expr &condition : conditions) {
          EXPECT_FALSE(uses_a_thread(condition, kernel, values)) << kernel::print(kernel);
          below_a_guard += condition.dtype() == DType::boolean;
        }
      expect_right(t.s);
    }
  EXPECT_GT(below_a_guard, 0);
}

TEST(KnownBugs, BarrierBelowAGuardOfSomeThreadsIsABreach) {
  sim::KernelBuilder b("k");
  Expr t = b.axis(Axis::thread_x, "t", 64);
  Expr half = b.let("half", floordiv(t, int_imm(32, DType::i32)));
  b.when(half < int_imm(1, DType::i32), [&] { b.sync_block(); });
  EXPECT_EQ(kernel::find_breach(b.build()),
            "a barrier stands below a guard that differs between the threads of a block");
}

} // namespace
} // namespace nestsmith
