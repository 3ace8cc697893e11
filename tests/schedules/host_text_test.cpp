/// Runs the emitted text on the host under sanitizers and compares it with the simulator
/// (tests/codegen/host_text.h).

#include "codegen/standalone.h"
#include "lowering/lower.h"
#include "runtime/check/stored_array.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/sample.h"
#include "tests/schedules/taken_names.h"

#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

/// Returns a shape with several tiles in each dimension, and different numbers of them.
Shape whole_tiles(const Rung &rung) {
  constexpr std::int64_t tiles[] = {3, 2, 1, 2, 1}; // starting from the last extent
  Shape shape = rung.tile;
  for (std::size_t n = 0; n < shape.size(); ++n)
    shape[shape.size() - 1 - n] *= tiles[n];
  return shape;
}

/// Returns a shape with a little more than a tile in each dimension, and with two tiles in the last one. The
/// differences are different multiples of `step`.
Shape ragged(const Rung &rung, std::int64_t step) {
  Shape shape = rung.tile;
  shape.back() *= 2;
  for (std::size_t n = 0; n < shape.size(); ++n)
    shape[n] += step * static_cast<std::int64_t>(n + 1);
  return shape;
}

void add(std::vector<Subject> &subjects, const Rung &rung, const Shape &shape, DType dtype) {
  Schedule schedule = rung.build(shape, dtype, Target{});
  kernel::Plan plan = lower(schedule);
  if (shape.stated) {
    std::vector<std::int64_t> sizes = sizes_for(schedule.source(), shape, 3);
    for (std::size_t n = shape.size(); n < sizes.size(); ++n)
      sizes[n] += static_cast<std::int64_t>(n) * shape.stated->multiple_of;
    plan = with_sizes(plan, sizes);
  }
  subjects.push_back({rung.full_name() + " " + std::string(name(dtype)) + " " + to_string(shape) +
                          (shape.stated ? " symbolic" : ""),
                      std::move(schedule), std::move(plan)});
}

void expect_same(const std::vector<Subject> &subjects) {
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

/// Each rung at one of its shapes; the long run takes both.
TEST(EmittedText, OfEveryRungIsWhatTheSimulatorRuns) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (const Rung &rung : builtin_rungs()) {
    const std::vector<Shape> shapes = {whole_tiles(rung), ragged(rung, rung.variant ? 4 : 1)};
    for (const Shape &shape : test::sample_unless_full(rung, shapes, 1))
      add(subjects, rung, shape, rung.dtype(DType::u32));
  }
  expect_same(subjects);
}

/// As above, with one kernel for all shapes, or for those that allow vectors.
TEST(EmittedText, OfOneKernelForEveryShapeIsWhatTheSimulatorRuns) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (const Rung &rung : builtin_rungs()) {
    std::vector<Shape> shapes = {rung.tile, ragged(rung, 1)};
    for (Shape &shape : shapes)
      shape.stated = Size{};
    if (rung.variant) {
      shapes.push_back(ragged(rung, 4));
      shapes.back().stated = Size{.multiple_of = 4};
    }
    for (const Shape &shape : test::sample_unless_full(rung, shapes, 1))
      add(subjects, rung, shape, rung.dtype(DType::u32));
  }
  expect_same(subjects);
}

TEST(EmittedText, OfFloatsAndBytesIsWhatTheSimulatorRuns) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == "gemm/tn")
      for (DType dtype : {DType::f32, DType::f16, DType::u8})
        add(subjects, rung, ragged(rung, 4), dtype);
  EXPECT_EQ(subjects.size(), 3U);
  expect_same(subjects);
}

/// As above, with all types of data, vectors, asynchronous copies and calls of shuffles.
TEST(EmittedText, OfEveryTypeIsWhatTheSimulatorRuns) {
  NEEDS_SANITIZERS();
  const std::set<std::string> in_f32 = {"deep_dive/shared", "transposed/float4", "tiling/naive",
                                        "tvm_steps/step5",  "gemm/tn",           "ladder/warps",
                                        "principles/fused", "ladder/async"};
  const std::set<std::string> in_narrow_types = {"transposed/float4", "gemm/tn", "ladder/async"};
  std::vector<Subject> subjects;
  for (const Rung &rung : builtin_rungs()) {
    if (in_f32.contains(rung.full_name()))
      add(subjects, rung, ragged(rung, 4), DType::f32);
    if (in_narrow_types.contains(rung.full_name()))
      for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u8})
        add(subjects, rung, ragged(rung, 4), dtype);
  }
  EXPECT_EQ(subjects.size(), in_f32.size() + 5 * in_narrow_types.size());
  expect_same(subjects);
}

TEST(EmittedText, OfNamesThatCppOrCudaTakeIsWhatTheSimulatorRuns) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  Schedule real = taken_names(false, DType::f32);
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(real), real.source())), 0);
  for (bool symbolic : {false, true})
    for (DType dtype : {DType::u32, DType::f32}) {
      Schedule schedule = taken_names(symbolic, dtype);
      kernel::Plan plan = lower(schedule);
      if (symbolic)
        plan = with_sizes(plan, std::vector<std::int64_t>{13, 11, 68});
      subjects.push_back({symbolic ? "names, symbolic" : "names", std::move(schedule), std::move(plan)});
    }
  expect_same(subjects);
}

} // namespace
} // namespace nestsmith
