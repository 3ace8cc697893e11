/// Tests kernels that skip tiles on the simulator: the same bits as without skipping, also of infinities and
/// NaN, about half of the tiles, and barriers, asynchronous copies and pipelines below the condition.

#include "runtime/model/count.h"
#include "tests/causal.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"

#include <cmath>
#include <limits>

namespace nestsmith {
namespace {

using test::causal_product;
using test::CausalTiles;
using test::expect_right;

/// How the tiles of a causal product are copied.
enum class Copies : std::uint8_t { plain, doubled, async, async_3, partitioned };
constexpr Copies all_copies[] = {Copies::plain, Copies::doubled, Copies::async, Copies::async_3,
                                 Copies::partitioned};

CausalTiles causal(Copies copies, std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::f32) {
  CausalTiles t(causal_product(m, n, k, dtype));
  if (copies == Copies::async || copies == Copies::async_3)
    for (BlockRef tile : {t.A, t.B})
      t.s.async_copy(tile);
  if (copies == Copies::async_3)
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.C, 2, 2}});
  if (copies == Copies::doubled)
    t.s.double_buffer(t.k_outer);
  if (copies == Copies::partitioned)
    t.s.partition(t.k_outer);
  return t;
}

/// The output of the kernel, bit for bit.
std::vector<Scalar> result_of(const Schedule &s, const Array &a, const Array &b, std::int64_t m,
                              std::int64_t n) {
  Array in_a = a, in_b = b, c(a.dtype(), {m, n});
  const sim::Argument arguments[] = {{&in_a}, {&in_b}, {&c, false}};
  kernel::Plan plan = lower(s);
  sim::Result result = sim::run(plan.only(), arguments, {}, {});
  EXPECT_TRUE(result.good()) << result.diagnostics.front().message << "\n" << kernel::print(plan);
  std::vector<Scalar> all;
  for (std::int64_t at = 0; at < c.size(); ++at)
    all.push_back(c.at(at));
  return all;
}

class SkippedTiles : public testing::TestWithParam<Copies> {};

TEST_P(SkippedTiles, AreRightForEveryShape) {
  constexpr std::int64_t shapes[][3] = {{1, 1, 1},   {8, 8, 8},   {9, 7, 9},    {17, 9, 17}, {24, 16, 24},
                                        {23, 5, 31}, {31, 8, 13}, {40, 11, 40}, {7, 3, 40}};
  for (auto [m, n, k] : shapes) {
    CausalTiles t = causal(Copies::plain, m, n, k);
    bool some = true; // with one row of tiles, each step of which has a term, there is nothing to skip
    try {
      t = causal(GetParam(), m, n, k);
      t.s.skip_tiles(t.k_outer);
    } catch (const ScheduleError &error) {
      some = false;
      EXPECT_TRUE(error.requirement() == "skip_tiles.bounds" || error.requirement() == "partition.guarded")
          << error.what();
      EXPECT_LE(k, 8);
    }
    if (some)
      expect_right(t.s);
  }
}

/// Infinities and NaN in the rows of B that the mask excludes must not reach the result, and those in the
/// others must.
TEST_P(SkippedTiles, HaveTheSameBitsAsAllTiles) {
  const std::int64_t m = 21, n = 6, k = 26;
  Array a(DType::f32, {m, k}), b(DType::f32, {k, n});
  for (std::int64_t at = 0; at < a.size(); ++at)
    a.set(at, Scalar::from_double(DType::f32, static_cast<double>(at * 37 % 101) / 16 - 3));
  for (std::int64_t at = 0; at < b.size(); ++at)
    b.set(at, Scalar::from_double(DType::f32, static_cast<double>(at * 53 % 97) / 8 - 5));
  for (auto [row, value] : {std::pair<std::int64_t, double>{12, INFINITY}, {15, NAN}, {23, -INFINITY}})
    for (std::int64_t j = 0; j < n; ++j)
      b.set(row * n + j, Scalar::from_double(DType::f32, value));
  CausalTiles whole = causal(GetParam(), m, n, k), skipping = causal(GetParam(), m, n, k);
  skipping.s.skip_tiles(skipping.k_outer);
  std::vector<Scalar> expected = result_of(whole.s, a, b, m, n), got = result_of(skipping.s, a, b, m, n);
  EXPECT_EQ(got, expected);
  EXPECT_TRUE(std::isfinite(got[11 * n].to_double()) && !std::isfinite(got[12 * n].to_double()));
}

TEST_P(SkippedTiles, NeedEachBarrierForWhatItSays) {
  CausalTiles t = causal(GetParam(), 24, 8, 24, DType::u32);
  t.s.skip_tiles(t.k_outer);
  kernel::Kernel kernel = lower(t.s).only();
  EXPECT_GE(test::expect_certificates(t.s.source(), kernel), 1);
  bool waits = GetParam() == Copies::async || GetParam() == Copies::async_3;
  EXPECT_EQ(test::expect_wait_certificates(t.s.source(), kernel, false), waits ? 1 : 0);
}

/// The kernel with `change(condition)` in place of the condition of its tiles.
template <class Change> kernel::Stmt with_condition(const kernel::Stmt &stmt, const Change &change) {
  kernel::Stmt inner =
      kernel::map_children(stmt, [&](const kernel::Stmt &child) { return with_condition(child, change); });
  const auto *guard = kernel::as<kernel::If>(inner);
  if (!guard || guard->purpose.kind != kernel::Purpose::Kind::with_terms)
    return inner;
  kernel::If copy = *guard;
  copy.condition = change(copy.condition);
  return kernel::make(std::move(copy), inner->origin);
}

/// A check finds a condition that skips one tile too many, and gives the same bits for one that skips one less.
TEST_P(SkippedTiles, AreAllThatAreSkipped) {
  CausalTiles t = causal(GetParam(), 24, 8, 24);
  t.s.skip_tiles(t.k_outer);
  auto passes = [&](BinaryOp op, std::int64_t more) {
    kernel::Plan plan = lower(t.s);
    plan.kernels.front().body = with_condition(plan.only().body, [&](const Expr &condition) {
      const auto *below = condition.as<Binary>();
      return binary(op, below->a, below->b + int_imm(more, below->b.dtype()));
    });
    SimExecutor simulator;
    return check(t.s, plan, simulator).passed;
  };
  EXPECT_TRUE(passes(BinaryOp::le, 0));
  EXPECT_TRUE(passes(BinaryOp::le, 1));
  EXPECT_FALSE(passes(BinaryOp::lt, 0));
}

INSTANTIATE_TEST_SUITE_P(All, SkippedTiles, testing::ValuesIn(all_copies));

/// 16 rows of tiles, in steps of 4 of 128: row r needs the first 2*(r + 1) of 32 steps, so 272 of 512.
TEST(SkippedTilesOfACausalProduct, AreAboutHalf) {
  auto counted = [](bool skip) {
    CausalTiles t(causal_product(128, 16, 128));
    if (skip)
      t.s.skip_tiles(t.k_outer);
    return model::count(lower(t.s).only(), {});
  };
  model::Counters all = counted(false), some = counted(true);
  auto part = [](std::uint64_t whole) { return whole * 272 / 512; };
  for (bool stores : {false, true})
    EXPECT_EQ(some.total(Scope::shared, stores).requests, part(all.total(Scope::shared, stores).requests));
  EXPECT_EQ(some.total(Scope::global, false).requests, part(all.total(Scope::global, false).requests));
  EXPECT_EQ(some.total(Scope::global, true).requests, all.total(Scope::global, true).requests);
  EXPECT_EQ(some.divergent, all.divergent);
  EXPECT_LE(some.barriers.warps, part(all.barriers.warps) + 16 * 2 * 2 * 2);
}

TEST(SkippedTilesOfACausalProduct, AreBelowAUniformGuard) {
  CausalTiles t(causal_product(128, 16, 128));
  t.s.skip_tiles(t.k_outer);
  std::string text = kernel::print(lower(t.s));
  EXPECT_TRUE(text.find("if k_outer <= i_outer*2 + 1") != std::string::npos) << text;
}

/// A row maximum, whose mask is in the copy to shared memory, reduced by all threads of a block.
TEST(SkippedTiles, OfARowMaximumAcrossThreads) {
  Workload work("rows");
  Tensor x = work.placeholder("X", {20, 1000});
  Reduce k = reduce_axis("k", 1000);
  Tensor y = work.compute("Y", {20}, {"i"}, [&](Expr i) {
    return max_over(x.where_else(k <= i * 50, -std::numeric_limits<double>::infinity(), i, k), k);
  });
  Schedule s(work.output({y}));
  auto [i, whole] = s.loops<2>(s.block("Y"));
  auto [outer, inner] = s.split<2>(whole, {infer, 128});
  s.bind(i, Axis::block_x);
  s.reduce_across(inner, Axis::thread_x);
  s.skip_tiles(outer);
  expect_right(s);
}

} // namespace
} // namespace nestsmith
