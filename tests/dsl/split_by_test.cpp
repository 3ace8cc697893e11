/// Tests split_by: a number of parts that the launch chooses, the meaning at many sizes, and refusals.

#include "dsl/ir/specialise.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;

/// C = A*B for any M, N and K. The size D is one of no array.
Program product(const Size &part = {}) {
  Workload w("product");
  Expr M = w.size("M"), N = w.size("N"), K = w.size("K");
  w.size("D", part);
  Tensor a = w.placeholder("A", {M, K}, DType::u32), b = w.placeholder("B", {K, N}, DType::u32);
  Reduce r = reduce_axis("k", K);
  Tensor c = w.compute("S", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  Tensor y = w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return c(i, j) + 1; });
  return w.output({y});
}

/// The program after each directive computes the results of the source, for parts of one term, for a last part
/// that is full, partial, or the only one, and for parts that are longer than the sum.
void expect_same_meaning(const Schedule &schedule, std::int64_t unit) {
  for (const std::vector<std::int64_t> &sizes :
       std::vector<std::vector<std::int64_t>>{{1, 1, 1, unit},
                                              {3, 2, 4 * unit, unit},
                                              {3, 2, 4 * unit + 1, unit},
                                              {2, 3, 4 * unit - 1, 2 * unit},
                                              {2, 1, 3 * unit, 3 * unit},
                                              {1, 2, 7, 5 * unit}}) {
    EXPECT_TRUE(test::same_meaning(schedule, sizes));
  }
}

TEST(SplitBy, MakesPartsOfASizeThatTheLaunchChooses) {
  Schedule s(product());
  auto [i, j, k] = s.loops<3>(s.block("S"));
  s.split_by(k, "D");
  EXPECT_EQ("\n" + print(as<Seq>(s.program().body)->stmts[0]), R"(
for i < M:
  for j < N:
    for k_outer < (K - 1)//D + 1:
      for k_inner < D:
        block S(i = i, j = j, sum k = k_inner + k_outer*D) where k < K:
          init S[i, j] = 0
          S[i, j] = S[i, j] + A[i, k]*B[k, j]
)");
  EXPECT_EQ(to_cpp(s.trace().back()), "auto [k_outer, k_inner] = s.split_by<2>(k, \"D\");");
  expect_same_meaning(s, 1);
  s.split_by(i, "D");
  expect_same_meaning(s, 1);
}

/// As `split` and `rfactor` by a number.
TEST(SplitBy, GivesThePartsOfASum) {
  Schedule s(product({.multiple_of = 4}));
  auto [i, j, k] = s.loops<3>(s.block("S"));
  auto [part, rest] = s.split_by<2>(k, "D");
  auto [outer, inner] = s.split(rest, {infer, 4});
  EXPECT_EQ(to_string(find_loop(s.program().body, outer.var)->extent), "D//4") << "no partial tile";
  const BlockRef parts = s.rfactor(part);
  s.reorder({part, i, j, outer, inner});
  s.bind(part, Axis::block_z);
  const BlockRef tile = s.cache_read(parts, "A", Scope::shared);
  s.compute_at(tile, outer);
  EXPECT_TRUE(s.obligations().empty());
  expect_same_meaning(s, 4);
  const TraceFile file = parse_trace(to_json(trace_file(s, {1, 1, 1}, DType::u32)), "t");
  EXPECT_EQ(replay(file, product({.multiple_of = 4}), s.target(), "t").trace(), s.trace());
}

/// Each iteration is known by the values of the axes: other loops may be bound beside a sum, and the parts to
/// blocks and threads.
TEST(SplitBy, ConcealsNoIterationFromTheChecks) {
  Schedule s(product({.multiple_of = 4}));
  auto [i, j, k] = s.loops<3>(s.block("S"));
  s.bind(i, Axis::block_x);
  auto [part, rest] = s.split_by<2>(k, "D");
  s.split(rest, {infer, 4});
  EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
  expect_same_meaning(s, 4);
  Schedule of_rows(product({.multiple_of = 4}));
  auto [block, row] = of_rows.split_by<2>(of_rows.loop("i"), "D");
  auto [step, thread] = of_rows.split(row, {infer, 4});
  of_rows.bind(block, Axis::block_x);
  of_rows.bind(thread, Axis::thread_x);
  EXPECT_TRUE(of_rows.obligations().empty()) << of_rows.obligations().front().message;
  expect_same_meaning(of_rows, 4);
}

TEST(SplitBy, KeepsTheUsualValueInATrace) {
  Schedule s(product({.min = 8, .max = 512, .multiple_of = 4, .usual = 64}));
  const TraceFile file = parse_trace(to_json(trace_file(s, {1, 1, 1}, DType::u32)), "t");
  ASSERT_EQ(file.sizes.size(), 4U);
  EXPECT_EQ(file.sizes[3].second, (Size{.min = 8, .max = 512, .multiple_of = 4, .usual = 64}));
  EXPECT_EQ(file.sizes[0].second, Size{});
}

TEST(SplitBy, Refuses) {
  Schedule s(product());
  expect_refused(s, "split_by.size", [&] { s.split_by(s.loop("k"), "P"); },
                 "the computation declares no size 'P', but D; declare it, as in w.size(\"P\")", {});
  expect_refused(s, "split_by.size", [&] { s.split_by(s.loop("k"), "N"); },
                 "an array has the size 'N', which may be 0; declare a size that no array has", {});
  Schedule constant(test::gemm(4, 4, 4));
  expect_refused(constant, "split_by.size", [&] { constant.split_by(constant.loop("k"), "P"); },
                 "the computation declares no size 'P'; declare it", {});
  Schedule bound = s;
  bound.bind(bound.loop("i"), Axis::block_x);
  expect_refused(bound, "split_by.serial", [&] { bound.split_by(bound.loop("i"), "D"); }, "i", {"i"});
  // k_inner has iterations past the end of K, and the second split would run some of them twice.
  Schedule inner = s;
  inner.split_by(inner.loop("k"), "D");
  expect_refused(inner, "split_by.tail", [&] { inner.split_by(inner.loop("k_inner"), "D"); },
                 "the last part may be partial, and k_inner is not the outermost part of an axis of block S",
                 {"k_inner", "S"});
}

} // namespace
} // namespace nestsmith
