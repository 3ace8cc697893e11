/// Tests `library::product` with tiles that the user states: it makes a schedule that can be lowered and is
/// right, or refuses the tiles with the reason and leaves the schedule unchanged.

#include "dsl/hardware/gpus.h"
#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/library/product.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <variant>
#include <vector>

namespace nestsmith {
namespace {

using library::MatrixTiles;
using library::RegisterTiles;
using library::Source;

/// S[b, i, j] = sum over k of X[b, i, k] * W[b, k, j], with a batch of `batch` matrices if it is not 0.
struct Contraction {
  std::int64_t rows = 40, columns = 36, depth = 33, batch = 0;
  DType dtype = DType::f32;
  bool sizes = false;                                          ///< `rows` are known at launch only
  std::function<Expr(const Expr &i, const Expr &k)> mask = {}; ///< of X
  double fill = 0;
  bool flagged = false; ///< W is masked by a flag for each k
  bool maximum = false; ///< instead of the sum
};

DType wide(DType dtype) { return dtype == DType::i8 ? DType::i32 : byte_size(dtype) < 4 ? DType::f32 : dtype; }

Program stated(const Contraction &c) {
  Workload w("contraction");
  const Expr rows = c.sizes ? w.size("M", {.max = 512}) : Expr(c.rows);
  auto with_batch = [&](std::vector<Expr> indices, const Expr &b) {
    if (c.batch > 0)
      indices.insert(indices.begin(), b);
    return indices;
  };
  Tensor X = w.placeholder("X", with_batch({rows, c.depth}, c.batch), c.dtype),
         W = w.placeholder("W", with_batch({c.depth, c.columns}, c.batch), c.dtype),
         flag = w.placeholder("flag", {c.depth}, DType::i32);
  Reduce k = reduce_axis("k", c.depth);
  std::vector<std::string> axes = {"i", "j"};
  if (c.batch > 0)
    axes.insert(axes.begin(), "b");
  Tensor S = w.compute(
      "S", with_batch({rows, c.columns}, c.batch), axes, [&](const std::vector<Expr> &at) -> Definition {
        const Expr &b = at[0], &i = at[at.size() - 2], &j = at.back();
        Expr x = load(X.buffer(), with_batch({i, k}, b)), y = load(W.buffer(), with_batch({k, j}, b));
        if (c.mask)
          x = load(X.buffer(), with_batch({i, k}, b), c.mask(i, k), constant(c.dtype, c.fill));
        if (c.flagged)
          y = load(W.buffer(), with_batch({k, j}, b), flag(k) > 0, constant(c.dtype, 0));
        const Expr term = cast(wide(c.dtype), x) * cast(wide(c.dtype), y);
        return c.maximum ? max_over(term, k) : sum(term, k);
      });
  return w.output({S});
}

using Tiles = std::variant<RegisterTiles, MatrixTiles>;

void schedule(Schedule &s, const Tiles &tiles) {
  std::visit([&](const auto &each) { library::product(s, s.block("S"), each); }, tiles);
}

struct Case {
  const char *name;
  Contraction contraction;
  Tiles tiles;
};

void PrintTo(const Case &test, std::ostream *out) { *out << test.name; }

Expr in_corner(const Expr &i, const Expr &k) { return i < 20 && k < 15; }

const Case cases[] = {
    {"a_mask_with_another_fill_and_a_tail_of_k",
     {.dtype = DType::f16, .mask = in_corner, .fill = 1},
     MatrixTiles{.results = {16, 32}, .stages = 3}},
    {"the_same_in_registers",
     {.mask = in_corner, .fill = 1},
     RegisterTiles{.warps = {1, 1}, .results = {4, 4}}},
    {"the_same_with_sizes",
     {.sizes = true, .mask = in_corner, .fill = 1},
     RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .async = false}},
    {"bulk_copies_of_what_a_flag_masks",
     {.depth = 40, .dtype = DType::f16, .flagged = true},
     MatrixTiles{.warps = {4, 1}, .results = {16, 64}, .stages = 3, .load = {.warps = 4, .bulk = true}}},
    {"tiles_smaller_than_a_block",
     {.rows = 65, .dtype = DType::i8},
     RegisterTiles{.warps = {1, 2}, .lanes = {2, 16}, .results = {4, 8}, .async = false, .k = 4}},
    {"tiles_smaller_than_a_block_of_a_batch",
     {.batch = 2, .dtype = DType::u32},
     RegisterTiles{
         .warps = {1, 2}, .lanes = {2, 16}, .results = {4, 8}, .async = false, .fragments = true, .k = 4}},
    {"parts_of_a_sum_with_load_warps_and_sizes",
     {.dtype = DType::f16, .sizes = true},
     MatrixTiles{.warps = {2, 1}, .results = {16, 64}, .stages = 4, .split_k = 2, .load = {.warps = 4}}},
    {"parts_that_another_kernel_adds_in_a_batch_with_sizes",
     {.columns = 9, .batch = 2, .sizes = true},
     RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .split_k = 2, .two_kernels = true}},
    {"copies_that_are_spread_in_a_batch",
     {.columns = 64, .depth = 64, .batch = 2},
     RegisterTiles{.warps = {1, 1}, .fragments = true, .joined = true, .spread = true}},
    {"copies_that_are_spread_but_not_joined",
     {.columns = 64, .depth = 64},
     RegisterTiles{.warps = {1, 1}, .joined = true, .spread = true}},
    {"odd_columns_of_a_batch",
     {.rows = 37, .columns = 35, .batch = 2},
     RegisterTiles{.warps = {1, 1}, .results = {4, 8}, .fragments = true}},
    {"pairs_of_columns_in_groups_of_parts",
     {.columns = 70, .depth = 130},
     RegisterTiles{.warps = {1, 2}, .results = {4, 8}, .columns = true, .split_k = 4, .groups_of_parts = 2}},
    {"odd_columns_with_load_warps_and_sizes",
     {.columns = 69, .depth = 45, .sizes = true},
     RegisterTiles{.warps = {1, 2}, .results = {4, 4}, .fragments = true, .k = 8, .load = {2, 0, false}}},
    {"odd_columns_with_an_other_element_of_each_k",
     {.columns = 37, .flagged = true},
     RegisterTiles{.warps = {1, 1}, .results = {4, 8}}},
    {"a_single_lane_with_more_columns_than_an_access_takes",
     {.columns = 40},
     RegisterTiles{.warps = {1, 1}, .lanes = {32, 1}, .results = {4, 8}, .zigzag = false}},
    {"two_columns_in_parts",
     {.rows = 70, .columns = 2, .depth = 130},
     RegisterTiles{.warps = {1, 1}, .results = {4, 8}, .split_k = 3}},
    {"odd_columns_with_sixteen_lanes_and_load_warps",
     {.columns = 69, .depth = 45},
     RegisterTiles{
         .warps = {1, 1}, .lanes = {2, 16}, .results = {8, 8}, .fragments = true, .load = {4, 0, false}}},
    {"a_maximum_of_fewer_columns_than_a_tile_has",
     {.rows = 64, .columns = 70, .depth = 36, .dtype = DType::f64, .maximum = true},
     RegisterTiles{.warps = {1, 1}, .results = {4, 12}, .fragments = true, .stages = 2}},
    {"copies_in_bulk_where_results_are_scalars",
     {.columns = 72, .depth = 40},
     RegisterTiles{
         .warps = {1, 2}, .results = {4, 4}, .fragments = true, .k = 8, .width = 1, .load = {2, 0, true}}},
    {"rows_of_odd_columns_of_a_batch",
     {.rows = 37, .columns = 35, .batch = 2},
     RegisterTiles{.warps = {1, 1}, .results = {4, 8}, .fragments = true, .staged = true}},
    {"rows_of_pairs_of_columns_with_sizes",
     {.rows = 70, .columns = 70, .sizes = true},
     RegisterTiles{.warps = {2, 1}, .results = {4, 4}, .last_k = true, .staged = true}},
    {"rows_of_three_columns",
     {.rows = 70, .columns = 3, .dtype = DType::f16},
     RegisterTiles{.warps = {1, 2}, .results = {8, 4}, .async = false, .staged = true}},
    {"rows_of_a_maximum_are_stored_by_lanes",
     {.columns = 37, .maximum = true},
     RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .staged = true}},
    {"code_for_the_last_tile_of_k_where_all_are_whole",
     {.depth = 32},
     RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .last_k = true}},
};

class LibraryTiles : public testing::TestWithParam<Case> {};

TEST_P(LibraryTiles, AreRight) {
  const Case &test = GetParam();
  Schedule s(stated(test.contraction), target_of(find_gpu("h200")));
  schedule(s, test.tiles);
  ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
  kernel::Plan plan = lower(s);
  if (test.contraction.sizes)
    plan = with_sizes(plan, sizes_for(s.source(), std::vector{test.contraction.rows}, 0));
  SimExecutor simulator;
  const CheckResult result = check(s, plan, simulator);
  EXPECT_TRUE(result.passed) << (result.messages().empty() ? "" : result.messages().front());
}

INSTANTIATE_TEST_SUITE_P(Cases, LibraryTiles, testing::ValuesIn(cases),
                         [](const auto &test) { return std::string(test.param.name); });

/// Whether the kernels of two results of a product, the second one stored by columns if `by_columns` is set,
/// move the sums through shared memory. They are right in any case.
bool moves_sums(bool by_columns) {
  constexpr std::int64_t m = 37, n = 41, k_extent = 19;
  Workload w("results");
  Tensor x = w.placeholder("X", {m, k_extent}, DType::f32), y = w.placeholder("Y", {k_extent, n}, DType::f32),
         bias = w.placeholder("bias", {n}, DType::f32);
  Reduce k = reduce_axis("k", k_extent);
  Tensor sums = w.compute("S", {m, n}, {"i", "j"}, [&](const std::vector<Expr> &at) {
    return Definition(sum(x(at[0], k) * y(k, at[1]), k));
  });
  Tensor first = w.compute("P", {m, n}, {"i", "j"}, [&](const std::vector<Expr> &at) {
    return Definition(max(sums(at[0], at[1]) + bias(at[1]), Expr(0.0)));
  });
  const std::vector<Expr> shape = by_columns ? std::vector<Expr>{n, m} : std::vector<Expr>{m, n};
  Tensor second = w.compute("Q", shape, {"a", "b"}, [&](const std::vector<Expr> &at) {
    return Definition(cast(DType::f16, by_columns ? sums(at[1], at[0]) : sums(at[0], at[1])));
  });
  Schedule s(w.output({first, second}));
  library::product(s, s.block("S"), RegisterTiles{.warps = {1, 1}, .results = {4, 4}, .staged = true});
  const kernel::Plan plan = lower(s);
  SimExecutor simulator;
  const CheckResult result = check(s, plan, simulator);
  EXPECT_TRUE(result.passed) << (result.messages().empty() ? "" : result.messages().front());
  return std::ranges::any_of(s.trace(), [](const Directive &d) { return d.op == "share_cache"; });
}

TEST(LibraryProduct, MovesTheSumsOnceForAllResultsThatAreStoredByRows) {
  EXPECT_TRUE(moves_sums(false));
  EXPECT_FALSE(moves_sums(true));
}

/// Convolutions along rows: their number is L - 2, or (L + 1)//2.
TEST(LibraryProduct, OfRowsThatAreAnExpressionOfASize) {
  for (std::int64_t stride : {1, 2})
    for (std::int64_t length : {5, 70}) {
      Workload w("rows");
      const Expr L = w.size("L", {.min = 3, .max = 100000}), rows = stride == 1 ? L - 2 : (L + 1) / 2;
      Tensor x = w.placeholder("X", {2, L + 1, 16}, DType::f16),
             f = w.placeholder("F", {2, 16, 24}, DType::f16);
      Reduce r = reduce_axis("r", 2), c = reduce_axis("c", 16);
      Schedule s(w.output({w.compute("S", {2, rows, 24}, {"b", "o", "k"}, [&](const std::vector<Expr> &at) {
        return Definition(sum(cast(DType::f32, x.where(at[1] * stride + r <= L, at[0], at[1] * stride + r, c)) *
                                  cast(DType::f32, f(r, c, at[2])),
                              {r, c}));
      })}));
      library::product(s, s.block("S"));
      EXPECT_TRUE(std::ranges::any_of(s.trace(), [](const Directive &d) { return d.op == "tensorize"; }));
      SimExecutor simulator;
      const CheckResult result =
          check(s, with_sizes(lower(s), sizes_for(s.source(), std::vector{length}, 0)), simulator);
      EXPECT_TRUE(result.passed) << (result.messages().empty() ? "" : result.messages().front());
    }
}

TEST(LibraryTilesRefuse, WhatCannotBeLowered) {
  auto refused = [](const Contraction &contraction, const Tiles &tiles, const char *message) {
    Schedule s(stated(contraction), target_of(find_gpu("h200")));
    test::expect_user_error([&] { schedule(s, tiles); }, ExitCode::illegal_schedule, message);
    EXPECT_TRUE(s.trace().empty());
  };
  const Contraction halves{.dtype = DType::f16}, singles;
  refused(halves, MatrixTiles{.load = {.warps = 4}},
          "library::product: block S: got 4 load warps and stages = 1, expected 2 stages or more: load warps "
          "fill a tile while the other warps read another");
  refused(
      halves, MatrixTiles{.source = Source::global, .stages = 2, .load = {.warps = 4}},
      "got 4 load warps and Source::global, but load warps fill tiles in shared memory; use another source, "
      "or load.warps = 0");
  refused(singles, MatrixTiles{},
          "got operands of f32, but matrix units multiply f16, bf16, i8, u8, and f32 that the term rounds to "
          "tf32; use RegisterTiles, or cast(DType::tf32, …) in the term");
  refused({.dtype = DType::f64}, MatrixTiles{}, "rounds to tf32; use RegisterTiles");
  refused({.dtype = DType::f16, .maximum = true}, MatrixTiles{},
          "got the update max(S[i, j], f32(X[i, k])*f32(W[k, j])), but matrix units add products of two "
          "elements; use RegisterTiles");
  refused(
      singles, RegisterTiles{.k = 8, .tiles_of_part = 3},
      "got tiles_of_part = 3 with split_k = 1 and groups_of_parts = 1, expected 2 to 16 parts in one group");
  refused(singles, RegisterTiles{.k = 1, .split_k = 17, .tiles_of_part = 2}, "expected 2 to 16 parts");
  for (std::int64_t tiles : {2, 5}) // of 5 tiles in all
    refused(singles, RegisterTiles{.k = 8, .split_k = 2, .tiles_of_part = tiles},
            "has 5 tiles, expected 3 to 4 tiles of a part, so that the last part has the rest");
  refused(singles, RegisterTiles{.k = 8, .split_k = 4, .tiles_of_part = 1},
          "has 5 tiles, expected fewer parts, so that the last part has the rest");
  refused(singles, RegisterTiles{.stages = 1},
          "got stages = 1 with asynchronous copies, expected 2 tiles in flight or more; use async = false for "
          "one tile");
}

} // namespace
} // namespace nestsmith
