/// Tests arrays with gaps between their rows.

#include "runtime/check/stored_array.h"

#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

/// Y = X + 1 over M x N elements, with leading dimensions.
Program increment() {
  Workload w("increment");
  Expr M = w.size("M"), N = w.size("N"), ldx = w.size("ldx", {.multiple_of = 4}), ldy = w.size("ldy");
  Tensor x = w.placeholder("X", {M, N}, DType::u32, {.leading = ldx});
  Tensor y = w.compute("Y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  return w.output({{y, {.leading = ldy}}});
}

TEST(StoredArray, SpreadsAndGathersRows) {
  auto strides = std::make_shared<const std::vector<Expr>>(std::vector<Expr>{10, 5, 1});
  Buffer buffer = std::make_shared<const BufferNode>(
      BufferNode{"X", DType::u32, {2, 2, 3}, Scope::global, Role::input, nullptr, strides});
  StoredArray stored(buffer);
  EXPECT_TRUE(stored.has_gaps());
  Array array(DType::u32, {2, 2, 3});
  for (std::int64_t n = 0; n < 12; ++n)
    array.set(n, Scalar::of(DType::u32, static_cast<std::uint32_t>(n)));
  Array memory = stored.spread(array, 99);
  std::vector<std::uint32_t> expected = {0, 1, 2, 99, 99, 3, 4, 5, 99, 99, 6, 7, 8, 99, 99, 9, 10, 11};
  auto view = memory.view<std::uint32_t>();
  EXPECT_EQ(std::vector<std::uint32_t>(view.begin(), view.end()), expected);
  EXPECT_EQ(stored.gather(memory), array);
  for (std::int64_t n = 0; n < memory.size(); ++n)
    EXPECT_EQ(stored.is_element(n), view[static_cast<std::size_t>(n)] != 99) << n;
}

TEST(StoredArray, LeadingDimensionsFollowFromTheExtents) {
  Program program = increment();
  std::vector<std::int64_t> extents = {3, 6};
  EXPECT_EQ(sizes_for(program, extents, 0), (std::vector<std::int64_t>{3, 6, 8, 6}));
  EXPECT_EQ(sizes_for(program, extents, 3), (std::vector<std::int64_t>{3, 6, 12, 9}));
}

/// ldb is the leading dimension of Z and the length of a row of X. A read determines the extent L.
TEST(StoredArray, SizesFollowFromOtherSizes) {
  Workload w("chain");
  Expr M = w.size("M"), N = w.size("N"), lda = w.size("lda"), ldb = w.size("ldb"),
       L = w.size("L", {.multiple_of = 4});
  Tensor x = w.placeholder("X", {M, ldb}, DType::u32, {.leading = lda});
  Tensor z = w.placeholder("Z", {M, N}, DType::u32, {.leading = ldb}), v = w.placeholder("V", {L}, DType::u32);
  Tensor y = w.compute("Y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + z(i, j) + v(i + j); });
  Schedule s(w.output({y}));
  std::vector<std::int64_t> extents = {5, 7};
  for (auto [gap, expected] :
       {std::pair(0, std::vector<std::int64_t>{5, 7, 7, 7, 12}), {3, {5, 7, 13, 10, 12}}}) {
    EXPECT_EQ(sizes_for(s.source(), extents, gap), expected);
    kernel::Plan plan = with_sizes(lower(s), expected);
    SimExecutor simulator;
    EXPECT_TRUE(check(s, plan, simulator).passed);
  }
}

Schedule scheduled() {
  Schedule s(increment());
  s.bind(s.loop("i"), Axis::block_y);
  auto [block, thread] = s.split(s.loop("j"), {infer, 4});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

TEST(Check, OfRowsApartPasses) {
  Schedule s = scheduled();
  SimExecutor simulator;
  kernel::Plan plan = with_sizes(lower(s), std::vector<std::int64_t>{3, 6, 12, 9});
  EXPECT_TRUE(check(s, plan, simulator).passed);
}

/// The kernel uses the leading dimension of X for Y. The check must fail.
TEST(Check, FindsALostLeadingDimension) {
  Schedule s = scheduled();
  SimExecutor simulator;
  kernel::Plan plan = lower(s);
  std::swap(plan.kernels[0].sizes[2].var, plan.kernels[0].sizes[3].var);
  CheckResult result = check(s, with_sizes(plan, std::vector<std::int64_t>{3, 6, 12, 9}), simulator);
  EXPECT_FALSE(result.passed);
  bool between = false;
  for (const std::string &message : result.messages())
    between = between || message.find("Y was written in the gap between its rows") != std::string::npos;
  EXPECT_TRUE(between);
}

} // namespace
} // namespace nestsmith
