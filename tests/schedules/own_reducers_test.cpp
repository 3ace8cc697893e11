/// Tests stages that reduce by a reducer of the program, such as argmax, whose elements are tuples: through all
/// directives that take a reduction apart, in the simulator, in the text, in traces, and with wrong kernels.
#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "runtime/check/blame.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/argmax_rows.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using test::argmax_rows;
using test::expect_right;
using test::expect_user_error;
using test::rows;
using test::same_meaning;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// Binds the rows of a block to 32 threads.
Loop rows_to_threads(Schedule &s, BlockRef block) {
  auto [outer, inner] = s.split<2>(s.loops(block)[0], {infer, 32});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
  return inner;
}

/// Binds the rows of each of the three nests to threads.
void each_in_threads(Schedule &s) {
  for (const char *block : {"best", "value", "index"})
    rows_to_threads(s, s.block(block));
}

/// Moves the stages of the results into the nest of the reduction. One thread of the axis executes them.
void results_below(Schedule &s, Loop row, Axis axis, std::int64_t threads) {
  for (BlockRef result : {s.block("value"), s.block("index")}) {
    s.reverse_compute_at(result, row);
    s.bind(s.split<2>(s.loops(result).back(), {infer, threads})[1], axis);
  }
}

void across(Schedule &s, Axis axis, std::int64_t threads, Scope scope) {
  BlockRef best = s.block("best");
  Loop row = s.loops(best)[0];
  s.bind(row, Axis::block_x);
  s.set_scope(best, scope);
  s.reduce_across(s.split<2>(s.loops(best).back(), {infer, threads})[1], axis);
  results_below(s, row, axis, threads);
}

struct Way {
  const char *name;
  std::function<void(Schedule &)> schedule;
};
const std::vector<Way> &ways() {
  static const std::vector<Way> table = {
      {"unscheduled", [](Schedule &) {}},
      {"a nest for each stage", each_in_threads},
      {"registers",
       [](Schedule &s) {
         Loop row = rows_to_threads(s, s.block("best"));
         s.set_scope(s.block("best"), Scope::local);
         s.reverse_compute_at(s.block("value"), row);
         s.reverse_compute_at(s.block("index"), row);
       }},
      {"split",
       [](Schedule &s) {
         each_in_threads(s);
         s.unroll(s.split<2>(s.loops(s.block("best")).back(), {infer, 4})[1]);
       }},
      {"a tile of the input",
       [](Schedule &s) {
         each_in_threads(s);
         Loop outer = s.split<2>(s.loops(s.block("best")).back(), {infer, 8})[0];
         BlockRef tile = s.cache_read(s.block("best"), "X", Scope::shared);
         s.compute_at(tile, outer);
         std::vector<Loop> loops = s.loops(tile);
         s.bind(s.split<2>(s.fuse(loops[loops.size() - 2], loops.back()), {infer, 32})[1], Axis::thread_x);
         s.decompose_reduction(s.block("best"), outer);
       }},
      {"parts in a workspace",
       [](Schedule &s) {
         BlockRef parts = s.rfactor(s.split<2>(s.loops(s.block("best")).back(), {infer, 8})[0]);
         each_in_threads(s);
         s.bind(s.loops(parts)[0], Axis::block_x);
         s.bind(s.split<2>(s.loops(parts)[1], {infer, 16})[1], Axis::thread_x);
       }},
      {"interleaved parts",
       [](Schedule &s) {
         auto [outer, lane] = s.split<2>(s.loops(s.block("best")).back(), {infer, 4});
         s.reorder({lane, outer});
         s.rfactor(lane);
         each_in_threads(s);
       }},
      {"a cache of the result",
       [](Schedule &s) {
         each_in_threads(s);
         BlockRef writeback = s.cache_write(s.block("best"), Scope::local);
         s.reverse_compute_at(writeback, s.loops(s.block("best"))[1]);
       }},
      {"a cache of the tuples",
       [](Schedule &s) {
         Loop row = rows_to_threads(s, s.block("value"));
         BlockRef copy = s.cache_read(s.block("value"), "best", Scope::local);
         s.compute_at(copy, row);
         rows_to_threads(s, s.block("best"));
         rows_to_threads(s, s.block("index"));
       }},
      {"a warp", [](Schedule &s) { across(s, Axis::lane, 32, Scope::shared); }},
      {"a block", [](Schedule &s) { across(s, Axis::thread_x, 64, Scope::shared); }},
      {"six threads", [](Schedule &s) { across(s, Axis::thread_x, 6, Scope::shared); }},
      {"a result in each thread", [](Schedule &s) { across(s, Axis::thread_x, 32, Scope::local); }},
      {"the last block",
       [](Schedule &s) {
         BlockRef best = s.block("best");
         auto [part, inner] = s.split<2>(s.loops(best).back(), {infer, 16});
         (void)inner;
         BlockRef parts = s.rfactor(part);
         std::vector<Loop> loops = s.loops(parts);
         s.bind(loops[0], Axis::block_y);
         s.bind(loops[1], Axis::block_x);
         for (BlockRef block : {best, s.block("value"), s.block("index")}) {
           if (block.id == best.id)
             s.set_scope(block, Scope::local);
           s.reverse_compute_at(block, loops[0]);
         }
         s.last_block(loops[1]);
       }},
  };
  return table;
}

TEST(OwnReducers, AreRightInEverySchedule) {
  for (const Way &way : ways())
    for (auto [dtype, m, n] : {std::tuple(DType::f32, 37, 45), std::tuple(DType::u32, 33, 8),
                               std::tuple(DType::i32, 5, 31), std::tuple(DType::f32, 2, 1)}) {
      SCOPED_TRACE(fmt::format("{} {} {}x{}", way.name, name(dtype), m, n));
      Schedule s(argmax_rows(m, n, dtype, m != 5));
      way.schedule(s);
      EXPECT_TRUE(same_meaning(s));
      expect_right(s);
    }
}

/// The first of equal elements, and NaN before all numbers, for each place of NaN.
TEST(OwnReducers, ArgmaxTakesTheFirstOfEqualElementsAndNaN) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Way &way : ways())
    for (std::int32_t place : {-1, 0, 7, 12}) {
      SCOPED_TRACE(fmt::format("{}, NaN at {}", way.name, place));
      Schedule s(argmax_rows(2, 13));
      way.schedule(s);
      std::vector<Array> arrays{Array(DType::f32, {2, 13}), Array(DType::f32, {2}), Array(DType::i32, {2})};
      for (std::size_t k = 0; k < 13; ++k)
        arrays[0].view<float>()[k] = k % 5 == 3 ? 2.0F : 1.0F; // the largest is at 3 and at 8
      if (place >= 0)
        arrays[0].view<float>()[static_cast<std::size_t>(place)] = nan;
      SimExecutor simulator;
      EXPECT_THAT(simulator.run(lower(s), arrays, {}).diagnostics, testing::IsEmpty());
      EXPECT_EQ(arrays[2].view<std::int32_t>()[0], place < 0 ? 3 : place);
      EXPECT_EQ(std::isnan(arrays[1].view<float>()[0]), place >= 0);
    }
}

/// A reducer with one number, of two sums, and of a sum and a maximum.
TEST(OwnReducers, OfSumsHaveTheErrorBoundOfASum) {
  auto program = [](DType dtype) {
    Workload w("moments");
    Tensor x = w.placeholder("X", {37, 200}, dtype);
    Reduce k = reduce_axis("k", 200);
    Expr zero = constant(dtype, 0), low = identity_of(Reducer::max, dtype);
    Reducer three = define_reducer(
        "sum_squares_largest", tuple({{"sum", zero}, {"squares", zero}, {"largest", low}}), [](Expr a, Expr b) {
          return tuple(a.dtype(),
                       {part(a, 0) + part(b, 0), part(a, 1) + part(b, 1), max(part(a, 2), part(b, 2))});
        });
    Tensor m = w.compute("m", {37}, {"i"}, [&](Expr i) {
      return reduce(three, tuple({{"sum", x(i, k)}, {"squares", x(i, k) * x(i, k)}, {"largest", x(i, k)}}), k);
    });
    return w.output({w.compute("v", {37}, {"i"}, [&](Expr i) -> Definition {
      return part(m(i), "squares") - part(m(i), "sum") * part(m(i), "sum") + part(m(i), "largest");
    })});
  };
  for (DType dtype : {DType::f32, DType::u32})
    for (std::int64_t threads : {1, 32, 96}) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), threads));
      Schedule s(program(dtype));
      BlockRef m = s.block("m"), v = s.block("v");
      Loop row = s.loops(m)[0];
      s.bind(row, Axis::block_x);
      s.set_scope(m, Scope::shared);
      s.reduce_across(s.split<2>(s.loops(m).back(), {infer, threads})[1], Axis::thread_x);
      s.reverse_compute_at(v, row);
      s.bind(s.split<2>(s.loops(v).back(), {infer, threads})[1], Axis::thread_x);
      expect_right(s);
    }
}

TEST(OwnReducers, OfOneNumberAreRight) {
  Reducer bits =
      define_reducer("all_bits", constant(DType::u32, 0), [](Expr a, Expr b) { return bit_xor(a, b); });
  for (std::int64_t threads : {1, 32, 6}) {
    Schedule s(rows(bits, 7, 77, DType::u32));
    BlockRef y = s.block("Y");
    s.bind(s.loops(y)[0], Axis::block_x);
    s.reduce_across(s.split<2>(s.loops(y).back(), {infer, threads})[1], Axis::thread_x);
    EXPECT_TRUE(same_meaning(s));
    expect_right(s);
  }
}

/// Its laws hold up to roundings only, also for residues: the check says so, and does not call it right.
TEST(OwnReducers, WhoseRoundingsDependOnTheOrderAreNotCompared) {
  Reducer scaled = define_reducer("scaled_sum", Expr(0.0F), [](Expr a, Expr b) { return (a + b) * 1.000001F; });
  Schedule s(rows(scaled, 4, 9));
  SimExecutor simulator;
  CheckResult result = check(s, lower(s), simulator);
  EXPECT_EQ(result.outcome(), CheckOutcome::not_compared) << all_messages(result);
  expect_user_error(
      [&] { emit_standalone({}, lower(s), s.source()); }, ExitCode::usage,
      "a standalone file cannot check the reducer 'scaled_sum' of the stage 'Y', whose roundings depend "
      "on the order of the terms");
}

TEST(OwnReducers, ACheckFindsAnotherReducer) {
  Program wanted = argmax_rows(20, 13), wrong = argmax_rows(20, 13, DType::f32, false);
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    interpret(wrong, arrays, {});
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
}

/// `>=` for `>`: of equal elements the last one wins. Inputs of a check must have ties to find it.
TEST(OwnReducers, ACheckFindsTheLastOfEqualElements) {
  Program wanted = argmax_rows(64, 40);
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    interpret(wanted, arrays, {});
    for (std::int64_t i = 0; i < 64; ++i) {
      auto row = arrays[0].view<float>().subspan(static_cast<std::size_t>(i * 40), 40);
      for (std::int32_t k = 0; k < 40; ++k)
        if (row[static_cast<std::size_t>(k)] == arrays[1].view<float>()[static_cast<std::size_t>(i)])
          arrays[2].view<std::int32_t>()[static_cast<std::size_t>(i)] = k;
    }
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
}

/// One pass over a row for two results: the largest element and the sum of the exponentials, or the mean and
/// the variance.
Program one_pass(bool mean, std::int64_t m, std::int64_t n) {
  Workload w("one_pass");
  Tensor x = w.placeholder("X", {m, n});
  Reduce k = reduce_axis("k", n);
  Tensor both = w.compute("best", {m}, {"i"}, [&](Expr i) {
    return mean ? moments_over(x(i, k), k) : sum_of_exp_over(x(i, k), k);
  });
  auto result = [&](const char *name, const char *of_mean, const char *of_sum) {
    return w.compute(name, {m}, {"i"},
                     [&](Expr i) -> Definition { return part(both(i), mean ? of_mean : of_sum); });
  };
  Tensor value = result("value", "mean", "largest");
  return w.output({value, result("index", "squares", "sum")});
}

TEST(OwnReducers, ThatRoundAreRightInEachWay) {
  for (bool mean : {false, true})
    for (const Way &way : ways()) {
      SCOPED_TRACE(way.name);
      Schedule s(one_pass(mean, 5, 70));
      way.schedule(s);
      expect_right(s);
    }
}

/// Lanes exchange each part. Of two lanes, each combines its own element with that of the other, so all take
/// the result of lane 0 if the order may round in another way.
TEST(OwnReducers, CombineTheLanesOfAWarpByShuffles) {
  for (Axis axis : {Axis::lane, Axis::thread_x}) {
    Schedule exact(argmax_rows(5, 200));
    across(exact, axis, axis == Axis::lane ? 32 : 64, Scope::local);
    std::string text = cuda_kernels(lower(exact));
    EXPECT_THAT(
        text,
        AllOf(ContainsRegex(
                  "shuffle_xor_16\\(&best[a-z_]*_own_value\\[0\\], &best[a-z_]*_other_value\\[0\\]\\);"),
              ContainsRegex("shuffle_xor_1\\(&best[a-z_]*_own_index\\[0\\]"), Not(HasSubstr("shuffle_first"))));
    Schedule rounds(one_pass(true, 5, 200));
    across(rounds, axis, axis == Axis::lane ? 32 : 64, Scope::local);
    EXPECT_THAT(cuda_kernels(lower(rounds)), ContainsRegex("shuffle_first\\(&best[a-z_]*_own_mean\\[0\\]"));
  }
}

/// No shuffle moves a boolean.
TEST(OwnReducers, OfBooleansAreCombinedInSharedMemory) {
  Reducer any =
      define_reducer("any_of_rows", tuple({{"found", boolean(false)}, {"count", constant(DType::i32, 0)}}),
                     [](const Expr &a, const Expr &b) {
                       return tuple({{"found", part(a, "found") || part(b, "found")},
                                     {"count", part(a, "count") + part(b, "count")}});
                     });
  Workload w("any");
  Tensor x = w.placeholder("X", {5, 70}, DType::i32);
  Reduce k = reduce_axis("k", 70);
  Tensor found = w.compute("best", {5}, {"i"}, [&](Expr i) {
    return reduce(any, tuple({{"found", x(i, k) > 7}, {"count", cast(DType::i32, x(i, k) > 7)}}), k);
  });
  Tensor value = w.compute("value", {5}, {"i"}, [&](Expr i) -> Definition { return part(found(i), "count"); });
  Schedule s(w.output({value, w.compute("index", {5}, {"i"}, [&](Expr i) -> Definition {
                         return cast(DType::i32, part(found(i), "found"));
                       })}));
  across(s, Axis::thread_x, 32, Scope::shared);
  EXPECT_THAT(cuda_kernels(lower(s)), Not(HasSubstr("shuffle")));
  expect_right(s);
}

/// A step that changes the result is named.
TEST(OwnReducers, EachStepIsRight) {
  Schedule s(argmax_rows(5, 70));
  across(s, Axis::thread_x, 32, Scope::shared);
  Blame blame = find_blame(s);
  EXPECT_FALSE(blame.fault) << to_string(blame);
}

TEST(OwnReducers, AreInTracesOfVersion4) {
  for (const Way &way : ways()) {
    SCOPED_TRACE(way.name);
    Schedule s(argmax_rows(5, 40));
    way.schedule(s);
    std::string text = to_json(trace_file(s, {5, 40}, DType::f32));
    EXPECT_THAT(text, AllOf(HasSubstr("\"nestsmith_trace\": 4"), HasSubstr("\"name\":\"argmax\"")));
    TraceFile file = parse_trace(text, "t.json");
    EXPECT_EQ(to_json(file), text);
    EXPECT_EQ(print(replay(file, *file.computation, {}, "t.json").program()), print(s.program()));
  }
}

TEST(OwnReducers, ATraceWithABrokenReducerIsRefused) {
  std::string text = to_json(trace_file(Schedule(argmax_rows(5, 40)), {5, 40}, DType::f32));
  auto with = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  std::string named = with("\"name\":\"argmax\"", "\"name\":\"other\"");
  EXPECT_NO_THROW(parse_trace(named, "t.json"));
  auto refused = [](const std::string &changed, const char *message) {
    expect_user_error([&] { parse_trace(changed, "t.json"); }, ExitCode::usage, message);
  };
  text = with("\"name\":\"argmax\"", "\"name\":\"third\"");
  refused(with("\"<\",[\"part\",\"a\",\"value\"]", "\"<=\",[\"part\",\"a\",\"value\"]"),
          "the reducer 'third' is not commutative");
  refused(with("\"combine\":", "\"values\":[],\"combined\":"), "has no 'identity' or no 'combine'");
  refused(with("[\"part\",\"b\",\"value\"]", "[\"part\",\"b\",\"where\"]"), "which has no part 'where'");
  refused(with("[\"part\",\"b\",\"value\"]", "[\"part\",\"c\",\"value\"]"),
          "'c' is neither an axis of the stage, nor a scalar, nor a size");
}

TEST(OwnReducers, TheTextComputesAConditionOnce) {
  Schedule s(argmax_rows(37, 200));
  ways()[2].schedule(s);
  EXPECT_THAT(cuda_kernels(lower(s)), HasSubstr(R"(    float best_value = __int_as_float(0xff800000);
    int best_index = 2147483647;
)"));
  EXPECT_THAT(cuda_kernels(lower(s)), HasSubstr(R"(      const float x = X[i * 200 + k];
      const bool chosen =
          best_value < x || (x != x && !(best_value != best_value)) ||
          ((best_value == x || (best_value != best_value && x != x)) && k < best_index);
      best_value = chosen ? x : best_value;
      best_index = chosen ? k : best_index;
)"));
}

/// Vectors move declarations. What is computed from loaded values stays behind the loads.
TEST(OwnReducers, AConditionStaysBehindTheLoadsThatItReads) {
  Schedule s(argmax_rows(32, 64));
  each_in_threads(s);
  Loop outer = s.split<2>(s.loops(s.block("best")).back(), {infer, 8})[0];
  BlockRef tile = s.cache_read(s.block("best"), "X", Scope::shared);
  s.compute_at(tile, outer);
  std::vector<Loop> loops = s.loops(tile);
  auto [step, thread, lane] = s.split<3>(s.fuse(loops[loops.size() - 2], loops.back()), {infer, 32, 4});
  (void)step;
  s.bind(thread, Axis::thread_x);
  s.vectorize(lane);
  EXPECT_TRUE(same_meaning(s));
  expect_right(s);
}

/// A nest that reads one part takes only the array of this part.
TEST(OwnReducers, AKernelTakesTheArraysOfTheTuplesThatItUses) {
  Schedule s(argmax_rows(37, 200));
  each_in_threads(s);
  std::string text = cuda_kernels(lower(s));
  EXPECT_THAT(
      text, HasSubstr("argmax_rows_value(float *__restrict__ value, const float *__restrict__ best_value) {"));
}

/// The parts that read each other are computed before the first of them is stored.
TEST(OwnReducers, PartsThatReadEachOtherAreStoredTogether) {
  Reducer swap = define_reducer(
      "smaller_and_larger",
      tuple({{"low", constant(DType::i32, 2147483647)}, {"high", constant(DType::i32, 2147483647)}}),
      [](Expr a, Expr b) { // the two smallest numbers
        Expr low = min(part(a, "low"), part(b, "low")), middle = max(part(a, "low"), part(b, "low"));
        return tuple(a.dtype(), {low, min(middle, min(part(a, "high"), part(b, "high")))});
      });
  Workload w("two_smallest");
  Tensor x = w.placeholder("X", {9, 21}, DType::i32);
  Reduce k = reduce_axis("k", 21);
  Tensor two = w.compute("two", {9}, {"i"}, [&](Expr i) {
    return reduce(swap, tuple({{"low", x(i, k)}, {"high", constant(DType::i32, 2147483647)}}), k);
  });
  Schedule s(w.output({w.compute("second", {9}, {"i"}, [&](Expr i) { return part(two(i), "high"); })}));
  rows_to_threads(s, s.block("two"));
  rows_to_threads(s, s.block("second"));
  EXPECT_TRUE(same_meaning(s));
  expect_right(s);
}

TEST(OwnReducers, OfTheTextAreThoseOfTheSimulator) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Schedule> schedules;
  std::vector<Subject> subjects;
  for (std::size_t n : {1, 2, 4, 5, 9, 10, 13}) {
    Schedule &s = schedules.emplace_back(argmax_rows(9, 41));
    ways()[n].schedule(s);
    subjects.push_back({ways()[n].name, s, lower(s)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(OwnReducers, NvrtcCompilesTheText) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  Schedule s(argmax_rows(9, 300));
  across(s, Axis::thread_x, 64, Scope::shared);
  kernel::Kernel kernel = lower(s).only();
  cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), "sm_90");
  EXPECT_EQ(compiled.spill_stores, 0);
}

TEST(OwnReducers, AreCheckedByAStandaloneFile) {
  Schedule s(argmax_rows(9, 41));
  ways()[2].schedule(s);
  std::string text = emit_standalone({}, lower(s), s.source());
  EXPECT_EQ(run_on_host(text), 0);
  std::size_t at = text.find("chosen ? k : best_index", text.find("__global__"));
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 23, "chosen ? 0 : best_index");
  EXPECT_EQ(run_on_host(text), 1) << "a wrong index is found";
}

/// The variable of such a term keeps the type of the term, although its value is that of a small index.
TEST(OwnReducers, OfTermsThatAreComputedFromIndicesAreRight) {
  for (DType dtype : {DType::f32, DType::f64, DType::u32, DType::i32, DType::i64}) {
    SCOPED_TRACE(name(dtype));
    Workload w("remainders");
    Reduce k = reduce_axis("k", 25);
    Tensor best = w.compute("best", {6}, {"i"},
                            [&](Expr i) { return argmin_over(cast(dtype, floormod(i + k + 1, 3)), k); });
    Tensor value = w.compute("value", {6}, {"i"}, [&](Expr i) { return part(best(i), "value"); });
    Tensor index = w.compute("index", {6}, {"i"}, [&](Expr i) { return part(best(i), "index"); });
    Schedule s(w.output({value, index}));
    each_in_threads(s);
    expect_right(s);
    EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source())), 0);
  }
}

/// The text of the reference names long operands once, but not the tuple of which the reducer reads the parts.
TEST(OwnReducers, OfLongTermsAreCheckedByAStandaloneFile) {
  Workload w("long_terms");
  Tensor X = w.placeholder("X", {9, 41}, DType::f32);
  Reduce k = reduce_axis("k", 41);
  Tensor best = w.compute("best", {9}, {"i"}, [&](Expr i) {
    Expr term = X(i, k);
    for (int n = 0; n < 10; ++n)
      term = term * 2 + X(i, (k + n) % 41);
    return argmin_over(term, k);
  });
  Tensor Y = w.compute("Y", {9}, {"i"}, [&](Expr i) -> Definition { return part(best(i), "index"); });
  Schedule s(w.output({Y}));
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source())), 0);
}

} // namespace
} // namespace nestsmith
