/// Tests schedules of transposes beside what the tests of all rungs show: the counts that each rung promises,
/// and other computations.
#include "codegen/emit.h"
#include "dsl/ir/tensor.h"
#include "runtime/model/count.h"
#include "schedules/transposes/transposes.h"
#include "schedules/workloads.h"
#include "tests/contains.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_right;
using test::target;

kernel::Plan plan_of_transpose(const std::string &rung, const Shape &shape, DType dtype = DType::f32) {
  return lower(test::rung("transpose/" + rung).build(shape, dtype, target));
}

model::Counters counts_of(const std::string &rung, DType dtype = DType::f32) {
  return model::count(plan_of_transpose(rung, {256, 128}, dtype).kernels.at(0), {});
}

TEST(Transpose, ATileCoalescesLoadsAndStores) {
  model::Counters naive = counts_of("naive"), shared = counts_of("shared");
  EXPECT_EQ(naive.total(Scope::global, false).sectors_per_request(), 32);
  EXPECT_EQ(naive.total(Scope::global, true).sectors_per_request(), 4);
  EXPECT_EQ(shared.total(Scope::global, false).sectors_per_request(), 4);
  EXPECT_EQ(shared.total(Scope::global, true).sectors_per_request(), 4);
}

/// Elements of 2 bytes share a word in pairs, so 16 lanes meet in each bank.
TEST(Transpose, PaddingAndPermutationAvoidBankConflicts) {
  EXPECT_EQ(counts_of("shared").total(Scope::shared, false).wavefronts_per_request(), 32);
  EXPECT_EQ(counts_of("shared", DType::f16).total(Scope::shared, false).wavefronts_per_request(), 16);
  for (const char *rung : {"padded", "swizzled"})
    for (DType dtype : {DType::f32, DType::f16})
      for (bool stores : {false, true})
        EXPECT_EQ(counts_of(rung, dtype).total(Scope::shared, stores).conflicts, 0U)
            << rung << " " << name(dtype);
}

TEST(Transpose, APermutationTakesNoMemory) {
  EXPECT_EQ(plan_of_transpose("padded", {64, 64}).kernels[0].shared_bytes, 32 * 33 * 4);
  EXPECT_EQ(plan_of_transpose("swizzled", {64, 64}).kernels[0].shared_bytes, 32 * 32 * 4);
}

TEST(Transpose, BothEndsHave16Bytes) {
  for (DType dtype : {DType::f32, DType::u32, DType::f16, DType::bf16}) {
    model::Counters vectors = counts_of("vectors", dtype);
    for (bool stores : {false, true}) {
      EXPECT_EQ(vectors.total(Scope::global, stores).sectors_per_request(), 16) << name(dtype);
      EXPECT_EQ(vectors.total(Scope::shared, stores).conflicts, 0U) << name(dtype);
    }
  }
  std::string text = emit(EmitInfo{}, plan_of_transpose("vectors", {256, 128}));
  EXPECT_TRUE(contains(text, "const float4 X_v = *reinterpret_cast<const float4 *>(&X["));
  EXPECT_TRUE(contains(text, "*reinterpret_cast<float4 *>(&Y["));
}

TEST(Transpose, ReadsNarrowVectorsOrElementsIfNoOthersFit) {
  EXPECT_FALSE(transposes::vector_variant({6, 10}, DType::f32));
  EXPECT_EQ(transposes::vector_variant({6, 9}, DType::f32), (Variant{"scalar", "N % 2 = 1"}));
  EXPECT_EQ(transposes::vector_variant({7, 9}, DType::f16), (Variant{"scalar", "M % 2 = 1, N % 2 = 1"}));
  EXPECT_TRUE(contains(emit(EmitInfo{}, plan_of_transpose("vectors", {70, 66})), "const float2 X_v"));
  for (DType dtype : {DType::f32, DType::f16})
    expect_right(test::rung("transpose/vectors").build({70, 132}, dtype, target));
}

/// The bits of a transposed matrix in another type, with other names than the rungs.
Program widened(const Shape &shape) {
  Workload w("widened");
  Tensor a = w.placeholder("a", {shape[0], shape[1]}, DType::f16);
  return w.output({w.compute("b", {shape[1], shape[0]}, {"row", "column"},
                             [&](const Expr &row, const Expr &column) -> Definition {
                               return cast(DType::f32, a(column, row)) * 2 + 1;
                             })});
}

TEST(Transposes, OfAnyComputationAreRight) {
  for (const Shape &shape : {Shape{1, 1}, Shape{33, 5}, Shape{40, 100}}) {
    SCOPED_TRACE(to_string(shape));
    Program program = widened(shape);
    expect_right(transposes::by_element(program, target));
    expect_right(transposes::in_tiles(program, target));
    expect_right(transposes::in_padded_tiles(program, target));
    expect_right(transposes::in_swizzled_tiles(program, target));
    expect_right(transposes::in_vectors(program, shape, target));
  }
}

TEST(Transposes, AreRefusedForAReductionOfRows) {
  try {
    transposes::in_tiles(gemv({8, 8}, DType::f32), target);
    ADD_FAILURE() << "expected a refusal";
  } catch (const UserError &error) {
    EXPECT_TRUE(contains(error.what(),
                         "block y reduces over j_outer, so the iterations j_outer = 0 and j_outer = 1 would "
                         "update one element at the same time"));
  }
}

} // namespace
} // namespace nestsmith
