/// Tests layouts on the simulator: for each layout of a tile, the result has the same bits, and there is no
/// diagnostic.

#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/fetch.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>
#include <random>

namespace nestsmith {
namespace {

/// C = alpha*A*B + beta*C in tiles of 16 x 16 x 8, with a fragment of A in registers.
Schedule tiled(const Shape &shape, DType dtype) {
  Schedule s(gemm(shape, dtype), Target{});
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread, i_result] = s.split(i, {infer, 8, 2});
  auto [j_block, j_thread] = s.split(j, {infer, 16});
  auto [k_outer, k_inner] = s.split(k, {infer, 8});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, k_inner, i_result});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  auto tile = s.cache_read(AB, "A", Scope::shared);
  s.compute_at(s.cache_read(AB, "A_shared", Scope::local), k_inner);
  fetch_tile(s, tile, k_outer, 128);
  fetch_tile(s, AB, "B", k_outer, 128);
  s.unroll(i_result);
  return s;
}

TEST(Fetch, ReturnsTheLoopsAndBlocksThatItMakes) {
  for (std::int64_t threads : {128, 64}) { // one element for each thread, and two
    Schedule s(gemm({16, 16, 16}, DType::f32), Target{});
    auto AB = s.block("AB");
    auto [i, j, k] = s.loops<3>(AB);
    auto [k_outer, k_inner] = s.split(k, {infer, 8});
    s.reorder({k_outer, i, j, k_inner});
    auto tile = s.cache_read(AB, "A", Scope::shared);
    auto registers = fetch_through_registers(s, tile, "A", k_outer, threads, false);
    EXPECT_EQ(s.name(registers), "A_local");
    Loop own = fetch_tile(s, s.cache_read(AB, "B", Scope::shared), k_outer, threads);
    EXPECT_EQ(s.extent(own), threads);
    EXPECT_EQ(find_loop(s.program().body, own.var)->axis(), Axis::thread_x);
  }
}

std::vector<Array> result_of(const Schedule &schedule) {
  test::Values values = test::make_values(schedule.source());
  Execution execution = SimExecutor().run(lower(schedule), values.arrays, values.scalars);
  EXPECT_TRUE(execution.diagnostics.empty()) << execution.diagnostics.front() << "\n"
                                             << test::trace_text(schedule);
  return values.arrays;
}

const std::vector<Shape> shapes = {{1, 1, 1}, {16, 16, 8}, {17, 17, 9}, {31, 13, 7}, {3, 50, 40}};

TEST(Layouts, GiveTheSameBitsAsNone) {
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  const char *maps[] = {"a, b -> b, a", "a, b -> a//4, b, a%4", "a, b -> b//2, a, b%2", "a, b -> a*16 + b",
                        "a, b -> 20 - b, a"};
  for (const Shape &shape : shapes)
    for (DType dtype : {DType::u32, DType::f32}) {
      std::vector<Array> plain = result_of(tiled(shape, dtype));
      for (int n = 0; n < 8; ++n) {
        Schedule s = tiled(shape, dtype);
        for (const char *name : {"A_shared", "B_shared"}) {
          BlockRef tile = s.block(name);
          if (random() % 3)
            s.transform_layout(tile, maps[random() % std::size(maps)]);
          if (random() % 2) {
            try {
              s.storage_align(tile, 0, 1 + below(16), 0);
            } catch (const ScheduleError &error) {
              EXPECT_TRUE(test::contains(error.message(), "got the dimension 0, expected one of the 0"));
            }
          }
          if (random() % 2)
            s.swizzle(tile, 1 + below(4), below(3), 4 + below(2));
        }
        if (random() % 2)
          s.transform_layout(s.block("A_shared_local"), "a, b -> b, a");
        EXPECT_TRUE(result_of(s) == plain) << test::trace_text(s);
      }
    }
}

/// The simulator must find unwritten reads in arrays with padded or permuted layouts, too.
TEST(Layouts, DoNotHideUnwrittenReads) {
  Schedule s = tiled({16, 16, 8}, DType::u32);
  s.storage_align(s.block("B_shared"), 0, 32, 1);
  kernel::Kernel kernel = lower(s).only();
  auto shift = [&](const Expr &e, const auto &again) -> Expr {
    Expr result = map_children(e, [&](const Expr &child) { return again(child, again); });
    const auto *access = result.as<Load>();
    return access && access->buffer->name == "B_shared" ? load(access->buffer, {access->indices[0] + Expr(16)})
                                                        : result;
  };
  auto shifted = [&](const kernel::Stmt &stmt, const auto &again) -> kernel::Stmt {
    kernel::Stmt result = kernel::map_exprs(stmt, [&](const Expr &e) { return shift(e, shift); });
    return kernel::map_children(result, [&](const kernel::Stmt &child) { return again(child, again); });
  };
  kernel.body = shifted(kernel.body, shifted);
  test::Values values = test::make_values(s.source());
  Execution execution = SimExecutor().run(kernel, values.arrays, values.scalars);
  ASSERT_FALSE(execution.diagnostics.empty());
  EXPECT_TRUE(test::contains(execution.diagnostics.front(), "B_shared[16]")) << execution.diagnostics.front();
}

} // namespace
} // namespace nestsmith
