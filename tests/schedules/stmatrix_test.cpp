/// Results of 2 bytes that a warp moves from its registers to shared memory by `stmatrix`.

#include "codegen/cuda.h"
#include "dsl/ir/intrinsic.h"
#include "lowering/lower.h"
#include "schedules/library/product.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/role_products.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using kernel::as;
using test::contains;
using test::expect_right;

library::MatrixTiles stored_tiles(std::int64_t persistent = 0) {
  library::MatrixTiles tiles = test::unit_tiles(true);
  tiles.staged = tiles.bulk_stores = true;
  tiles.persistent = persistent;
  return tiles;
}

Schedule layer(const Shape &shape, DType dtype, const library::MatrixTiles &tiles,
               const Target &target = make_target("sm_90a")) {
  Schedule s(linear(shape, dtype), target);
  library::product(s, s.block("AB"), tiles);
  return s;
}

int stored_matrices(const Schedule &s) {
  int count = 0;
  kernel::walk(lower(s).only().body, [&](const kernel::Stmt &stmt) {
    const auto *call = as<kernel::Call>(stmt);
    count += call && call->intrinsic.get().name == "stmatrix";
  });
  return count;
}

TEST(StMatrix, StoresWholeTiles) {
  for (DType dtype : {DType::bf16, DType::f16, DType::u16})
    for (std::int64_t persistent : {0, 3})
      for (const Shape &shape : {Shape{64, 64, 64}, Shape{64 * 5, 128, 320}}) {
        SCOPED_TRACE(fmt::format("{} {}x{}x{} {}", name(dtype), shape[0], shape[1], shape[2], persistent));
        const Schedule s = layer(shape, dtype, stored_tiles(persistent));
        EXPECT_EQ(stored_matrices(s), 1);
        expect_right(s);
      }
}

/// A result that reads no row of an array, but registers, one element for each row, or one of a column.
TEST(StMatrix, StoresAnyResultOfTheSum) {
  for (const char *kind : {"plain", "rows", "two", "batch", "transposed", "f16 and i16"}) {
    SCOPED_TRACE(kind);
    const std::string text = kind;
    const bool batch = text == "batch", other = text == "f16 and i16";
    library::MatrixTiles tiles = stored_tiles();
    tiles.load.bulk = !batch;
    Workload w("results");
    const std::vector<Expr> of_a = batch ? std::vector<Expr>{2, 64, 128} : std::vector<Expr>{64, 128};
    const DType dtype = other ? DType::f16 : DType::bf16;
    const Tensor a = w.placeholder("A", of_a, dtype), b = w.placeholder("B", {128, 128}, dtype),
                 scale = w.placeholder("scale", {128}, DType::f32);
    const Reduce k = reduce_axis("k", 128);
    std::vector<Result> results;
    auto add = [&](const std::string &name, DType type, const std::vector<Expr> &shape,
                   const std::vector<std::string> &axes, const std::function<Expr(std::vector<Expr>)> &value) {
      results.emplace_back(w.compute(
          name, shape, axes, [&](const std::vector<Expr> &x) -> Definition { return cast(type, value(x)); }));
    };
    auto product = [&](const Expr &x, const Expr &y) { return cast(DType::f32, x) * cast(DType::f32, y); };
    if (batch) {
      const Tensor ab =
          w.compute("AB", {2, 64, 128}, {"n", "i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
            return sum(product(a(x[0], x[1], k), b(x[2], k)), k);
          });
      add("Y", dtype, {2, 64, 128}, {"n", "i", "j"}, [&](auto x) { return ab(x[0], x[1], x[2]) * 2.0f; });
    } else {
      const Tensor ab = w.compute("AB", {64, 128}, {"i", "j"}, [&](Expr i, Expr j) -> Definition {
        return sum(product(a(i, k), b(j, k)), k);
      });
      if (text == "transposed")
        add("Y", dtype, {128, 64}, {"j", "i"}, [&](auto x) { return ab(x[1], x[0]) + scale(x[0]); });
      else
        add("Y", dtype, {64, 128}, {"i", "j"},
            [&](auto x) { return text == "rows" ? ab(x[0], x[1]) * scale(x[0]) : ab(x[0], x[1]) + 1.0f; });
      if (text == "two" || other)
        add("Z", other ? DType::i16 : dtype, {64, 128}, {"i", "j"}, [&](auto x) { return ab(x[0], x[1]); });
    }
    Schedule s(w.output(results), make_target("sm_90a"));
    library::product(s, s.block("AB"), tiles);
    EXPECT_EQ(stored_matrices(s), text == "two" ? 2 : batch ? 0 : 1);
    expect_right(s);
  }
}

TEST(StMatrix, StoresRowsOfWarpsSideBySide) {
  for (std::array<std::int64_t, 2> warps : {std::array<std::int64_t, 2>{4, 2}, {8, 1}}) {
    library::MatrixTiles tiles = stored_tiles();
    tiles.warps = warps;
    const Schedule s = layer({256, 384, 72}, DType::bf16, tiles);
    EXPECT_EQ(stored_matrices(s), 1);
    expect_right(s);
  }
}

/// Warps of `mma` hold their sums in the same registers.
TEST(StMatrix, NeedsNoUnitsThatReadTiles) {
  const library::MatrixTiles tiles = {
      .warps = {2, 2}, .results = {32, 64}, .steps = 2, .stages = 3, .staged = true, .bulk_stores = true};
  const Schedule s = layer({128, 128, 96}, DType::f16, tiles);
  EXPECT_EQ(stored_matrices(s), 1);
  expect_right(s);
}

/// A tile that extends past the results has guards, results of 4 bytes do not fit, and other GPUs lack it.
TEST(StMatrix, IsLeftOutOtherwise) {
  for (const Shape &shape : {Shape{67, 64, 64}, Shape{64, 72, 64}}) {
    const Schedule s = layer(shape, DType::bf16, stored_tiles());
    EXPECT_EQ(stored_matrices(s), 0);
    expect_right(s);
  }
  EXPECT_EQ(stored_matrices(layer({64, 64, 64}, DType::u32, stored_tiles())), 0);
  library::MatrixTiles narrow = {.warps = {2, 2}, .results = {32, 32}, .staged = true, .bulk_stores = true};
  const Schedule s = layer({64, 64, 64}, DType::f16, narrow); // the rows of a warp have 64 bytes
  EXPECT_EQ(stored_matrices(s), 0);
  expect_right(s);
  const library::MatrixTiles of_warps = {.warps = {2, 2}, .results = {32, 64}, .staged = true};
  EXPECT_EQ(stored_matrices(layer({64, 128, 64}, DType::f16, of_warps, make_target("sm_80"))), 0);
}

TEST(StMatrix, IsStatedInTheText) {
  const std::string text = cuda_kernel(lower(layer({64, 64, 64}, DType::bf16, stored_tiles())).only());
  for (const char *part :
       {"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};", "stmatrix(&Y_shared[",
        "fence_tiles();  // Y_shared: written above, read below by Y"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

/// Without one of them, the simulator reports exactly what it prevents.
TEST(StMatrix, NeedsEachBarrierFenceAndWait) {
  const Schedule s = layer({64, 128, 64}, DType::u16, stored_tiles(1));
  const kernel::Kernel kernel = lower(s).only();
  auto expect_found = [&](const auto &changed, const auto &removed) {
    EXPECT_EQ(test::kinds_of(test::hazards_found(s.source(), changed)), test::kinds_of(removed.hazards));
  };
  int barriers = 0, fences = 0, waits = 0;
  for (const auto &[changed, removed] : test::without_each<kernel::Barrier>(kernel)) {
    ++barriers;
    expect_found(changed, removed);
  }
  for (const auto &[changed, removed] : test::without_each<kernel::Fence>(kernel))
    if (removed.hazards.front().buffer->name == "Y_shared") {
      ++fences;
      expect_found(changed, removed);
    }
  for (const auto &[changed, removed] : test::without_each<kernel::Wait>(kernel))
    if (removed.queue == kernel::Queue::stores) {
      ++waits;
      expect_found(changed, removed);
    }
  EXPECT_EQ(barriers, 2);
  EXPECT_EQ(fences, 1);
  EXPECT_EQ(waits, 2);
}

TEST(StMatrix, HasTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (std::int64_t persistent : {0, 3}) {
    Schedule schedule = layer({128, 192, 72}, DType::u16, stored_tiles(persistent));
    kernel::Plan plan = lower(schedule);
    subjects.push_back({fmt::format("layer {}", subjects.size()), std::move(schedule), std::move(plan)});
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

// ---- the directive

struct Options {
  DType dtype = DType::bf16;
  const char *arch = "sm_90";
  const char *map = "i, j -> i%8*4 + j%8//2, i//16, j//16, j//8%2*4 + i//8%2*2 + j%2";
  std::int64_t padding = 0; ///< elements after each row of the tile
  Scope scope = Scope::shared;
  bool transposed = false; ///< the tile is stored along i, or the other instruction is asked for
  bool other = false;
};

/// Y = X, of which each of two warps has 32 rows, through the registers of the warp and a tile in shared
/// memory.
Schedule copied(const Options &options) {
  Workload w("copied");
  const Tensor x = w.placeholder("X", {64, 32}, options.dtype);
  const Tensor y = w.compute("Y", {64, 32}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j); });
  Schedule s(w.output({y}), make_target(options.arch));
  const BlockRef result = s.block("Y");
  const BlockRef written = s.cache_write(result, options.scope), moved = s.cache_write(result, Scope::warp);
  const auto [warp, row] = s.split<2>(s.loops(result)[0], {2, 32});
  s.reverse_compute_at(moved, warp);
  s.reverse_compute_at(written, warp);
  s.bind(warp, Axis::warp);
  s.bind(s.loops_below(written, warp)[1], Axis::lane);
  const auto [i_0, i_1, i_2] = s.split<3>(row, {2, 2, 8});
  const auto [j_0, j_1, j_2] = s.split<3>(s.loops(result).back(), {4, 4, 2});
  s.reorder({i_2, j_1, i_0, i_1, j_0, j_2});
  s.bind(s.fuse(i_2, j_1), Axis::lane);
  for (const Loop &loop : {i_0, i_1, j_0, j_2})
    s.unroll(loop);
  s.transform_layout(result, options.map);
  const std::vector<Loop> tile = s.loops_below(moved, warp);
  const auto [i_tile, i] = s.split<2>(tile[0], {2, 16});
  const auto [j_tile, j] = s.split<2>(tile[1], {2, 16});
  s.reorder({i_tile, j_tile, i, j});
  s.unroll(i_tile);
  s.unroll(j_tile);
  if (options.transposed)
    s.transform_layout(moved, "i, j -> j, i");
  if (options.padding > 0)
    s.storage_align(moved, 0, 32, options.padding);
  s.tensorize(i, options.transposed != options.other ? "stmatrix_trans" : "stmatrix");
  return s;
}

TEST(StMatrix, CopiesInBothOrders) {
  for (DType dtype : {DType::bf16, DType::f16, DType::u16})
    for (bool transposed : {false, true}) {
      expect_right(copied({.dtype = dtype, .transposed = transposed}));
      expect_right(copied({.dtype = dtype, .padding = 8, .transposed = transposed}));
    }
}

/// Tiles that one warp fills and reads one after the other share memory.
TEST(StMatrix, WritesATileThatTakesTheMemoryOfAnother) {
  Workload w("tiles");
  Tensor before = w.placeholder("X", {2, 16, 16}, DType::bf16);
  for (const char *name : {"S", "T", "U", "V", "W", "Y"})
    before =
        w.compute(name, {2, 16, 16}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) { return before(b, i, j); });
  Schedule s(w.output({before}), make_target("sm_90"));
  const Loop block = s.loops(s.block("Y"))[0];
  s.bind(block, Axis::block_x);
  for (const char *name : {"S", "U", "W"})
    s.set_scope(s.block(name), Scope::shared);
  for (const char *name : {"T", "V"}) {
    s.set_scope(s.block(name), Scope::warp);
    s.transform_layout(s.block(name), "b, i, j -> i%8*4 + j%8//2, b, j//8*4 + i//8*2 + j%2");
  }
  for (const char *name : {"W", "V", "U", "T", "S"})
    s.compute_at(s.block(name), block);
  for (const char *name : {"S", "Y"}) {
    const std::vector<Loop> loops = s.loops_below(s.block(name), block);
    s.bind(s.split(s.fuse(loops[loops.size() - 2], loops.back()), {infer, 32})[1], Axis::thread_x);
  }
  for (const auto &[name, intrinsic] :
       {std::pair("T", "ldmatrix_a"), {"U", "stmatrix"}, {"V", "ldmatrix_a"}, {"W", "stmatrix"}}) {
    const std::vector<Loop> loops = s.loops_below(s.block(name), block);
    s.tensorize(loops[loops.size() - 2], intrinsic);
  }
  EXPECT_EQ(test::owed(s), "");
  const kernel::Kernel kernel = lower(s).only();
  EXPECT_TRUE(std::ranges::any_of(kernel.shared, [](const auto &array) { return array.tenancy.has_value(); }));
  expect_right(s);
}

/// Both warps would write the same tile.
TEST(StMatrix, NeedsALoopOverWarps) {
  Workload w("copied");
  const Tensor x = w.placeholder("X", {16, 16}, DType::bf16);
  const Tensor y = w.compute("Y", {16, 16}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j); });
  auto owed = [&](std::int64_t threads) {
    Schedule s(w.output({y}), make_target("sm_90"));
    const BlockRef result = s.block("Y");
    const BlockRef written = s.cache_write(result, Scope::shared), moved = s.cache_write(result, Scope::warp),
                   read = s.cache_read(result, "X", Scope::shared);
    const auto [block, row] = s.split<2>(s.loops(result)[0], {1, 16});
    for (const BlockRef &other : {moved, written})
      s.reverse_compute_at(other, block);
    s.compute_at(read, block);
    for (const BlockRef &own : {read, written}) {
      const std::vector<Loop> loops = s.loops_below(own, block);
      s.bind(s.split(s.fuse(loops[0], loops[1]), {infer, threads})[1], Axis::thread_x);
    }
    s.transform_layout(result, "i, j -> i%8*4 + j%8//2, j//8*4 + i//8*2 + j%2");
    s.tensorize(row, "ldmatrix_a");
    s.tensorize(s.loops_below(moved, block)[0], "stmatrix");
    return test::owed(s);
  };
  EXPECT_EQ(owed(32), "");
  EXPECT_TRUE(contains(owed(64), "writes the same elements of Y_shared (shared memory) for all 64 indices of "
                                 "threadIdx.x, which is a data race; bind one of its loops to warp"));
}

TEST(StMatrix, IsRefusedWhereItDoesNotFit) {
  auto refused = [](const Options &options, const std::string &why) {
    std::string owed;
    try {
      owed = test::owed(copied(options));
    } catch (const UserError &error) {
      owed = error.what();
    }
    EXPECT_TRUE(contains(owed, why)) << owed;
  };
  refused({.arch = "sm_80"}, "the target lacks the intrinsic stmatrix: stmatrix needs sm_90, ");
  refused({.dtype = DType::f32}, "there is no intrinsic 'stmatrix' for f32");
  refused({.scope = Scope::local}, "its rows must be in shared memory; use cache_write");
  refused({.other = true}, "the call of stmatrix_trans at ax_Y_shared_i_inner writes 8 consecutive elements of "
                           "Y_shared along ");
  refused({.padding = 4},
          "the call of stmatrix at ax_Y_shared_i_inner writes rows of Y_shared from the offset ");
  refused({.map = "i, j -> i%8*4 + j%8//2, i//16, j//16, i//8%2*4 + j//8%2*2 + j%2"},
          "does not give the lanes and registers of the operand tile of the call of stmatrix");
}

} // namespace
} // namespace nestsmith
