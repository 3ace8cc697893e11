/// Tests the tiles of `library::product` that kernel tables choose: those of `fast/best`, for contractions of
/// any axes.

#include "dsl/hardware/gpus.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "schedules/fast/rungs.h"
#include "schedules/kernels.h"
#include "schedules/kernels/kernel_ranking.h"
#include "schedules/library/chosen_tiles.h"
#include "schedules/library/product.h"
#include "schedules/workloads.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using library::AnyTiles;

Target h100() { return target_of(find_gpu("H100")); }

/// The tiles of the block S, the fastest first.
std::vector<AnyTiles> tiles_for(const Program &program, bool units, const Target &target = h100()) {
  Schedule s(program, target);
  library::Contraction c = library::contraction(s, s.block("S"), Scope::local);
  return library::chosen_tiles(s, c, units);
}

/// The rows and columns of the tile, k, and the number of parts.
std::array<std::int64_t, 4> extents_of(const AnyTiles &tiles, std::int64_t k_of_instruction = 16) {
  if (const auto *own = std::get_if<library::RegisterTiles>(&tiles))
    return {own->tile(0), own->tile(1), own->k, own->split_k};
  const auto &own = std::get<library::MatrixTiles>(tiles);
  return {own.tile(0), own.tile(1), own.steps * k_of_instruction, own.split_k};
}

std::array<std::int64_t, 4> extents_of(const records::PredictedPoint &point) {
  return {point.tile[0], point.tile[1], point.tile[2], point.parts};
}

/// S[b, i, j] = sum over k and l of X[i, b, k, l] * W[l, j, k], of which b, k or l may have extent 1.
Program product_in_parts(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t l,
                         DType dtype) {
  Workload w("parts");
  Tensor X = w.placeholder("X", {m, b, k, l}, dtype), W = w.placeholder("W", {l, k, n}, dtype);
  Reduce of_k = reduce_axis("k", k), of_l = reduce_axis("l", l);
  return w.output({w.compute("S", {b, m, n}, {"b", "i", "j"}, [&](Expr p, Expr i, Expr j) {
    return sum(cast(DType::f32, X(i, p, of_k, of_l)) * cast(DType::f32, W(of_l, of_k, j)), {of_k, of_l});
  })});
}

std::vector<records::PredictedPoint> order_of(const char *rung, DType dtype, const records::ProductSize &size) {
  const records::KernelModel *model = records::serving_model(kernel_tables(), rung, dtype, h100(), rung);
  std::vector<records::PredictedPoint> points;
  for (const records::KernelChoice &choice : records::ranked(*model, size, h100()))
    points.push_back(records::point_of(model->table(), choice));
  return points;
}

TEST(LibraryChoice, IsThatOfTheKernelTableForFusedAxes) {
  // Rows of W begin at lines, those of X after 32 elements along l.
  auto list = tiles_for(product_in_parts(1, 1024, 512, 16, 32, DType::f32), false);
  auto order = order_of("fast/gemm", DType::f32, {{1024, 512, 512}, 1, 32, 32});
  ASSERT_GT(list.size(), 3U);
  for (std::size_t n = 0; n < 3; ++n)
    EXPECT_EQ(extents_of(list[n]), extents_of(order[n])) << n;
  // No axis allows vectors: the order is that of odd rows.
  list = tiles_for(product_in_parts(1, 1023, 511, 512, 1, DType::bf16), true);
  order = order_of("tensor/tuned", DType::bf16, {{1023, 511, 512}, 1, 1, 1});
  EXPECT_EQ(extents_of(list[0]), extents_of(order[0]));
}

/// The library takes each point of a table with all of its knobs: the schedule is that of the rung.
TEST(LibraryChoice, MakesTheScheduleOfTheRung) {
  struct Case {
    const char *gpu;
    DType dtype;
    Shape shape;
  };
  for (const auto &[gpu, dtype, shape] :
       {Case{"H200", DType::bf16, {4096, 4096, 4096}}, Case{"H200", DType::bf16, {1024, 1024, 1024}},
        Case{"H200", DType::bf16, {520, 264, 1001}}, Case{"H100", DType::bf16, {256, 256, 8192}},
        Case{"H100", DType::f32, {1024, 512, 4096}}, Case{"H100", DType::f32, {1023, 511, 257}}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", gpu, name(dtype), fmt::join(shape, "x")));
    const Target target = target_of(find_gpu(gpu));
    const bool units = dtype == DType::bf16;
    const char *rung = units ? "tensor/tuned" : "fast/gemm";
    const Program program = gemm(shape, dtype);
    Schedule described(program, target);
    const library::Contraction c = library::contraction(described, described.block("AB"), Scope::local);
    const std::vector<AnyTiles> list = library::chosen_tiles(described, c, units);
    const records::KernelModel *model = records::serving_model(kernel_tables(), rung, dtype, target, rung);
    ASSERT_NE(model, nullptr);
    const auto order = records::ranked(*model, {.extents = {shape[0], shape[1], shape[2]}}, target);
    ASSERT_GT(std::min(list.size(), order.size()), 4U);
    for (std::size_t n = 0; n < 4; ++n) {
      Knobs knobs(records::point_of(model->table(), order[n]).knobs);
      const Schedule of_rung = fast::best(shape, dtype, target, knobs);
      Schedule s(program, target);
      std::visit([&](const auto &tiles) { library::product(s, s.block("AB"), tiles); }, list[n]);
      EXPECT_EQ(print(s.program()), print(of_rung.program())) << to_string(knobs.chosen());
    }
  }
}

TEST(LibraryChoice, SplitsALongSumAndTakesOtherTilesForABatch) {
  auto deep = tiles_for(product_in_parts(1, 128, 128, 1024, 64, DType::f32), false);
  EXPECT_GT(extents_of(deep[0])[3], 1) << "few tiles are shared by several blocks";
  auto alone = tiles_for(product_in_parts(1, 256, 256, 64, 32, DType::bf16), true),
       batch = tiles_for(product_in_parts(64, 256, 256, 64, 32, DType::bf16), true);
  EXPECT_LT(extents_of(alone[0])[0] * extents_of(alone[0])[1],
            extents_of(batch[0])[0] * extents_of(batch[0])[1])
      << "64 products fill the GPU with large tiles";
}

TEST(LibraryChoice, HasUsualTilesWithoutATable) {
  EXPECT_EQ(tiles_for(product_in_parts(1, 64, 64, 64, 1, DType::f16), true, make_target("sm_70")).size(), 1U)
      << "kernels of the table copy asynchronously";
  Workload w("doubles");
  Tensor X = w.placeholder("X", {64, 64}, DType::f64);
  Reduce k = reduce_axis("k", 64);
  EXPECT_EQ(tiles_for(w.output({w.compute("S", {64, 64}, {"i", "j"},
                                          [&](Expr i, Expr j) { return sum(X(i, k) * X(j, k), k); })}),
                      false)
                .size(),
            1U);
}

TEST(LibraryChoice, CountsTheTilesOfEachProductOfABatch) {
  const records::KernelModel *model =
      records::serving_model(kernel_tables(), "fast/gemm", DType::f32, h100(), "fast/gemm");
  ASSERT_NE(model, nullptr);
  // The rows of each product begin with a tile: 8 products of 96 rows are no product of 768 rows.
  for (const records::KernelChoice &choice : model->rank_products({{96, 512, 512}, 8}, 132)) {
    std::int64_t tile = model->table().points[choice.point].tile[0], rows = (96 + tile - 1) / tile * tile * 8;
    EXPECT_NEAR(choice.ms, model->ms(choice, {rows, 512, 512}, 132), 1e-12);
  }
}

} // namespace
} // namespace nestsmith
