/// Tests masked reads with another value than 0: the largest elements of windows that exceed the array.
#include "codegen/standalone.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <limits>

namespace nestsmith {
namespace {

using test::expect_right;
using test::same_meaning;
using testing::HasSubstr;

constexpr double below_all = -std::numeric_limits<double>::infinity();

/// Y[i, j] = the largest element of the 3 x 3 window around X[2*i, 2*j]; `fill` counts outside of X.
Program max_pool(std::int64_t m, std::int64_t n, DType stored, double fill) {
  Workload w("max_pool");
  Tensor x = w.placeholder("X", {m, n}, stored);
  Reduce r = reduce_axis("r", 3), c = reduce_axis("c", 3);
  std::int64_t rows = (m + 1) / 2, columns = (n + 1) / 2;
  return w.output({w.compute("Y", {rows, columns}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr row = 2 * i + r - 1, column = 2 * j + c - 1;
    Expr inside = 0 <= row && row < m && 0 <= column && column < n;
    return reduce(Reducer::max, cast(arithmetic_type(stored), x.where_else(inside, fill, row, column)), {r, c});
  })});
}

/// 4 x 8 threads for each tile. With `shared`, the window of a tile is in shared memory.
Schedule in_tiles(const Program &program, bool shared) {
  Schedule s(program);
  BlockRef y = s.block("Y");
  auto [i_block, i_thread] = s.split<2>(s.loops(y)[0], {infer, 4});
  auto [j_block, j_thread] = s.split<2>(s.loops(y)[2], {infer, 8});
  s.reorder({i_block, j_block, i_thread, j_thread});
  Loop thread = s.fuse(i_thread, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  if (shared) {
    BlockRef tile = s.cache_read(y, "X", Scope::shared);
    s.compute_at(tile, j_block);
    std::vector<Loop> loops = s.loops_below(tile, j_block);
    s.bind(s.split<2>(s.fuse(loops[0], loops[1]), {infer, 32})[1], Axis::thread_x);
  }
  s.bind(thread, Axis::thread_x);
  return s;
}

TEST(Padding, AMaximumOfWindowsIsRight) {
  for (bool shared : {false, true})
    for (auto [m, n] : {std::pair(1, 1), std::pair(9, 17), std::pair(16, 31), std::pair(33, 5)})
      for (auto [stored, fill] : {std::pair(DType::f32, below_all), std::pair(DType::f16, below_all),
                                  std::pair(DType::i32, -2147483648.0), std::pair(DType::i8, -128.0)}) {
        SCOPED_TRACE(fmt::format("{}x{} {} {}", m, n, name(stored), shared));
        Schedule s = in_tiles(max_pool(m, n, stored, fill), shared);
        EXPECT_TRUE(same_meaning(s));
        expect_right(s);
      }
}

/// With zeros, windows of negative elements at the edges have another maximum: the reference must differ.
TEST(Padding, ACheckFindsZerosInThePlaceOfTheFill) {
  Program wanted = max_pool(16, 31, DType::i32, -2147483648.0), zeros = max_pool(16, 31, DType::i32, 0);
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    interpret(zeros, arrays, {});
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
}

TEST(Padding, IsInTextAndTraces) {
  Schedule s = in_tiles(max_pool(16, 31, DType::f32, below_all), true);
  EXPECT_THAT(print(s.program()), HasSubstr("else -inf"));
  std::string text = to_json(trace_file(s, {16, 31}, DType::f32));
  TraceFile file = parse_trace(text, "t.json");
  EXPECT_EQ(print(replay(file, *file.computation, {}, "t.json").program()), print(s.program()));
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source())), 0);
}

} // namespace
} // namespace nestsmith
