/// Tests reductions across the threads of a block: by shuffles within a warp, and through shared memory.
#include "codegen/emit.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <set>

namespace nestsmith {
namespace {

using test::expect_right;
using test::rows;
using test::same_meaning;
using testing::HasSubstr;

struct ThreadGroup {
  const char *name;
  Axis axis;
  std::int64_t threads;
  Axis rows = Axis::block_x; ///< the axis of the rows of a block
  std::int64_t rows_per_block = 1;
};
constexpr ThreadGroup groups[] = {
    {"a warp", Axis::lane, 32},
    {"each of 4 warps", Axis::lane, 32, Axis::warp, 4},
    {"3 warps", Axis::thread_x, 96},
    {"32 threads", Axis::thread_x, 32},
    {"6 threads", Axis::thread_x, 6, Axis::thread_y, 5},
    {"a column of 8", Axis::thread_y, 8, Axis::thread_x, 16},
    {"a column of 2", Axis::thread_z, 2, Axis::thread_x, 3},
    {"2 warps", Axis::warp, 2, Axis::lane, 32},
    {"one thread", Axis::thread_x, 1},
};

/// Distributes the rows over blocks, and the reduction of each row over the threads of the group.
BlockRef across(Schedule &s, const ThreadGroup &group) {
  BlockRef y = s.block("Y");
  Loop i = s.loops(y)[0];
  if (group.rows == Axis::block_x) {
    s.bind(i, Axis::block_x);
  } else {
    auto [block, row] = s.split<2>(i, {infer, group.rows_per_block});
    s.bind(block, Axis::block_x);
    s.bind(row, group.rows);
  }
  auto [step, thread] = s.split<2>(s.loops(y).back(), {infer, group.threads});
  return s.reduce_across(thread, group.axis);
}

TEST(ReduceAcross, IsRightForEachGroupOfThreads) {
  for (const ThreadGroup &group : groups)
    for (Reducer reducer : reducers)
      for (auto [m, n] : {std::pair(1, 1), std::pair(7, 200), std::pair(9, 31), std::pair(4, 96)}) {
        SCOPED_TRACE(fmt::format("{}, {} of {}x{}", group.name, name(reducer), m, n));
        DType dtype = reducer == Reducer::product ? DType::u32 : DType::f32;
        Schedule s(rows(reducer, m, n, dtype));
        across(s, group);
        EXPECT_TRUE(same_meaning(s));
        expect_right(s);
      }
}

TEST(ReduceAcross, IsRightForIntegers) {
  for (DType dtype : {DType::i32, DType::u32})
    for (Reducer reducer : reducers) {
      Schedule s(rows(reducer, 5, 77, dtype));
      across(s, groups[2]);
      expect_right(s);
    }
}

/// Each thread reads each result, so each has a copy: the rows less their maximum.
TEST(ReduceAcross, AResultInRegistersIsInEachThread) {
  for (const ThreadGroup &group : groups) {
    if (group.rows != Axis::block_x)
      continue;
    SCOPED_TRACE(group.name);
    Workload w("less_maximum");
    Tensor x = w.placeholder("X", {5, 201});
    Reduce k = reduce_axis("k", 201);
    Tensor m = w.compute("M", {5}, {"i"}, [&](Expr i) { return max_over(x(i, k), k); });
    Tensor y = w.compute("Y", {5, 201}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) - m(i); });
    Schedule s(w.output({y}));
    BlockRef maximum = s.block("M"), result = s.block("Y");
    auto [i, row] = s.loops<2>(maximum);
    s.bind(i, Axis::block_x);
    s.set_scope(maximum, Scope::local);
    s.reduce_across(s.split<2>(row, {infer, group.threads})[1], group.axis);
    s.reverse_compute_at(result, i);
    s.bind(s.split<2>(s.loops_below(result, i).back(), {infer, group.threads})[1], group.axis);
    EXPECT_TRUE(same_meaning(s));
    expect_right(s);
  }
}

/// Two results in a thread, of loops inside of the reduction.
TEST(ReduceAcross, SeveralResultsOfAThread) {
  for (const ThreadGroup &group : {groups[0], groups[2], groups[5]}) {
    SCOPED_TRACE(group.name);
    for (std::int64_t m : {8, 7}) {
      Schedule s(rows(Reducer::max, m, 130));
      auto [i, k] = s.loops<2>(s.block("Y"));
      auto [block, inner] = s.split<2>(i, {infer, 2});
      s.reorder({block, k, inner});
      s.bind(block, Axis::block_x);
      s.reduce_across(s.split<2>(k, {infer, group.threads})[1], group.axis);
      EXPECT_TRUE(same_meaning(s));
      expect_right(s);
    }
  }
}

/// The reduction may go on inside of the loop, and outside of it.
TEST(ReduceAcross, ThePartsMayBeLoopsThemselves) {
  Schedule s(rows(Reducer::sum, 3, 1000));
  auto [i, k] = s.loops<2>(s.block("Y"));
  s.bind(i, Axis::block_x);
  Loop thread = s.split<3>(k, {infer, 64, 4})[1], element = s.loops(s.block("Y")).back();
  BlockRef parts = s.reduce_across(thread, Axis::thread_x);
  s.unroll(element);
  BlockRef copy = s.cache_read(parts, "X", Scope::local);
  Loop lane = s.loops(parts)[3];
  s.compute_at(copy, lane);
  s.vectorize(s.loops_below(copy, lane).back());
  expect_right(s);
}

/// The threads of one row use the scratch memory again for the next row: a barrier is between them.
TEST(ReduceAcross, TheScratchMemoryIsUsedAgainInALoop) {
  Schedule s(rows(Reducer::sum, 12, 100));
  auto [i, k] = s.loops<2>(s.block("Y"));
  auto [block, row] = s.split<2>(i, {infer, 4});
  s.bind(block, Axis::block_x);
  s.reduce_across(s.split<2>(k, {infer, 64})[1], Axis::thread_x);
  EXPECT_TRUE(same_meaning(s));
  expect_right(s);
}

/// In a pipelined loop, too: the scratch is read before the barrier of the next step, and written after it.
TEST(ReduceAcross, TheScratchMemoryIsUsedAgainInAPipelinedLoop) {
  Schedule s(rows(Reducer::sum, 12, 128));
  auto [i, k] = s.loops<2>(s.block("Y"));
  auto [block, row] = s.split<2>(i, {infer, 4});
  s.bind(block, Axis::block_x);
  BlockRef part = s.reduce_across(s.split<2>(k, {infer, 64})[1], Axis::thread_x);
  BlockRef copy = s.cache_read(part, "X", Scope::shared);
  s.compute_at(copy, row);
  s.bind(s.split<2>(s.loops(copy).back(), {infer, 64})[1], Axis::thread_x);
  s.double_buffer(row);
  EXPECT_TRUE(same_meaning(s));
  expect_right(s);
  std::string text = emit(EmitInfo{}, lower(s));
  EXPECT_THAT(text, HasSubstr("X_shared[2 * "));
  EXPECT_THAT(text, HasSubstr("overwritten by the next"));
}

/// A guard that all lanes of a warp agree on is around the call: 7 rows for groups of 4 warps.
TEST(ReduceAcross, AWarpWithoutARowDoesNotCall) {
  Schedule s(rows(Reducer::max, 7, 64));
  across(s, groups[1]);
  EXPECT_THAT(emit(EmitInfo{}, lower(s)), HasSubstr("  if (i < 7) {  // tail of i\n"
                                                    "    Y_warp[0] = __int_as_float(0xff800000);\n"
                                                    "    warp_max(&Y_lane[0], &Y_warp[0]);\n"
                                                    "    if (lane < 1) {  // tail of lane\n"));
  expect_right(s);
}

/// A block of warps has two stores that one thread executes, each in a loop of its own name.
TEST(ReduceAcross, EachLoopHasANameOfItsOwn) {
  Schedule s(rows(Reducer::max, 5, 200));
  across(s, groups[2]);
  std::set<std::string> names;
  walk(s.program().body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    EXPECT_TRUE(!loop || names.insert(loop->var->name).second) << loop->var->name;
    return true;
  });
  EXPECT_TRUE(names.contains("Y_thread") && names.contains("Y_thread_1"));
}

TEST(ReduceAcross, IsOneDirectiveOfATrace) {
  Schedule s(rows(Reducer::min, 5, 70));
  across(s, groups[2]);
  EXPECT_EQ(s.trace().back().op, "reduce_across");
  EXPECT_EQ(s.trace().back().results, std::vector<std::string>{"Y_lane"});
  std::string text = to_json(trace_file(s, {5, 70}, DType::f32));
  TraceFile file = parse_trace(text, "t.json");
  EXPECT_EQ(print(replay(file, *file.computation, {}, "t.json").program()), print(s.program()));
  Schedule chosen(rows(Reducer::min, 5, 70));
  Loop lane = chosen.split<2>(chosen.loop("k"), {infer, 32})[1];
  chosen.reduce_across(lane, Axis::lane, named("partial"));
  EXPECT_THAT(print(chosen.program()), HasSubstr("warp partial: f32[32, 5]"));
}

} // namespace
} // namespace nestsmith
