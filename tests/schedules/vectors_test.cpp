/// Vectors and intrinsics in whole schedules: right at every size, and named where a shape has none.

#include "codegen/cuda.h"
#include "schedules/fetch.h"
#include "schedules/rung.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;
using test::rung;

/// C += A*B' in tiles of 16 x 16 in shared memory: each step of 4 along k is one call. Tails are zeros there,
/// so that every K will do.
Schedule dot_tiles(const Shape &shape, DType dtype) {
  Schedule s(accumulate_nt(shape, dtype));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 16});
  auto [j_block, j_thread] = s.split(j, {infer, 16});
  auto [k_outer, k_inner, k_four] = s.split(k, {infer, 4, 4});
  s.reorder({i_block, j_block, i_thread, j_thread});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  fetch_tile(s, AB, "A", k_outer, 256);
  fetch_tile(s, AB, "B", k_outer, 256);
  s.unroll(k_inner);
  s.tensorize(k_four, "dot4");
  return s;
}

TEST(Intrinsics, Dot4IsRightAtEverySize) {
  for (DType dtype : {DType::f32, DType::u32})
    for (const Shape &shape : {Shape{1, 1, 1}, Shape{16, 16, 16}, Shape{17, 15, 33}, Shape{33, 7, 127}}) {
      Schedule s = dot_tiles(shape, dtype);
      expect_right(s);
      std::string text = cuda_kernel(lower(s).only());
      EXPECT_NE(text.find("AB = dot4(A_shared_v, B_shared_v, AB);"), std::string::npos) << text;
    }
}

/// Y = 2*X for m x n by vectors of so many elements, where rows are split over threads.
Schedule doubled(std::int64_t m, std::int64_t n, std::int64_t lanes, DType dtype) {
  Workload w("doubled");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Tensor y = w.compute("Y", {m, n}, {"i", "j"},
                       [&](Expr i, Expr j) -> Definition { return x(i, j) * constant(dtype, 2); });
  Schedule s(w.output({y}));
  auto [block, thread, lane] = s.split(s.loop("j"), {infer, 8, lanes});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.vectorize(lane);
  return s;
}

TEST(Vectors, OfEveryWidthAreRightWithTails) {
  for (DType dtype : {DType::f32, DType::u32})
    for (std::int64_t lanes : {2, 4})
      for (std::int64_t n : {lanes, 8 * lanes, 9 * lanes, 31 * lanes})
        expect_right(doubled(3, n, lanes, dtype));
}

TEST(Vectors, WhereTheLastGroupIsPartialAreRefused) {
  for (std::int64_t n : {1, 5, 127, 1023})
    try {
      doubled(3, n, 4, DType::f32);
      ADD_FAILURE() << n;
    } catch (const ScheduleError &error) {
      EXPECT_NE(
          error.message().find("the bound " + std::to_string(n) + " and each start must be multiples of 4"),
          std::string::npos)
          << error.what();
    }
}

TEST(Variants, NameTheExtentsThatAreNoMultiples) {
  EXPECT_FALSE(scalar_unless_multiples({1, 8, 12}, DType::f32, {{"N", 1}, {"K", 2}}, 4));
  auto variant = scalar_unless_multiples({8, 129, 131}, DType::tf32, {{"M", 0}, {"N", 1}, {"K", 2}}, 4);
  ASSERT_TRUE(variant);
  EXPECT_EQ(variant->name, "scalar");
  EXPECT_EQ(variant->why, "N % 4 = 1, K % 4 = 3");
  auto narrow = scalar_unless_multiples({1, 8, 13}, DType::bf16, {{"N", 1}, {"K", 2}}, 4);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->why, "bf16 has 2 bytes, K % 4 = 1");
  Shape sizes = {8, 8, 8};
  sizes.stated = Size{.multiple_of = 8};
  EXPECT_FALSE(scalar_unless_multiples(sizes, DType::f32, {{"N", 1}}, 4));
  sizes.stated->multiple_of = 6;
  auto symbolic = scalar_unless_multiples(sizes, DType::f32, {{"N", 1}}, 4);
  ASSERT_TRUE(symbolic);
  EXPECT_EQ(symbolic->why, "sizes are multiples of 6, not of 4");
}

TEST(Variants, OfTheFloat4RungsFollowTheShape) {
  for (const char *name : {"transposed/float4", "worklog/6"}) {
    const Rung &vectorized = rung(name);
    ASSERT_TRUE(vectorized.variant);
    EXPECT_EQ(vectorized.variant({127, 128, 132}, DType::f32), std::nullopt) << "M may be anything";
    EXPECT_EQ(vectorized.variant({128, 128, 131}, DType::f32)->why, "K % 4 = 3");
    auto text = [&](const Shape &shape) {
      return cuda_kernel(lower(vectorized.build(shape, DType::f32, Target{})).only());
    };
    EXPECT_NE(text({127, 128, 132}).find("float4 A_v"), std::string::npos);
    EXPECT_EQ(text({128, 128, 131}).find("float4"), std::string::npos);
  }
}

TEST(Variants, OfTheFloat4RungsAreRightAtMixedSizes) {
  for (const char *name : {"transposed/float4", "worklog/6"})
    for (const Shape &shape : {Shape{127, 132, 20}, Shape{1, 4, 4}, Shape{130, 4, 12}, Shape{5, 260, 8}})
      for (DType dtype : {DType::f32, DType::u32})
        expect_right(rung(name).build(shape, dtype, Target{}));
}

} // namespace
} // namespace nestsmith
