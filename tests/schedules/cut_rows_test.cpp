/// Tests products in parts of rows, each of which has a schedule of its own.

#include "runtime/check/sim_executor.h"
#include "schedules/library/product.h"
#include "schedules/library/rows.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;

const library::RegisterTiles small = {
    .warps = {1, 1}, .lanes = {4, 8}, .results = {4, 4}, .async = true, .k = 4};

library::RegisterTiles with_parts(library::RegisterTiles tiles, std::int64_t parts) {
  tiles.split_k = parts;
  return tiles;
}

TEST(CutRows, AreRightWithSchedulesOfTheirOwn) {
  for (auto [m, n, k, row] : {std::array<std::int64_t, 4>{48, 64, 32, 32},
                              {33, 64, 16, 32},
                              {47, 31, 13, 16},
                              {40, 5, 1, 3},
                              {2, 32, 8, 1}}) {
    SCOPED_TRACE(fmt::format("{}x{}x{} at {}", m, n, k, row));
    Schedule s(gemm({m, n, k}, DType::f32), make_target("sm_90a"));
    auto [first, second] = library::cut_rows(s, s.block("AB"), row);
    library::product(s, first, small);
    library::product(s, second, with_parts(small, k < 8 ? 1 : 2));
    expect_right(s);
    EXPECT_EQ(lower(s).kernels.size(), 2U);
  }
}

} // namespace
} // namespace nestsmith
