/// Tests pipelined and partitioned kernels on the simulator. They must be right for every number of iterations,
/// and wrong if a barrier or a copy of a tile is removed.

#include "tests/lowering/tiled_gemm.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::diagnostics;
using test::expect_right;
using test::TiledGemm;
using testing::HasSubstr;

/// Returns a small product with a pipeline: two stages, two stages with copies through registers, or three
/// stages.
TiledGemm overlapping(int kind, std::int64_t m, std::int64_t n, std::int64_t k) {
  TiledGemm t(m, n, k);
  if (kind == 1)
    t.through_registers();
  if (kind == 2)
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 1, 1}, {t.AB, 2, 2}});
  else
    t.s.double_buffer(t.k_outer);
  return t;
}

class Overlapping : public testing::TestWithParam<int> {};

TEST_P(Overlapping, IsRightForEveryNumberOfIterations) {
  for (std::int64_t k = 1; k <= 18; ++k)
    expect_right(overlapping(GetParam(), 5, 9, k).s);
}

TEST_P(Overlapping, IsRightWithFullTilesApart) {
  for (std::int64_t k = 1; k <= 22; ++k) {
    TiledGemm t = overlapping(GetParam(), 5, 9, k);
    if (k % 4 != 0)
      t.s.partition(t.k_outer);
    t.s.partition(t.s.loop("i_outer"));
    t.s.partition(t.s.loop("j_outer"));
    expect_right(t.s);
  }
}

TEST_P(Overlapping, NeedsEachOfItsBarriersForWhatItSays) {
  TiledGemm t = overlapping(GetParam(), 8, 8, 37);
  EXPECT_EQ(test::expect_certificates(t.s.source(), lower(t.s).only()), 2);
  t.s.partition(t.k_outer); // separate code for the last tile
  EXPECT_GE(test::expect_certificates(t.s.source(), lower(t.s).only()), 2);
}

/// Removes the slot number: replaces `x % count` of a loop variable by 0.
Expr in_one_slot(const Expr &e, std::int64_t count) {
  const auto *op = e.as<Binary>();
  bool slot = op && op->op == BinaryOp::floormod && as_int(op->b) == count;
  if (slot) {
    bool of_loop = false;
    walk(op->a, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      of_loop = of_loop || (var && (*var)->name == "k_outer");
    });
    if (of_loop)
      return int_imm(0, e.dtype());
  }
  return map_children(e, [&](const Expr &child) { return in_one_slot(child, count); });
}

kernel::Stmt in_one_slot(const kernel::Stmt &stmt, std::int64_t count) {
  kernel::Stmt changed = kernel::map_exprs(stmt, [&](const Expr &e) { return in_one_slot(e, count); });
  return kernel::map_children(changed, [&](const kernel::Stmt &child) { return in_one_slot(child, count); });
}

TEST_P(Overlapping, NeedsEachCopyOfItsTiles) {
  TiledGemm t = overlapping(GetParam(), 8, 8, 21);
  kernel::Kernel kernel = lower(t.s).only();
  kernel.body = in_one_slot(kernel.body, GetParam() == 2 ? 3 : 2);
  EXPECT_THAT(diagnostics(t.s, kernel), testing::Contains(HasSubstr("A_shared")));
}

TEST_P(Overlapping, PassesOneBarrierATile) {
  for (std::int64_t tiles : {3, 4, 10}) {
    TiledGemm t = overlapping(GetParam(), 4, 4, 4 * tiles);
    test::Values values = test::make_values(t.s.source());
    SimExecutor simulator;
    simulator.run(lower(t.s), values.arrays, values.scalars);
    EXPECT_EQ(simulator.stats().barriers, static_cast<std::uint64_t>(tiles) + 1);
  }
}

std::string kind_name(const testing::TestParamInfo<int> &info) {
  constexpr std::array names = {"two_stages", "through_registers", "three_stages"};
  return names[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, Overlapping, testing::Values(0, 1, 2), kind_name);

/// A loop of the block around the pipeline executes it several times.
TEST(Pipeline, RunsAgainInALoopAroundIt) {
  for (int kind : {0, 1})
    for (std::int64_t k : {3, 4, 7, 12}) {
      Schedule s(test::gemm(20, 5, k));
      auto AB = s.block("AB"), C = s.block("C");
      s.set_scope(AB, Scope::local);
      auto [i_block, i_again, i_inner] = s.split(s.loop("i"), {infer, 3, 4});
      auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 4});
      Loop k_outer = s.split(s.loop("k"), {infer, 4})[0];
      s.reorder({i_block, j_outer, i_again, i_inner, j_inner, k_outer});
      auto thread = s.fuse(i_inner, j_inner);
      s.reverse_compute_at(C, thread);
      s.bind(i_block, Axis::block_y);
      s.bind(j_outer, Axis::block_x);
      s.bind(thread, Axis::thread_x);
      for (const char *operand : {"A", "B"}) {
        auto tile = s.cache_read(AB, operand, Scope::shared);
        auto fetch = [&, at = k_outer](BlockRef block) {
          s.compute_at(block, at);
          auto loops = s.loops(block);
          s.bind(s.fuse(loops[loops.size() - 2], loops.back()), Axis::thread_x);
        };
        fetch(tile);
        if (kind == 1)
          fetch(s.cache_read(tile, operand, Scope::local));
      }
      s.double_buffer(k_outer);
      expect_right(s);
      if (k == 12) {
        EXPECT_GE(test::expect_certificates(s.source(), lower(s).only()), 2);
      }
    }
}

/// Registers for a step are loaded during the preceding step. The loop is unrolled, so the indices of the
/// copies are constant.
TEST(Pipeline, OfAnUnrolledLoopKeepsCopiesInRegisters) {
  for (std::int64_t k : {4, 5, 8, 11}) {
    Schedule s(test::gemm(8, 8, k));
    auto AB = s.block("AB"), C = s.block("C");
    s.set_scope(AB, Scope::local);
    auto [i, j, whole] = s.loops<3>(AB);
    auto [k_outer, k_inner] = s.split(whole, {infer, 4});
    s.reverse_compute_at(C, j);
    s.bind(i, Axis::block_x);
    s.bind(j, Axis::thread_x);
    auto a = s.cache_read(AB, "A", Scope::local), b = s.cache_read(AB, "B", Scope::local);
    s.compute_at(a, k_inner);
    s.compute_at(b, k_inner);
    s.unroll(k_inner);
    s.pipeline(k_inner, {{a, 0, 0}, {b, 0, 1}, {AB, 1, 2}});
    (void)k_outer;
    kernel::Kernel kernel = lower(s).only();
    for (const kernel::Allocation &allocation : kernel.local)
      EXPECT_EQ(as_int(allocation.buffer->shape[0]), allocation.buffer->name == "AB" ? 1 : 2);
    expect_right(s);
  }
}

} // namespace
} // namespace nestsmith
