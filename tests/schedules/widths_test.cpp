/// Tests that products access each operand by the widest vectors that its rows allow.

#include "codegen/cuda.h"
#include "dsl/hardware/gpus.h"
#include "lowering/lower.h"
#include "runtime/model/count.h"
#include "schedules/fast/rungs.h"
#include "schedules/library/product.h"
#include "schedules/tensor/tiles.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;

/// N and K are multiples of 1, 2, 4 and 8.
constexpr std::int64_t columns_of[] = {33, 34, 36, 40}, depths_of[] = {35, 34, 36, 40};

Schedule at_point(const char *rung, const Shape &shape, DType dtype, const std::string &point) {
  Knobs knobs(parse_knobs(point));
  return test::rung(rung).build(shape, dtype, Target{}, knobs);
}

/// Checks each alignment at one of the points, given in turns.
void expect_right_at_every_alignment(const char *rung, std::initializer_list<DType> dtypes,
                                     const std::vector<const char *> &points) {
  SimExecutor simulator;
  std::size_t turn = 0;
  for (DType dtype : dtypes)
    for (std::int64_t n : columns_of)
      for (std::int64_t k : depths_of) {
        const char *point = points[turn++ % points.size()];
        Schedule s = at_point(rung, {5, n, k}, dtype, point);
        ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
        CheckResult result = check(s, lower(s), simulator);
        EXPECT_TRUE(result.passed) << name(dtype) << " " << n << " " << k << " " << point << "\n"
                                   << test::all_messages(result);
      }
}

TEST(Widths, OfRegisterTilesAreRightAtEveryAlignment) {
  expect_right_at_every_alignment("fast/gemm", {DType::f32, DType::f16, DType::i8},
                                  {"warps=1x1,results=4x4", "warps=1x1,results=4x8,bk=8,split_k=2",
                                   "warps=1x1,results=4x4,fragments=true,bk=8"});
  expect_right_at_every_alignment("fast/gemm", {DType::f32},
                                  {"warps=1x1,results=4x4,async=true,stages=3,fragments=true,joined=true",
                                   "warps=1x1,results=4x8,async=true,stages=2,bk=8,split_k=2",
                                   "warps=1x1,results=4x4,async=true"});
}

TEST(Widths, OfMatrixTilesAreRightAtEveryAlignment) {
  const std::vector<const char *> points = {"stages=2,results=16x16", "stages=4,results=16x16,late=false",
                                            "stages=3,results=16x16"};
  expect_right_at_every_alignment("tensor/tuned", {DType::f16, DType::i8}, points);
  expect_right_at_every_alignment("tensor/nt", {DType::bf16}, points);
}

std::string text_at(const char *rung, const Shape &shape, DType dtype, const std::string &point) {
  return cuda_kernels(lower(at_point(rung, shape, dtype, point)));
}

TEST(Widths, AreThoseOfTheRows) {
  const Shape even = {64, 130, 66};
  std::string text = text_at("fast/gemm", even, DType::f32, "warps=1x1");
  EXPECT_TRUE(contains(text, "*reinterpret_cast<const float2 *>(&A["));
  EXPECT_TRUE(contains(text, "*reinterpret_cast<const float2 *>(&B["));
  EXPECT_TRUE(contains(text, "*reinterpret_cast<float2 *>(&C["));
  text = text_at("fast/gemm", {64, 130, 64}, DType::f32, "warps=1x1"); // only A keeps 16 bytes
  EXPECT_TRUE(contains(text, "*reinterpret_cast<const float4 *>(&A["));
  EXPECT_TRUE(contains(text, "*reinterpret_cast<const float2 *>(&B["));
  text = text_at("fast/gemm", {64, 130, 67}, DType::f16, "warps=1x1");
  EXPECT_FALSE(contains(text, "*>(&A["));
  EXPECT_TRUE(contains(text, "*reinterpret_cast<const f16x2 *>(&B["));
}

/// The counts of the first kernel, with alpha = 1 and beta = 0.
model::Counters counts_at(const Shape &shape, const std::string &point) {
  const kernel::Plan plan = lower(at_point("fast/gemm", shape, DType::f32, point));
  const std::vector<Scalar> scalars = {Scalar::from_double(DType::f32, 1), Scalar::from_double(DType::f32, 0)};
  return model::count(plan.kernels.at(0), scalars);
}

/// Where a lane cannot store 16 bytes at once, the 8 lanes of a row store neighbours: 32 or 64 bytes, which may
/// begin inside of a sector. A lane with 4 neighbours would store them one by one, 16 sectors each time. The
/// order of the tile of B adds no conflict.
TEST(Widths, LanesOfARowStoreNeighbours) {
  for (auto [n, least, most] : {std::tuple(128, 16, 16), std::tuple(130, 8, 12), std::tuple(129, 4, 8)}) {
    const model::Counters counts =
        counts_at({64, n, 40}, "warps=1x2,results=8x8,async=true,stages=3,fragments=true");
    const double sectors = counts.total(Scope::global, true).sectors_per_request();
    EXPECT_GE(sectors, least) << n;
    EXPECT_LE(sectors, most) << n;
    EXPECT_EQ(counts.total(Scope::shared, false).conflicts, 0U) << n;
    // The tile of A, which is stored by k, has 48 conflicts in each block. That of B has none.
    EXPECT_EQ(counts.copied(Scope::shared).conflicts, 48 * counts.blocks) << n;
  }
}

/// Rows that go through shared memory are stored by consecutive threads: 128 bytes in each access, which begin
/// anywhere. No access to shared memory has more conflicts than without them.
TEST(Widths, StagedRowsAreStoredWhole) {
  for (auto [n, most] : {std::pair(129, 5), {130, 9}}) {
    const std::string point = "warps=1x2,results=8x8,async=true,stages=3,fragments=true,staged=";
    const model::Counters counts = counts_at({64, n, 40}, point + "true");
    const double sectors = counts.total(Scope::global, true).sectors_per_request();
    EXPECT_GE(sectors, 4) << n;
    EXPECT_LE(sectors, most) << n;
    EXPECT_EQ(counts.total(Scope::shared, false).conflicts, 0U) << n;
    // The copies of A have these conflicts. They are counted as stores, too.
    EXPECT_EQ(counts.copied(Scope::shared).conflicts, 48 * counts.blocks) << n;
    EXPECT_EQ(counts.total(Scope::shared, true).conflicts, 48 * counts.blocks) << n;
  }
  // Whole vectors are stored by lanes. The knob is not asked for.
  Knobs knobs;
  test::rung("fast/gemm").build({64, 128, 40}, DType::f32, Target{}, knobs);
  EXPECT_TRUE(std::ranges::none_of(knobs.asked(), [](const Knob &knob) { return knob.name == "staged"; }));
}

/// A block of an RTX 4090 has 99 KiB of shared memory, and an SM 100 KiB.
TEST(Widths, StagedRowsFitInSharedMemory) {
  const Target small = target_of(find_gpu("RTX 4090"));
  auto staged_with = [&](const std::string &point) {
    Knobs knobs(parse_knobs(point + ",staged=true"));
    Schedule s = test::rung("fast/gemm").build({2047, 2047, 512}, DType::f32, small, knobs);
    EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
    return knobs.chosen().contains("staged");
  };
  EXPECT_TRUE(staged_with("warps=2x2,results=8x8"));
  EXPECT_TRUE(staged_with("warps=2x2,results=16x8"));
  EXPECT_FALSE(staged_with("warps=2x4,results=16x8")) << "128x256 sums have 130 KiB";
  Schedule s(gemm({2047, 2047, 512}, DType::f32), small);
  library::product(s, s.block("AB"),
                   library::RegisterTiles{.warps = {2, 4}, .results = {16, 8}, .staged = true});
  EXPECT_TRUE(s.obligations().empty());
  EXPECT_TRUE(contains(cuda_kernels(lower(s)), "*reinterpret_cast<const float4 *>(&B_shared[")) << "by vectors";
}

TEST(Widths, OfStagedRowsAreRightAtEveryAlignment) {
  expect_right_at_every_alignment("fast/gemm", {DType::f32, DType::f16, DType::i8},
                                  {"warps=1x1,results=4x4,staged=true",
                                   "warps=1x2,results=4x8,bk=8,lanes=2x16,staged=true",
                                   "warps=2x1,results=8x4,fragments=true,last_k=true,staged=true"});
}

/// So do the threads that add parts of a sum. The counts are those of the parts and of the results.
TEST(Widths, ThreadsThatAddPartsAccessNeighbours) {
  for (auto [n, most] : {std::pair(128, 16), {130, 12}, {129, 8}}) {
    const model::Counters counts =
        counts_at({64, n, 256}, "warps=1x2,results=8x8,async=true,stages=3,split_k=2");
    EXPECT_LE(counts.total(Scope::global, true).sectors_per_request(), most) << n;
    const model::RequestSums loads = counts.ordinary(Scope::global, false); // of the parts
    EXPECT_GT(loads.requests, 0U);
    EXPECT_LE(loads.sectors_per_request(), most) << n;
  }
}

/// Columns of a lane that are not neighbours are right for each number of lanes and of warps. (For parts of the
/// sum and for batches, see LibraryTiles.)
TEST(Widths, OfColumnsThatAreSpreadAreRight) {
  expect_right_at_every_alignment("fast/gemm", {DType::f32, DType::f64, DType::bf16},
                                  {"warps=1x1,lanes=2x16,results=4x8", "warps=2x1,lanes=8x4,results=8x12",
                                   "warps=1x2,results=4x4,zigzag=false", "warps=1x1,results=4x8,columns=true",
                                   "warps=1x1,results=8x4,columns=true,snake=true,fragments=true,bk=8"});
}

TEST(Widths, KeepOneOperandAsynchronousIfTheOtherCannotBe) {
  // Rows of A have an odd number of elements of 2 bytes, so only B has asynchronous copies, of 16 bytes.
  std::string text = text_at("tensor/tuned", {64, 64, 129}, DType::bf16, "stages=3");
  EXPECT_TRUE(contains(text, "A_local["));
  EXPECT_FALSE(contains(text, "B_local["));
  EXPECT_TRUE(contains(text, "copy_async_16(&B_shared["));
  EXPECT_FALSE(contains(text, "copy_async_16(&A_shared["));
  // Both: what is loaded one by one is stored by vectors of 4 bytes.
  text = text_at("tensor/tuned", {64, 65, 129}, DType::bf16, "stages=3");
  EXPECT_TRUE(contains(text, "*reinterpret_cast<bf16x2 *>(&A_shared["));
  EXPECT_TRUE(contains(text, "*reinterpret_cast<bf16x2 *>(&B_shared["));
  EXPECT_FALSE(contains(text, "copy_async"));
}

TEST(Widths, AreInTheVariantsOfTheRungs) {
  EXPECT_EQ(fast::variant({64, 64, 64}, DType::f32), std::nullopt);
  EXPECT_EQ(fast::variant({64, 66, 67}, DType::f32),
            (Variant{"narrow", "B and C by 2 elements: N % 4 = 2, A by 1 element: K % 4 = 3"}));
  EXPECT_EQ(fast::variant({64, 64, 66}, DType::f16), (Variant{"narrow", "A by 2 elements: K % 4 = 2"}));
  EXPECT_EQ(fast::variant({64, 66, 64}, DType::i8),
            (Variant{"narrow", "B by 1 element: N % 4 = 2, C by 2 elements: N % 4 = 2"}));
  EXPECT_EQ(fast::variant({64, 65, 67}, DType::f32), (Variant{"scalar", "N % 4 = 1, K % 4 = 3"}));
  EXPECT_EQ(fast::variant({64, 66, 64}, DType::f64), (Variant{"scalar", "N % 4 = 2"}));
  EXPECT_EQ(tensor::variant({64, 68, 66}, DType::bf16),
            (Variant{"narrow", "A by 2 elements: K % 8 = 2, B by 4 elements: N % 8 = 4"}));
  EXPECT_EQ(tensor::variant_nt({64, 65, 66}, DType::bf16),
            (Variant{"narrow", "A and B by 2 elements: K % 8 = 2"}));
  EXPECT_EQ(tensor::variant_nt({64, 64, 66}, DType::i8), (Variant{"scalar", "K % 16 = 2"}));
  Shape transposed = {65, 66, 68};
  transposed.transposed = {.a = true, .b = true};
  EXPECT_EQ(fast::variant(transposed, DType::f32),
            (Variant{"narrow", "C by 2 elements: N % 4 = 2, A by 1 element: M % 4 = 1"}));
  EXPECT_EQ(fast::variant(transposed, DType::f64), (Variant{"scalar", "N % 4 = 2, M % 4 = 1"}));
  EXPECT_EQ(tensor::variant(transposed, DType::bf16),
            (Variant{"narrow", "A by 1 element: M % 8 = 1, B by 4 elements: K % 8 = 4"}));
  EXPECT_EQ(tensor::variant_nt({64, 66, 67}, DType::tf32), (Variant{"scalar", "K % 4 = 3"}));
  Shape sizes = {1, 1, 1};
  sizes.stated = Size{.multiple_of = 2};
  EXPECT_EQ(fast::variant(sizes, DType::f32),
            (Variant{"narrow", "B and C by 2 elements: sizes are multiples of 2, not of 4, "
                               "A by 2 elements: sizes are multiples of 2, not of 4"}));
}

} // namespace
} // namespace nestsmith
