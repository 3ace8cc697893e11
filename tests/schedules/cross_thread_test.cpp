/// The cases of TVM's tests of reductions across threads
/// (test_s_tir_transform_lower_cross_thread_reduction.py), stated anew. A case that TVM refuses is refused
/// here, cannot be stated, or is right.
#include "codegen/cuda.h"
#include "dsl/expr/math.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <functional>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::rows;

/// Distributes the rows over thread blocks, and the reduction of a row over threads.
BlockRef rows_across(Schedule &s, const char *block, std::int64_t threads) {
  BlockRef reduced = s.block(block);
  s.bind(s.loops(reduced)[0], Axis::block_x);
  return s.reduce_across(s.split<2>(s.loops(reduced).back(), {infer, threads})[1], Axis::thread_x);
}

Schedule split_rows(Reducer reducer, std::int64_t m, std::int64_t n, std::int64_t threads) {
  Schedule s(rows(reducer, m, n));
  rows_across(s, "Y", threads);
  return s;
}

/// Both loops of a reduction are bound, each to an axis of its own: one loop over all threads.
Schedule two_bound_loops() {
  Schedule s(rows(Reducer::sum, 8, 128));
  s.bind(s.loop("i"), Axis::block_x);
  auto [y, x] = s.split<2>(s.loop("k"), {4, 32});
  s.reduce_across(s.fuse(y, x), Axis::thread_x);
  return s;
}

/// Another block below the loop of the reduction makes its terms.
Schedule blocks_below_the_reduction() {
  Workload w("below");
  Tensor x = w.placeholder("X", {9, 96});
  Reduce k = reduce_axis("k", 96);
  Tensor t = w.compute("T", {9, 96}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 2.0F; });
  Schedule s(w.output({w.compute("Y", {9}, {"i"}, [&](Expr i) { return sum(t(i, k), k); })}));
  BlockRef part = rows_across(s, "Y", 32);
  s.set_scope(s.block("T"), Scope::local);
  s.compute_at(s.block("T"), s.loops(part).back());
  return s;
}

/// A product whose operands are fetched to shared memory by the threads that share its sum.
Schedule fetched_to_shared_memory() {
  Schedule s(test::product(5, 6, 150, DType::f32));
  BlockRef C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  s.bind(i, Axis::block_y);
  s.bind(j, Axis::block_x);
  Loop step = s.split<2>(k, {infer, 64})[0];
  BlockRef part = s.reduce_across(s.loops(C).back(), Axis::thread_x);
  BlockRef copy = s.cache_read(part, "A", Scope::shared);
  s.compute_at(copy, step);
  s.bind(s.split<2>(s.loops(copy).back(), {infer, 64})[1], Axis::thread_x);
  return s;
}

/// The elements and the terms both end before their loops.
Schedule guards_of_elements_and_terms() {
  Schedule s(rows(Reducer::sum, 7, 45));
  auto [block, row] = s.split<2>(s.loop("i"), {infer, 4});
  s.bind(block, Axis::block_x);
  s.bind(row, Axis::thread_y);
  s.reduce_across(s.split<2>(s.loop("k"), {infer, 16})[1], Axis::thread_x);
  return s;
}

Schedule softmax_by_threads(std::int64_t columns, std::int64_t threads) {
  Workload w("softmax");
  Tensor x = w.placeholder("X", {6, columns});
  Reduce j = reduce_axis("j", columns), l = reduce_axis("l", columns);
  Tensor largest = w.compute("largest", {6}, {"i"}, [&](Expr i) { return max_over(x(i, j), j); });
  Tensor total = w.compute("total", {6}, {"i"}, [&](Expr i) { return sum(exp(x(i, l) - largest(i)), l); });
  Schedule s(w.output({w.compute("Y", {6, columns}, {"i", "k"}, [&](Expr i, Expr k) -> Definition {
    return exp(x(i, k) - largest(i)) / total(i);
  })}));
  Loop i = s.loops(s.block("largest"))[0];
  for (const char *reader : {"total", "Y"})
    s.reverse_compute_at(s.block(reader), i);
  for (const char *result : {"largest", "total"})
    s.set_scope(s.block(result), Scope::local);
  s.bind(i, Axis::block_x);
  for (const char *result : {"largest", "total"})
    s.reduce_across(s.split<2>(s.loops(s.block(result)).back(), {infer, threads})[1], Axis::thread_x);
  s.bind(s.split<2>(s.loops(s.block("Y")).back(), {infer, threads})[1], Axis::thread_x);
  return s;
}

Schedule index_of_extremum(bool max) {
  Workload w("extremum");
  Tensor x = w.placeholder("X", {5, 256});
  Reduce k = reduce_axis("k", 256);
  Tensor best = w.compute("best", {5}, {"i"},
                          [&](Expr i) { return max ? argmax_over(x(i, k), k) : argmin_over(x(i, k), k); });
  Schedule s(
      w.output({w.compute("Y", {5}, {"i"}, [&](Expr i) -> Definition { return part(best(i), "index"); })}));
  rows_across(s, "best", 64);
  s.bind(s.loops(s.block("Y"))[0], Axis::block_x);
  return s;
}

/// Each thread, or one thread, reads the result of all.
Schedule read_by(bool each_thread) {
  Schedule s(test::centered(6, 256));
  BlockRef T = s.block("T"), Y = s.block("Y");
  Loop i = s.loops(T)[0];
  s.reverse_compute_at(Y, i);
  s.set_scope(T, each_thread ? Scope::local : Scope::shared);
  s.bind(i, Axis::block_x);
  s.reduce_across(s.split<2>(s.loops(T).back(), {infer, 64})[1], Axis::thread_x);
  s.bind(s.split<2>(s.loops(Y).back(), {infer, 64})[1], Axis::thread_x);
  return s;
}

/// A sum and a sum of squares at once.
Schedule sums_of_a_tuple() {
  Workload w("moments");
  Reducer both =
      define_reducer("two_sums", tuple({{"sum", 0.0F}, {"squares", 0.0F}}), [](const Expr &a, const Expr &b) {
        return tuple(
            {{"sum", part(a, "sum") + part(b, "sum")}, {"squares", part(a, "squares") + part(b, "squares")}});
      });
  Tensor x = w.placeholder("X", {7, 300});
  Reduce k = reduce_axis("k", 300);
  Tensor sums = w.compute("sums", {7}, {"i"}, [&](Expr i) {
    return reduce(both, tuple({{"sum", x(i, k)}, {"squares", x(i, k) * x(i, k)}}), k);
  });
  Schedule s(w.output({w.compute("Y", {7}, {"i"}, [&](Expr i) -> Definition {
    return part(sums(i), "squares") - part(sums(i), "sum") * part(sums(i), "sum") / 300.0F;
  })}));
  rows_across(s, "sums", 96);
  s.bind(s.loops(s.block("Y"))[0], Axis::block_x);
  return s;
}

struct CrossThreadCase {
  const char *name;
  std::function<Schedule()> schedule;
};
const std::vector<CrossThreadCase> cross_thread_cases = {
    {"loop_split", [] { return split_rows(Reducer::sum, 128, 128, 32); }},
    {"no_normal_reduction", [] { return split_rows(Reducer::sum, 16, 128, 128); }},
    {"two_bound_loops", two_bound_loops},
    {"multiple_blocks_under_reduction_loop", blocks_below_the_reduction},
    {"with_block_predicate", [] { return split_rows(Reducer::sum, 16, 120, 32); }},
    {"spatial_reduction_with_shared_prefetch", fetched_to_shared_memory},
    {"single_reduction_loop_with_block_predicate", [] { return softmax_by_threads(250, 512); }},
    {"spatial_reduction_loop_predicate", guards_of_elements_and_terms},
    {"reducer_max", [] { return split_rows(Reducer::max, 16, 128, 32); }},
    {"zero_rank_buffer", [] { return split_rows(Reducer::sum, 1, 128, 128); }},
    {"softmax", [] { return softmax_by_threads(256, 32); }},
    {"argmax_split", [] { return index_of_extremum(true); }},
    {"argmin_split_init_update_reordered", [] { return index_of_extremum(false); }},
    {"thread_broadcast_1", [] { return read_by(true); }},
    {"thread_broadcast_2", [] { return read_by(false); }},
    {"layer_norm_tuple_sum", sums_of_a_tuple},
};

class CrossThread : public testing::TestWithParam<CrossThreadCase> {};
INSTANTIATE_TEST_SUITE_P(Tvm, CrossThread, testing::ValuesIn(cross_thread_cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(CrossThread, IsRight) {
  Schedule s = GetParam().schedule();
  ASSERT_EQ(test::owed(s), "") << print(s.program());
  test::expect_right(s);
}

/// TVM refuses a reduction on a block axis. `bind` does, too, and `reduce_across` does it.
TEST(CrossThreadRefuses, AReductionOnABlockAxis) {
  Schedule s(rows(Reducer::sum, 16, 128));
  s.bind(s.loop("i"), Axis::block_x);
  EXPECT_THAT([&] { s.bind(s.loop("k"), Axis::block_y); },
              testing::ThrowsMessage<ScheduleError>(testing::HasSubstr("block Y reduces over k")));
  s.reduce_across(s.split<2>(s.loop("k"), {4, infer})[0], Axis::block_y);
  test::expect_right(s);
}

/// TVM recognizes a reducer by its form; a difference has none, and here breaks the laws.
TEST(CrossThreadRefuses, AnInvalidReducer) {
  EXPECT_THAT([] { define_reducer("minus", constant(DType::f32, 0), std::minus<Expr>()); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("the reducer 'minus'")));
}

/// A loop inside of the loop on threads, over other elements, was not the deepest: TVM refuses it. Here each
/// thread makes a partial result of each element.
TEST(CrossThreadCases, OfALoopThatIsNotTheDeepest) {
  Schedule s(test::product(4, 8, 96));
  auto [i, j, k] = s.loops<3>(s.block("C"));
  s.bind(i, Axis::block_x);
  s.reorder({k, j});
  s.reduce_across(s.split<2>(k, {infer, 32})[1], Axis::thread_x);
  ASSERT_EQ(test::owed(s), "") << print(s.program());
  test::expect_right(s);
}

} // namespace
} // namespace nestsmith
