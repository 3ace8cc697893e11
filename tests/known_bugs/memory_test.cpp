/// Tests the elements that kernels read and write: tails, vectors, regions, registers and accumulators.

#include "dsl/ir/workload_info.h"
#include "runtime/check/reference.h"
#include "tests/known_bugs/support.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nestsmith {
namespace {

using test::expect_right;
using test::rung;

/// Returns the rungs of products. The shape M x N x K has M x N results.
std::vector<const Rung *> products() {
  std::vector<const Rung *> list;
  for (const Rung &rung : builtin_rungs())
    if (rung.tile.size() == 3)
      list.push_back(&rung);
  return list;
}

/// Returns whether the sum is accumulated in C itself, as in the first steps of TVM.
bool sums_in_memory(const Schedule &s) {
  bool found = false;
  for (const Block *block : blocks_of(s.program().body))
    found = found || (block->body.buffer->role == Role::output && reads(*block, block->body.buffer));
  return found;
}

/// The simulator reports an element that no thread or two threads wrote. It also counts the stores: there are
/// as many as elements.
TEST(KnownBugs, EveryOutputElementIsWrittenExactlyOnceWithRaggedColumns) {
  std::size_t counted = 0;
  for (const Rung *rung : products())
    for (std::int64_t columns : {rung->tile[1] + 1, std::int64_t{1}}) {
      Shape shape = {5, columns, 3};
      Schedule s = rung->build(shape, rung->dtype(DType::u32), Target{});
      test::Values values = test::make_values(s.source());
      SimExecutor simulator;
      EXPECT_THAT(simulator.run(lower(s), values.arrays, values.scalars).diagnostics, testing::IsEmpty());
      if (sums_in_memory(s))
        continue;
      ++counted;
      EXPECT_EQ(simulator.stats().stores_global, static_cast<std::uint64_t>(5 * columns)) << rung->full_name();
    }
  EXPECT_GT(counted, 60U);
}

Shape symbolic(Size stated) {
  Shape shape = {64, 64, 64};
  shape.stated = stated;
  return shape;
}

/// A kernel with vector accesses refuses a leading dimension that misaligns a row. A kernel for any leading
/// dimension has no vector accesses.
TEST(KnownBugs, OddLeadingDimensionsAgainstVectorAccess) {
  for (const char *name : {"ladder/vectors", "transposed/float4", "tvm_steps/step6"}) {
    kernel::Plan vectors =
        lower(rung(name).build(symbolic({.min = 4, .max = 4096, .multiple_of = 4}), DType::f32, Target{}));
    EXPECT_FALSE(vectors.only().aligned.empty()) << name;
    std::vector<std::int64_t> sizes = {64, 64, 64, 68, 68, 68};
    EXPECT_NO_THROW(with_sizes(vectors, sizes));
    for (std::size_t odd = 3; odd < sizes.size(); ++odd) {
      std::vector<std::int64_t> wrong = sizes;
      wrong[odd] = 65;
      test::expect_user_error([&] { with_sizes(vectors, wrong); }, ExitCode::usage,
                              "is 65, but the kernel " + vectors.only().name +
                                  " was made for sizes where it is a multiple of 4");
    }
    Schedule any = rung(name).build(symbolic({}), DType::f32, Target{});
    kernel::Plan scalars = lower(any);
    EXPECT_TRUE(scalars.only().aligned.empty()) << name;
    SimExecutor simulator;
    std::vector<std::int64_t> odd = {33, 35, 17, 37, 39, 41};
    for (const std::string &message : check(any, with_sizes(scalars, odd), simulator).messages())
      ADD_FAILURE() << name << ": " << message;
  }
}

/// The readers of T access neighbouring rows, and one reads T transposed, so each region has a halo.
TEST(KnownBugs, RegionsOfComputeAtCoverWhatIsRead) {
  for (std::int64_t n : {1, 2, 5, 7})
    for (std::int64_t factor : {1, 2, 3, 4}) {
      for (const char *at : {"U_i_outer", "U_i_inner", "U_j"}) {
        Schedule s(test::stencil(n));
        s.split(s.loop("U_i"), {infer, factor});
        s.compute_at(s.block("T"), s.loop(at));
        EXPECT_TRUE(test::same_meaning(s)) << "T at " << at << ", n = " << n << ", factor " << factor;
        s.set_scope(s.block("T"), Scope::shared);
        s.bind(s.loop("U_i_outer"), Axis::block_x);
        expect_right(s);
      }
    }
}

TEST(KnownBugs, RegionsOfReverseComputeAtCoverWhatIsRead) {
  for (std::int64_t m : {1, 3, 7})
    for (std::int64_t factor : {1, 2, 4, 5}) {
      for (const char *at : {"i_outer", "i_inner"}) {
        Schedule s(test::gemm(m, 5, 3));
        s.split(s.loop("i"), {infer, factor});
        s.set_scope(s.block("AB"), Scope::local);
        s.reverse_compute_at(s.block("C"), s.loop(at));
        EXPECT_TRUE(test::same_meaning(s)) << at << ", m = " << m << ", factor " << factor;
        s.bind(s.loop("i_outer"), Axis::block_x);
        expect_right(s);
      }
    }
}

/// A consumer that reads the row below is refused in a loop that has not yet written this row.
TEST(KnownBugs, ReverseComputeAtOfWhatIsNotYetWrittenIsRefused) {
  Schedule s(test::stencil(4));
  EXPECT_THROW(s.reverse_compute_at(s.block("U"), s.loop("i")), ScheduleError);
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(KnownBugs, RegisterStorageUsedAcrossThreads) {
  Schedule s(test::product(4, 4, 4));
  s.bind(s.loop("j"), Axis::thread_x);
  BlockRef copy = s.cache_read(s.block("C"), "A", Scope::local);
  s.compute_at(copy, s.loop("j"));
  EXPECT_NO_THROW(lower(s));
  s.bind(s.loops(copy).back(), Axis::thread_x);
  test::expect_user_error([&] { lower(s); }, ExitCode::illegal_schedule,
                          "A_local is local, one copy for each thread, but block A_local uses it below");

  Schedule outside(test::gemm(3, 5, 4));
  outside.set_scope(outside.block("AB"), Scope::local);
  outside.reverse_compute_at(outside.block("C"), outside.loop("i"));
  outside.bind(outside.loop("j"), Axis::thread_x);
  test::expect_user_error([&] { lower(outside); }, ExitCode::illegal_schedule,
                          "AB is local, one copy for each thread, but it is used outside of the loop bound");
}

/// C is not 0 before the launch, and most threads have no element of C.
TEST(KnownBugs, AccumulationIntoANonzeroCWithMoreThreadsThanWork) {
  for (const Rung *rung : products())
    for (const Shape &shape : {Shape{1, 1, 1}, Shape{1, 3, 2}, Shape{3, 1, 5}})
      expect_right(rung->build(shape, rung->dtype(), Target{}));
}

/// Returns the inputs of a run with beta = 0 and C full of NaN, or none if the source has no beta.
std::optional<Inputs> inputs_over_nan(const Program &source, CheckRun run) {
  auto read = switched_read(source);
  if (!read)
    return std::nullopt;
  Inputs inputs = make_inputs(source, run, 1);
  auto scalar = std::ranges::find(source.scalars, read->scalar) - source.scalars.begin();
  auto array = std::ranges::find(source.params, read->buffer) - source.params.begin();
  inputs.scalars[static_cast<std::size_t>(scalar)] = Scalar::from_double(DType::f32, 0);
  std::ranges::fill(inputs.arrays[static_cast<std::size_t>(array)].view<float>(), std::nanf(""));
  return inputs;
}

/// 0 * NaN is NaN, so C must not be read if beta is 0. Integers must be exact, and other values must be within
/// the error bound.
TEST(KnownBugs, BetaZeroOverACFullOfNaN) {
  int tried = 0;
  for (const Rung *rung : products())
    for (const Shape &shape : {Shape{33, 35, 17}, rung->tile}) {
      Schedule s = rung->build(shape, rung->dtype(), Target{});
      kernel::Plan plan = lower(s);
      for (CheckRun run : {CheckRun::integers, CheckRun::random}) {
        std::optional<Inputs> inputs = inputs_over_nan(s.source(), run);
        if (!inputs)
          continue;
        ++tried;
        Reference right = reference(s.source(), inputs->arrays, inputs->scalars);
        ASSERT_EQ(right.outputs.size(), 1U);
        SimExecutor simulator;
        EXPECT_THAT(simulator.run(plan, inputs->arrays, inputs->scalars).diagnostics, testing::IsEmpty());
        const float *got = inputs->arrays.back().view<float>().data();
        const ReferenceOutput &expected = right.outputs.front();
        std::size_t wrong = 0;
        for (std::size_t n = 0; n < expected.value.size(); ++n) {
          double bound = run == CheckRun::random ? expected.error_at(static_cast<std::int64_t>(n)) : 0;
          wrong += !(std::abs(got[n] - expected.value[n]) <= bound); // counts a NaN as wrong
        }
        ASSERT_EQ(wrong, 0U) << rung->full_name();
      }
    }
  EXPECT_GT(tried, 40);
}

/// The mask k <= i bounds k only together with i < n. Threads past the end of i must not load.
TEST(KnownBugs, MasksThatBoundAnIndexOnlyTogetherWithATail) {
  for (std::int64_t n : {1, 16, 17})
    for (bool cached : {false, true})
      for (bool partitioned : {false, true}) {
        Workload w("causal");
        Tensor x = w.placeholder("X", {n, n}), v = w.placeholder("V", {n + 16});
        Reduce k = reduce_axis("k", n + 16);
        Tensor y = w.compute("Y", {n, n}, {"i", "j"},
                             [&](Expr i, Expr j) { return sum(x.where(k <= i, k, j) * v(k), k); });
        Schedule s(w.output({y}));
        auto Y = s.block("Y"), copy = s.cache_write(Y, Scope::local);
        auto t = s.tile(s.loops(Y)[0], s.loops(Y)[1], {8, 16});
        s.reverse_compute_at(copy, t[3]);
        if (cached) {
          auto k_outer = s.split(s.loops(Y).back(), {infer, 8})[0];
          s.compute_at(s.cache_read(Y, "V", Scope::local), k_outer);
        }
        s.bind(t[0], Axis::block_y);
        s.bind(t[1], Axis::block_x);
        if (partitioned && n > 16)
          s.partition(t[1]);
        s.bind(t[2], Axis::thread_y);
        s.bind(t[3], Axis::thread_x);
        expect_right(s);
      }
}

} // namespace
} // namespace nestsmith
