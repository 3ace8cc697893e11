/// Tests reducers that are not commutative in the simulator, in emitted text and in traces.
#include "codegen/standalone.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/affine_rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::affine_planes;
using test::affine_rows;
using test::expect_refused;
using test::expect_right;
using test::expect_user_error;
using test::same_meaning;
using testing::HasSubstr;

/// Each thread combines a contiguous range of a row.
Schedule ranges_across(std::int64_t m, std::int64_t n, Axis axis, std::int64_t threads, Scope scope) {
  Schedule s(affine_rows(m, n));
  BlockRef all = s.block("all");
  Loop row = s.loops(all)[0];
  s.bind(row, Axis::block_x);
  s.set_scope(all, scope);
  std::int64_t length = (n + threads - 1) / threads;
  s.reduce_across(s.split<2>(s.loops(all).back(), {threads, length})[0], axis);
  s.reverse_compute_at(s.block("Y"), row);
  s.bind(s.split<2>(s.loops(s.block("Y")).back(), {infer, threads})[1], axis);
  return s;
}

TEST(OrderedReducers, CombineRangesOfThreads) {
  for (auto [axis, threads] : {std::pair(Axis::thread_x, 64), std::pair(Axis::thread_x, 5),
                               std::pair(Axis::lane, 32), std::pair(Axis::thread_y, 32)})
    for (Scope scope : {Scope::local, Scope::shared})
      for (auto [m, n] : {std::pair(5, 130), std::pair(3, 64), std::pair(2, 1), std::pair(4, 31)}) {
        SCOPED_TRACE(fmt::format("{} {} {}x{}", name(axis), threads, m, n));
        Schedule s = ranges_across(m, n, axis, threads, scope);
        EXPECT_TRUE(same_meaning(s));
        expect_right(s);
      }
}

/// The last block combines the ranges of the blocks in their order, although they arrive in another one.
TEST(OrderedReducers, CombineRangesOfBlocks) {
  for (auto [m, n] : {std::pair(3, 130), std::pair(2, 1), std::pair(4, 31)}) {
    Schedule s(affine_rows(m, n));
    BlockRef all = s.block("all");
    s.bind(s.loops(all)[0], Axis::block_y);
    Loop row = s.loops(all)[0], part = s.split<2>(s.loops(all).back(), {4, infer})[0];
    s.rfactor(part);
    s.bind(part, Axis::block_x);
    s.reverse_compute_at(all, row);
    s.last_block(part);
    EXPECT_TRUE(same_meaning(s));
    expect_right(s);
  }
}

TEST(OrderedReducers, RefuseInterleavedThreadsAndShuffles) {
  Schedule s(affine_rows(5, 128));
  BlockRef all = s.block("all");
  s.bind(s.loops(all)[0], Axis::block_x);
  s.set_scope(all, Scope::shared);
  auto [outer, lane] = s.split<2>(s.loops(all).back(), {infer, 32});
  expect_refused(s, "reduce_across.sum", [&, lane = lane] { s.reduce_across(lane, Axis::lane); },
                 "the terms of one iteration of k_inner are no contiguous range", {});
  s.rfactor(outer);
  expect_refused(s, "tensorize.known", [&] { s.tensorize(s.loops(all).back(), "warp_composed"); },
                 "warp_composed", {});
}

TEST(OrderedReducers, InTheTextKeepTheirOrder) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  Schedule s = ranges_across(5, 130, Axis::thread_x, 64, Scope::shared);
  for (const std::string &problem : differences_on_host({{"ranges", s, lower(s)}}))
    ADD_FAILURE() << problem;
  Schedule alone(affine_planes(4, 6, 10));
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(alone), alone.source())), 0);
}

/// A kernel that combines the terms in another order gives other results, which a check finds.
TEST(OrderedReducers, ACheckFindsAnotherOrder) {
  Program wanted = affine_planes(8, 5, 6);
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    Workload w("exchanged");
    Tensor x = w.placeholder("X", {8, 5, 6}, DType::u32);
    Reduce k = reduce_axis("k", 5), l = reduce_axis("l", 6);
    Tensor all = w.compute("all", {8}, {"i"}, [&](Expr i) {
      Expr term = tuple({{"scale", x(i, k, l)}, {"shift", cast(DType::u32, k + 3 * l)}});
      return reduce(test::composed(), term, {l, k});
    });
    interpret(w.output({w.compute(
                  "Y", {8}, {"i"},
                  [&](Expr i) -> Definition { return part(all(i), "scale") + part(all(i), "shift"); })}),
              arrays, {});
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
}

TEST(OrderedReducers, AreInTraces) {
  Schedule s = ranges_across(5, 130, Axis::thread_x, 64, Scope::shared);
  std::string text = to_json(trace_file(s, {5, 130}, DType::u32));
  EXPECT_THAT(text, HasSubstr("\"commutative\":false"));
  TraceFile file = parse_trace(text, "t.json");
  EXPECT_EQ(to_json(file), text);
  EXPECT_EQ(print(replay(file, *file.computation, {}, "t.json").program()), print(s.program()));
  auto changed = [&](const std::string &value) {
    std::string other = text;
    other.replace(other.find("\"commutative\":false"), 19, "\"commutative\":" + value);
    other.replace(other.find("\"name\":\"composed\""), 17, "\"name\":\"declared\"");
    return other;
  };
  expect_user_error([&] { parse_trace(changed("true"), "t.json"); }, ExitCode::usage,
                    "the reducer 'declared' is not commutative");
  expect_user_error([&] { parse_trace(changed("1"), "t.json"); }, ExitCode::usage,
                    "'commutative' of the reducer of the stage 'all' is neither true nor false");
}

} // namespace
} // namespace nestsmith
