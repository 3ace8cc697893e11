/// Tests stages that reduce by a product, a maximum or a minimum: through all directives that take a reduction
/// apart, in the simulator, in traces, and with kernels that are wrong.
#include "codegen/standalone.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/ir/workload_info.h"
#include "dsl/schedule/trace.h"
#include "runtime/check/blame.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using test::expect_refused;
using test::expect_right;
using test::expect_user_error;
using test::rows;
using test::same_meaning;
using testing::HasSubstr;
using testing::Not;

/// Rows of a block of threads, with the reduction in parts: tails in both loops.
Loop in_threads(Schedule &s) {
  auto [block, thread] = s.split<2>(s.loop("i"), {infer, 32});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return thread;
}

struct NamedSchedule {
  const char *name;
  std::function<void(Schedule &)> schedule;
};
const std::vector<NamedSchedule> &schedules_of_rows() {
  static const std::vector<NamedSchedule> table = {
      {"unscheduled", [](Schedule &) {}},
      {"threads", in_threads},
      {"split",
       [](Schedule &s) {
         in_threads(s);
         auto [outer, inner] = s.split<2>(s.loop("k"), {infer, 4});
         (void)outer;
         s.unroll(inner);
       }},
      {"shared_tile",
       [](Schedule &s) {
         in_threads(s);
         auto [outer, inner] = s.split<2>(s.loop("k"), {infer, 8});
         (void)inner;
         BlockRef tile = s.cache_read(s.block("Y"), "X", Scope::shared);
         s.compute_at(tile, outer);
         std::vector<Loop> loops = s.loops(tile);
         auto [step, lane] = s.split<2>(s.fuse(loops[loops.size() - 2], loops.back()), {infer, 32});
         (void)step;
         s.bind(lane, Axis::thread_x);
         s.decompose_reduction(s.block("Y"), outer);
       }},
      {"parts",
       [](Schedule &s) {
         auto [part, inner] = s.split<2>(s.loop("k"), {infer, 8});
         (void)inner;
         s.rfactor(part);
         in_threads(s);
       }},
      {"interleaved_parts",
       [](Schedule &s) {
         auto [outer, lane] = s.split<2>(s.loop("k"), {infer, 4});
         s.reorder({lane, outer});
         s.rfactor(lane);
         in_threads(s);
       }},
      {"registers",
       [](Schedule &s) {
         Loop thread = in_threads(s);
         s.reverse_compute_at(s.cache_write(s.block("Y"), Scope::local), thread);
       }},
  };
  return table;
}

TEST(Reducers, AreRightInEverySchedule) {
  for (Reducer reducer : reducers)
    for (DType dtype : {DType::f32, DType::u32, DType::i32})
      for (auto [m, n] : {std::pair(1, 1), std::pair(37, 13), std::pair(33, 8), std::pair(5, 31)})
        for (const NamedSchedule &each : schedules_of_rows()) {
          SCOPED_TRACE(fmt::format("{} {} {}x{} {}", name(reducer), name(dtype), m, n, each.name));
          Schedule s(rows(reducer, m, n, dtype));
          each.schedule(s);
          if (reducer != Reducer::product || dtype != DType::f32) { // its roundings depend on the order
            EXPECT_TRUE(same_meaning(s));
          }
          expect_right(s);
        }
}

TEST(Reducers, ArePrintedWithTheirIdentity) {
  EXPECT_THAT(print(rows(Reducer::max, 4, 5)),
              AllOf(HasSubstr("block Y(i = i, max k = k):"), HasSubstr("init Y[i] = -inf"),
                    HasSubstr("Y[i] = max(Y[i], X[i, k])")));
  EXPECT_THAT(print(rows(Reducer::min, 4, 5, DType::i32)),
              AllOf(HasSubstr("init Y[i] = 2147483647"), HasSubstr("Y[i] = min(X[i, k], Y[i])")));
  EXPECT_THAT(print(rows(Reducer::max, 4, 5, DType::u32)), HasSubstr("init Y[i] = 0"));
  EXPECT_THAT(print(rows(Reducer::product, 4, 5)), HasSubstr("Y[i] = Y[i]*X[i, k]"));
}

bool has_guard(const kernel::Plan &plan) {
  bool found = false;
  for (const kernel::Kernel &kernel : plan.kernels)
    kernel::walk(kernel.body,
                 [&](const kernel::Stmt &stmt) { found = found || kernel::as<kernel::If>(stmt) != nullptr; });
  return found;
}

/// A tile in shared memory is filled past the end with the identity of the reducer that reads it.
TEST(Reducers, FillTheTailOfATileWithTheirIdentity) {
  for (Reducer reducer : reducers)
    for (DType dtype : {DType::f32, DType::u32, DType::i32}) {
      Schedule s(rows(reducer, 32, 13, dtype));
      schedules_of_rows()[3].schedule(s);
      kernel::Plan plan = lower(s);
      EXPECT_FALSE(has_guard(plan)) << name(reducer) << kernel::print(plan);
      expect_right(s);
    }
}

/// The fill is converted, as the elements are. A type that has no such value keeps the guard.
TEST(Reducers, KeepTheGuardOfATailWithoutAFill) {
  struct Case {
    Reducer reducer;
    DType stored, dtype;
    bool guarded;
  };
  for (auto [reducer, stored, dtype, guarded] : {Case{Reducer::max, DType::f16, DType::f32, false},
                                                 {Reducer::min, DType::bf16, DType::f32, false},
                                                 {Reducer::product, DType::u8, DType::u32, false},
                                                 {Reducer::max, DType::u8, DType::u32, false},
                                                 {Reducer::sum, DType::i8, DType::f32, false},
                                                 {Reducer::max, DType::i8, DType::i32, true},
                                                 {Reducer::min, DType::u8, DType::u32, true},
                                                 {Reducer::max, DType::i32, DType::f32, true}}) {
    SCOPED_TRACE(fmt::format("{} of {}", name(reducer), name(stored)));
    Workload w("converted");
    Tensor x = w.placeholder("X", {32, 13}, stored);
    Reduce k = reduce_axis("k", 13);
    Schedule s(w.output(
        {w.compute("Y", {32}, {"i"}, [&](Expr i) { return reduce(reducer, cast(dtype, x(i, k)), {k}); })}));
    schedules_of_rows()[3].schedule(s);
    EXPECT_TRUE(same_meaning(s));
    EXPECT_EQ(has_guard(lower(s)), guarded) << kernel::print(lower(s));
    expect_right(s);
  }
}

/// Each element is below the identity that another reducer would begin with.
TEST(Reducers, BeginAtTheirIdentity) {
  for (auto [reducer, number] : {std::pair(Reducer::max, -3.0F), std::pair(Reducer::min, 3.0F)})
    for (const NamedSchedule &each : schedules_of_rows()) {
      Schedule s(rows(reducer, 37, 13));
      each.schedule(s);
      std::vector<Array> arrays{Array(DType::f32, {37, 13}), Array(DType::f32, {37})};
      std::ranges::fill(arrays[0].view<float>(), number);
      SimExecutor simulator;
      EXPECT_THAT(simulator.run(lower(s), arrays, {}).diagnostics, testing::IsEmpty());
      for (float y : arrays[1].view<float>())
        ASSERT_EQ(y, number) << name(reducer) << " " << each.name;
    }
}

TEST(Reducers, MaximumAndMinimumIgnoreNaN) {
  for (Reducer reducer : {Reducer::max, Reducer::min})
    for (const NamedSchedule &each : schedules_of_rows())
      for (std::size_t place : {0, 5, 12}) {
        Schedule s(rows(reducer, 1, 13));
        each.schedule(s);
        std::vector<Array> arrays{Array(DType::f32, {1, 13}), Array(DType::f32, {1})};
        for (std::size_t k = 0; k < 13; ++k)
          arrays[0].view<float>()[k] = static_cast<float>(k);
        arrays[0].view<float>()[place] = std::numeric_limits<float>::quiet_NaN();
        SimExecutor simulator;
        EXPECT_THAT(simulator.run(lower(s), arrays, {}).diagnostics, testing::IsEmpty());
        float expected = reducer == Reducer::max ? (place == 12 ? 11.0F : 12.0F) : (place == 0 ? 1.0F : 0.0F);
        EXPECT_EQ(arrays[1].view<float>()[0], expected) << name(reducer) << " " << each.name << " " << place;
      }
}

/// The kernel of another reduction, of other terms, or of fewer terms.
TEST(Reducers, ACheckFindsAnotherReduction) {
  for (DType dtype : {DType::f32, DType::u32, DType::i32})
    for (Reducer reducer : reducers) {
      Program right = rows(reducer, 200, 13, dtype);
      auto outcome_of = [&](const Program &kernel) {
        return Checker().check(right, as_computation(kernel), {}).outcome();
      };
      EXPECT_EQ(outcome_of(right), CheckOutcome::right) << name(reducer) << " " << name(dtype);
      for (Reducer other : reducers)
        if (other != reducer) {
          EXPECT_EQ(outcome_of(rows(other, 200, 13, dtype)), CheckOutcome::wrong)
              << name(other) << " for " << name(reducer) << " in " << name(dtype);
        }
      for (std::int64_t without : {0, 6, 12}) {
        Workload w("rows");
        Tensor x = w.placeholder("X", {200, 13}, dtype);
        Reduce k = reduce_axis("k", 13);
        Program lost = w.output({w.compute("Y", {200}, {"i"}, [&](Expr i) {
          return reduce(reducer, select(equal(k, without), identity_of(reducer, dtype), x(i, k)), {k});
        })});
        EXPECT_EQ(outcome_of(lost), CheckOutcome::wrong)
            << name(reducer) << " without " << without << " in " << name(dtype);
      }
    }
}

/// A product of 2000 factors may be out of the range of f32, so no error bound holds for random factors. The
/// factors of integer mode are 1 and -1.
TEST(Reducers, ALongProductIsComparedInAnExactRun) {
  Program program = rows(Reducer::product, 3, 2000);
  CheckResult result = Checker().check(program, as_computation(program), {});
  EXPECT_TRUE(result.passed) << all_messages(result);
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0].run, "integer mode");
}

TEST(Reducers, AreInTracesOfVersion3) {
  for (Reducer reducer : reducers) {
    Schedule s(rows(reducer, 4, 5));
    schedules_of_rows()[4].schedule(s);
    std::string text = to_json(trace_file(s, {4, 5}, DType::f32));
    bool sums = reducer == Reducer::sum;
    EXPECT_THAT(text, HasSubstr(sums ? "\"nestsmith_trace\": 2" : "\"nestsmith_trace\": 3"));
    EXPECT_THAT(text, HasSubstr(fmt::format("\"{}\":[{{\"extent\":5,\"name\":\"k\"}}]", name(reducer))));
    TraceFile file = parse_trace(text, "t.json");
    EXPECT_EQ(to_json(file), text);
    EXPECT_EQ(print(replay(file, *file.computation, {}, "t.json").program()), print(s.program()));
  }
}

TEST(Reducers, ATraceHasOneReducerForAStage) {
  Schedule s(rows(Reducer::max, 4, 5));
  std::string text = to_json(trace_file(s, {4, 5}, DType::f32));
  text.replace(text.find("\"max\""), 5, "\"min\":[{\"name\":\"l\",\"extent\":2}],\"max\"");
  expect_user_error([&] { parse_trace(text, "t.json"); }, ExitCode::usage,
                    "the stage 'Y' has the reducers 'max' and 'min', expected one");
}

TEST(Reducers, RefuseTermsThatDoNotMatter) {
  Workload w("none");
  Reduce k = reduce_axis("k", 5);
  expect_user_error(
      [&] { w.compute("Y", {4}, {"i"}, [&](Expr) { return product_over(constant(DType::i32, 0), k); }); },
      ExitCode::usage, "the product of stage 'Y' does not depend on its terms, which are the constant 0");
}

TEST(Reducers, RefuseATypeWithoutArithmetic) {
  for (Reducer reducer : reducers)
    for (DType dtype :
         {DType::u8, DType::i8, DType::i16, DType::u16, DType::f16, DType::bf16, DType::tf32, DType::boolean})
      expect_user_error([&] { rows(reducer, 4, 5, dtype); }, ExitCode::usage, name(dtype).data());
}

/// The maximum of products is no matrix product: no library and no matrix unit computes it.
TEST(Reducers, OfProductsAreNoContraction) {
  for (Reducer reducer : reducers) {
    Workload w("products");
    Tensor a = w.placeholder("A", {16, 16}), b = w.placeholder("B", {16, 16});
    Reduce k = reduce_axis("k", 16);
    Program program = w.output({w.compute(
        "C", {16, 16}, {"i", "j"}, [&](Expr i, Expr j) { return reduce(reducer, a(i, k) * b(k, j), {k}); })});
    EXPECT_EQ(as_contraction(*blocks_of(program.body).front()).has_value(), reducer == Reducer::sum);
  }
}

/// The rows of a softmax: the maximum of a row, and the elements less their maximum.
TEST(Reducers, AConsumerReadsTheMaximumOfItsRow) {
  Workload w("less_maximum");
  Tensor x = w.placeholder("X", {19, 45});
  Reduce k = reduce_axis("k", 45);
  Tensor m = w.compute("M", {19}, {"i"}, [&](Expr i) { return max_over(x(i, k), k); });
  Tensor y = w.compute("Y", {19, 45}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) - m(i); });
  Schedule s(w.output({y}));
  std::vector<Loop> loops = s.loops(s.block("Y"));
  s.compute_at(s.block("M"), loops[0]);
  s.set_scope(s.block("M"), Scope::local);
  auto [block, thread] = s.split<2>(loops[0], {infer, 8});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  EXPECT_TRUE(same_meaning(s));
  expect_right(s);
}

} // namespace
} // namespace nestsmith
