/// Tests how `library` shares the terms of reductions that are no products among threads and thread blocks.

#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/library/program.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace nestsmith {
namespace {

using Indices = const std::vector<Expr> &;

/// Y[...] = sum over the reduction axes of a term.
struct Stated {
  Tensor in(const std::vector<Expr> &shape, DType dtype = DType::f32) {
    return w.placeholder(std::string(1, static_cast<char>('A' + inputs++)), shape, dtype);
  }
  Program sum_of(const std::vector<Expr> &shape, const std::vector<Reduce> &axes,
                 const std::function<Expr(Indices)> &term) {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < shape.size(); ++n)
      names.push_back(std::string("y") + static_cast<char>('0' + n));
    return w.output(
        {w.compute("Y", shape, names, [&](Indices at) -> Definition { return sum(term(at), axes); })});
  }

  Workload w = Workload("reduction");
  int inputs = 0;
};

std::int64_t blocks_of(const kernel::Plan &plan) {
  const auto [x, y, z] = plan.kernels.at(0).grid();
  return x * y * z;
}

bool shares_terms(const Schedule &s) {
  return std::ranges::any_of(s.trace(), [](const Directive &d) { return d.op == "reduce_across"; });
}

void expect_right(const Schedule &s, const std::vector<std::int64_t> &sizes = {}) {
  ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
  kernel::Plan plan = lower(s);
  if (!sizes.empty())
    plan = with_sizes(plan, sizes_for(s.source(), sizes, 0));
  SimExecutor simulator;
  const CheckResult result = check(s, plan, simulator);
  EXPECT_TRUE(result.passed) << (result.messages().empty() ? "" : result.messages().front());
}

TEST(LibraryReduction, OfAFewTermsIsThatOfAThread) {
  Stated pool; // 3x3 of each channel, with stride 2
  Tensor x = pool.in({2, 19, 19, 32});
  Reduce r = reduce_axis("r", 3), c = reduce_axis("c", 3);
  const Schedule of_channels = library::schedule(
      pool.sum_of({2, 9, 9, 32}, {r, c}, [&](Indices y) { return x(y[0], y[1] * 2 + r, y[2] * 2 + c, y[3]); }));
  EXPECT_FALSE(shares_terms(of_channels));
  expect_right(of_channels);

  Stated rows;
  Tensor a = rows.in({300, 5});
  Reduce k = reduce_axis("k", 5);
  const Schedule of_rows = library::schedule(rows.sum_of({300}, {k}, [&](Indices y) { return a(y[0], k); }));
  EXPECT_FALSE(shares_terms(of_rows));
  expect_right(of_rows);
}

TEST(LibraryReduction, OfSeveralAxesHasManyBlocks) {
  for (std::int64_t images : {1, 4}) {
    Stated p;
    Tensor x = p.in({images, 3, 60, 31});
    Reduce c = reduce_axis("c", 3), h = reduce_axis("h", 60), v = reduce_axis("v", 31);
    const Schedule s =
        library::schedule(p.sum_of({images}, {c, h, v}, [&](Indices y) { return x(y[0], c, h, v); }));
    EXPECT_GT(blocks_of(lower(s)), 1);
    expect_right(s);
  }
}

TEST(LibraryReduction, WithoutNeighboursIsShared) {
  Stated gather;
  Tensor x = gather.in({1000}), index = gather.in({5000}, DType::i32);
  Reduce k = reduce_axis("k", 5000);
  const Schedule s = library::schedule(gather.sum_of({1}, {k}, [&](Indices) {
    const Expr at = index(k);
    return x.where(0 <= at && at < 1000, at);
  }));
  EXPECT_TRUE(shares_terms(s));
  EXPECT_GT(blocks_of(lower(s)), 1);
  expect_right(s);
}

/// The parts of a sum are along blockIdx.x, which has more values than the other axes.
TEST(LibraryReduction, OfSizesHasAnyNumberOfParts) {
  Stated p;
  Expr m = p.w.size("M", {.max = 1 << 30});
  Tensor x = p.in({m, 64});
  Reduce k = reduce_axis("k", m);
  const Schedule s = library::schedule(p.sum_of({64}, {k}, [&](Indices y) { return x(k, y[0]); }));
  const std::array<Expr, 3> grid = lower(s).kernels.at(0).grid_exprs();
  EXPECT_FALSE(as_int(grid[0]));
  EXPECT_EQ(as_int(grid[1]), 2);
  expect_right(s, {77});
}

TEST(LibraryFallback, KeepsTheSumInARegisterForAxesOfSizes) {
  Stated p;
  Expr h = p.w.size("H", {.max = 4096}), v = p.w.size("V", {.max = 4096});
  Tensor x = p.in({h + 2, v + 2});
  Reduce r = reduce_axis("r", 3), c = reduce_axis("c", 3);
  const Schedule s =
      library::schedule(p.sum_of({h, v}, {r, c}, [&](Indices y) { return x(y[0] + r, y[1] + c); }));
  EXPECT_TRUE(std::ranges::any_of(s.trace(), [](const Directive &d) { return d.op == "cache_write"; }));
  expect_right(s, {5, 33});
}

TEST(LibrarySchedule, OfRowsIsOneKernel) {
  for (const char *name : {"softmax", "layernorm", "rmsnorm"})
    for (const auto &[rows, columns, kernels] :
         {std::tuple<std::int64_t, std::int64_t, std::size_t>{5, 33, 1}, {7, 1000, 1}, {3, 31, 2}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}", name, rows, columns));
      const Schedule s = library::schedule(find_workload(name, {rows, columns}, DType::f32).value());
      const std::size_t made = lower(s).kernels.size();
      EXPECT_EQ(std::min<std::size_t>(made, 2), kernels);
      expect_right(s);
    }
}

/// Its columns are no rows, though the extents are the same.
TEST(LibrarySchedule, OfColumnsOfASquare) {
  Workload w("columns");
  Tensor x = w.placeholder("X", {64, 64});
  Reduce k = reduce_axis("k", 64);
  Tensor m = w.compute("M", {64}, {"j"}, [&](Expr j) { return max_over(x(k, j), k); });
  const Schedule s = library::schedule(
      w.output({w.compute("Y", {64, 64}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) - m(j); })}));
  EXPECT_EQ(lower(s).kernels.size(), 2U);
  expect_right(s);
}

/// A row that is read again for each column is no transpose.
TEST(LibrarySchedule, OfABroadcast) {
  Workload w("broadcast");
  Tensor x = w.placeholder("X", {40});
  const Program program =
      w.output({w.compute("Y", {40, 33}, {"i", "j"}, [&](Expr i, Expr) { return x(i) + 1; })});
  Schedule s(program);
  test::expect_user_error([&] { library::transpose(s, s.block("Y")); }, ExitCode::illegal_schedule,
                          "does not read one buffer along another axis than it writes along");
  expect_right(library::schedule(program));
}

/// The ranges of nested quotients by sizes are computed once.
TEST(LibrarySchedule, OfFiveAxesOfSizes) {
  Workload w("sizes");
  std::vector<Expr> shape;
  for (const char *name : {"P", "Q", "R", "S", "T"})
    shape.push_back(w.size(name, {.max = 1000}));
  Tensor x = w.placeholder("X", shape);
  const Schedule s = library::schedule(
      w.output({w.compute("Y", shape, {"a", "b", "c", "d", "e"},
                          [&](Indices at) -> Definition { return load(x.buffer(), at) + 1; })}));
  expect_right(s, {2, 3, 1, 5, 7});
}

TEST(TensorRefuses, AnArgmaxOfAStorageType) {
  Workload w("argmax");
  Tensor x = w.placeholder("X", {8}, DType::i8), y = w.placeholder("Z", {8}, DType::f16);
  Reduce k = reduce_axis("k", 8);
  test::expect_user_error([&] { argmax_over(x(k), k); }, ExitCode::usage,
                          "argmax_over takes numbers with arithmetic, got i8; convert the operand with "
                          "cast(DType::i32, …)");
  test::expect_user_error([&] { argmin_over(y(k), k); }, ExitCode::usage,
                          "argmin_over takes numbers with arithmetic, got f16; convert the operand with "
                          "cast(DType::f32, …)");
}

} // namespace
} // namespace nestsmith
