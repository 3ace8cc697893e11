/// Tests schedules of reductions to one element beside what the tests of all rungs show: the last block, what
/// each step gains, the choices for a shape, and other computations.
#include "codegen/emit.h"
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "runtime/check/stored_array.h"
#include "runtime/model/count.h"
#include "runtime/model/traffic.h"
#include "schedules/reductions/reductions.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using test::target;

Schedule one_pass(const Shape &shape, DType dtype, std::int64_t threads, std::int64_t steps) {
  Knobs knobs(KnobValues{{"threads", std::to_string(threads)}, {"steps", std::to_string(steps)}});
  return reductions::in_one_pass(vector_sum(shape, dtype), shape, target, knobs);
}

kernel::Plan plan_of_reduction(const char *rung, const Shape &shape, DType dtype = DType::f32) {
  return lower(test::rung(std::string("reduce/") + rung).build(shape, dtype, target));
}

model::Counters counts_of(const kernel::Plan &plan, std::size_t n = 0) {
  return model::count(plan.kernels.at(n), {});
}

/// One block, a block with one element, and many blocks, which the last one combines by one step or by several.
TEST(Reduce, TheLastBlockIsRightInEveryOrderOfBlocks) {
  for (std::int64_t n : {1, 127, 513, 20000})
    for (DType dtype : {DType::f32, DType::u32}) {
      Schedule s = one_pass({n}, dtype, 128, 1);
      kernel::Plan plan = lower(s);
      EXPECT_EQ(plan.kernels.size(), 1U);
      for (std::uint64_t order : {0, 1, 2}) {
        SimExecutor simulator({.order = order});
        CheckResult result = check(s, plan, simulator);
        EXPECT_TRUE(result.passed) << n << " in the order " << order << "\n" << test::all_messages(result);
      }
    }
}

TEST(Reduce, TheLastBlockKeepsTheMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(one_pass({1000}, DType::u32, 128, 2)));
}

TEST(Reduce, TheLastBlockIsRightForALengthThatIsKnownAtLaunch) {
  Shape any = {1};
  any.stated = Size{.multiple_of = 4};
  Schedule s = one_pass(any, DType::u32, 128, 2);
  kernel::Plan plan = lower(s);
  SimExecutor simulator;
  for (std::int64_t n : {4, 1024, 5004}) {
    CheckResult result = check(s, with_sizes(plan, sizes_for(s.source(), Shape{n}, 0)), simulator);
    EXPECT_TRUE(result.passed) << n << "\n" << test::all_messages(result);
  }
}

TEST(Reduce, TheLastBlockRunsOnTheHostAsInTheSimulator) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  Schedule s = one_pass({3001}, DType::f32, 128, 2);
  kernel::Plan plan = lower(s);
  std::vector<Subject> subjects;
  subjects.push_back({"the sum", std::move(s), std::move(plan)});
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(Reduce, ShufflesNeedOneBarrier) {
  kernel::Plan tree = plan_of_reduction("tree", {1000}), shuffles = plan_of_reduction("shuffles", {1000});
  EXPECT_EQ(counts_of(tree).barriers.warps, 8U * 8U) << "8 barriers, which each of the 8 warps passes";
  EXPECT_EQ(counts_of(shuffles).barriers.warps, 8U);
  EXPECT_GT(counts_of(tree).total(Scope::shared, false).conflicts, 0U) << "a warp reads every second word";
  EXPECT_EQ(counts_of(shuffles).total(Scope::shared, false).conflicts, 0U);
  EXPECT_GT(tree.kernels[0].shared_bytes, 32 * shuffles.kernels[0].shared_bytes);
}

TEST(Reduce, EachBlockHasAPart) {
  EXPECT_EQ(counts_of(plan_of_reduction("shuffles", {1 << 14})).blocks, 1U);
  kernel::Plan blocks = plan_of_reduction("blocks", {1 << 14});
  ASSERT_EQ(blocks.kernels.size(), 2U);
  EXPECT_EQ(counts_of(blocks).blocks, 8U);
  EXPECT_EQ(counts_of(blocks, 1).blocks, 1U);
}

TEST(Reduce, ALoadHas16Bytes) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    model::RequestSums scalar =
                           counts_of(plan_of_reduction("blocks", {1 << 14}, dtype)).total(Scope::global, false),
                       vectors = counts_of(plan_of_reduction("vectors", {1 << 14}, dtype))
                                     .total(Scope::global, false);
    EXPECT_EQ(scalar.sectors, vectors.sectors) << name(dtype);
    EXPECT_EQ(vectors.sectors_per_request(), 16) << name(dtype);
  }
}

TEST(Reduce, OnePassReadsTheSumsOfTheBlocksInTheSameKernel) {
  std::string text = emit(EmitInfo{}, plan_of_reduction("one_pass", {1 << 14}));
  for (const char *part : {"const float4 x_v = *reinterpret_cast<const float4 *>(&x[x_k]);",
                           "const bool last = arrives_last(&arrived[0], 16);",
                           "if (last) {  // all blocks of block have arrived", "y_lane[0] += results["})
    EXPECT_TRUE(contains(text, part));
}

Schedule by_atomics(std::int64_t n, DType dtype) {
  Knobs knobs(KnobValues{{"threads", "128"}, {"steps", "2"}});
  return reductions::by_atomics(vector_sum({n}, dtype), {n}, target, knobs);
}

TEST(Reduce, AtomicsAreRightInEveryOrderOfBlocks) {
  for (std::int64_t n : {1, 127, 1025, 20000})
    for (DType dtype : {DType::f32, DType::u32}) {
      Schedule s = by_atomics(n, dtype);
      kernel::Plan plan = lower(s);
      EXPECT_EQ(plan.kernels.size(), 2U);
      for (std::uint64_t order : {0, 2}) {
        SimExecutor simulator({.order = order});
        CheckResult result = check(s, plan, simulator);
        EXPECT_TRUE(result.passed) << n << " in the order " << order << "\n" << test::all_messages(result);
      }
    }
}

TEST(Reduce, OneThreadOfABlockAddsByAnAtomicOperation) {
  std::string text = emit(EmitInfo{}, plan_of_reduction("atomics", {1 << 14}));
  EXPECT_TRUE(contains(text, "  if (tid < 1) {  // tail of tid\n"
                             "    atomicAdd(&y[0], results);  // not deterministic: in any order\n"))
      << text;
  EXPECT_FALSE(contains(emit(EmitInfo{}, lower(by_atomics(1 << 14, DType::u32))), "not deterministic"));
}

/// The L2 executes the 16 operations on one sector, and the memory is written once.
TEST(Reduce, AtomicsAreCountedAsStores) {
  kernel::Plan plan = plan_of_reduction("atomics", {1 << 14});
  model::Counters counters = counts_of(plan, 1);
  model::RequestSums stores = counters.total(Scope::global, true);
  EXPECT_EQ(stores.requests, 16U);
  EXPECT_EQ(stores.sectors, 16U);
  auto atomic = std::ranges::find_if(counters.accesses, &model::AccessCounts::is_atomic);
  ASSERT_NE(atomic, counters.accesses.end());
  model::TrafficResult moved = model::traffic(plan.kernels[1], {}, counters, {.sms = 4, .l2_bytes = 1 << 20});
  const model::Traffic &own = moved.accesses.at(static_cast<std::size_t>(atomic - counters.accesses.begin()));
  EXPECT_EQ(own.l2_writes, 16U);
  EXPECT_EQ(own.l1_sectors, 0U);
  EXPECT_EQ(own.dram_reads, 1U);
  EXPECT_EQ(own.dram_writes, 1U);
}

TEST(Reduce, AtomicsRunOnTheHostAsInTheSimulator) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  for (DType dtype : {DType::f32, DType::u32}) {
    Schedule s = by_atomics(3001, dtype);
    kernel::Plan plan = lower(s);
    subjects.push_back({std::string(name(dtype)), std::move(s), std::move(plan)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

/// A long vector has more steps for each thread, not more blocks than the GPU needs.
TEST(Reduce, ALongVectorHasLongerParts) {
  for (auto [n, blocks] : {std::pair<std::int64_t, unsigned>(1 << 16, 64), {1 << 20, 1024}, {1 << 24, 1024}})
    EXPECT_EQ(plan_of_reduction("one_pass", {n}).kernels[0].grid()[0], blocks) << n;
}

TEST(Reduce, ReadsNarrowVectorsOrElementsIfNoOthersFit) {
  EXPECT_FALSE(reductions::vector_variant({1 << 14}, DType::f32));
  EXPECT_FALSE(reductions::vector_variant({1002}, DType::f16));
  EXPECT_EQ(reductions::vector_variant({1001}, DType::f32), (Variant{"scalar", "N % 2 = 1"}));
  EXPECT_TRUE(contains(emit(EmitInfo{}, plan_of_reduction("vectors", {1002})), "const float2 x_v"));
}

/// The largest distance of two vectors, with other names than the rungs.
Program farthest(std::int64_t extent) {
  Workload w("farthest");
  Expr n(extent);
  Tensor a = w.placeholder("a", {n}), b = w.placeholder("b", {n});
  Reduce p = reduce_axis("p", n);
  return w.output({w.compute("most", {1}, {"row"},
                             [&](const Expr &) -> Definition { return max_over(abs(a(p) - b(p)), p); })});
}

TEST(Reductions, OfAnyComputationAreRight) {
  for (std::int64_t n : {1, 300, 4099, 4100}) {
    SCOPED_TRACE(n);
    Program program = farthest(n);
    Knobs vectors, pass;
    expect_right(reductions::by_thread(program, target));
    expect_right(reductions::by_tree(program, target));
    expect_right(reductions::by_shuffles(program, target));
    expect_right(reductions::by_blocks(program, target));
    expect_right(reductions::in_vectors(program, {n}, target, vectors));
    expect_right(reductions::in_one_pass(program, {n}, target, pass));
  }
}

TEST(Reductions, AreRefusedForAComputationOfElements) {
  Program program = shifted_relu({8}, DType::f32);
  try {
    reductions::by_shuffles(program, target);
    ADD_FAILURE() << "expected a refusal";
  } catch (const UserError &error) {
    EXPECT_TRUE(contains(error.what(), "block t has 1 loops around it (i), got loops<2>"));
  }
}

} // namespace
} // namespace nestsmith
