/// Tests that the claims about kernels (tests/proofs/kernel_proof.h) are refuted for kernels that are wrong.
/// nestsmith_prove, which the tests run, proves the claims for every rung.

#include "tests/proofs/rungs.h"
#include "tests/runtime/sim/kernel_builder.h"
#include "tests/schedules/rung.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::proofs {
namespace {

using sim::KernelBuilder;
using testing::Contains;
using testing::HasSubstr;

using test::rung;

const Case case_of(const Rung &rung, const std::string &name) {
  for (const Case &at : cases_of(rung))
    if (at.name == name)
      return at;
  throw std::out_of_range(name);
}

TEST(Kernels, OfMultiplesHaveVectorsThatAreProvedAligned) {
  for (const char *name : {"ladder/vectors", "transposed/float4", "tvm_steps/step6"}) {
    Proof proof = lowered(rung(name), case_of(rung(name), "multiples of 4"))->prove();
    EXPECT_GT(proof.proved_of(Claim::aligned), 0) << name;
    EXPECT_THAT(proof.failures, testing::IsEmpty()) << name;
  }
}

/// The offsets of lanes are digits of threadIdx.x.
TEST(Kernels, OfMatrixUnitsAreProvedForAllSizes) {
  for (const char *name : {"tensor/mma", "tensor/swizzled"}) {
    Proof proof = lowered(rung(name), case_of(rung(name), "any size"))->prove();
    EXPECT_GT(proof.proved_of(Claim::in_bounds), 0) << name;
    EXPECT_THAT(proof.failures, testing::IsEmpty()) << name;
  }
}

/// Z3 cannot prove these claims from products of four sizes, so each index of an offset is proved on its own.
TEST(Kernels, OfFourSizesAreProvedByEachIndex) {
  for (const char *name : {"conv/naive", "conv/shared"}) {
    Proof proof = lowered(rung(name), case_of(rung(name), "any size"))->prove();
    EXPECT_GT(proof.proved_of(Claim::in_bounds), 0) << name;
    EXPECT_THAT(proof.failures, testing::IsEmpty()) << name;
  }
}

/// Returns a kernel in which the blocks of a tile share a counter.
Lowered with_arrivals() {
  Knobs knobs(parse_knobs("split_k=4"));
  return Lowered(rung("fast/gemm").build({300, 132, 130}, DType::f32, Target{}, knobs));
}

TEST(Kernels, WithArrivalsAreProved) {
  Lowered split = with_arrivals();
  ASSERT_EQ(kernel::counters_of(split.plan.only()).size(), 1U);
  EXPECT_THAT(split.prove().failures, testing::IsEmpty());
}

/// Returns a kernel whose asynchronous copies of B read parts of vectors. `more`: they read more elements.
Lowered with_parts_of_vectors(std::int64_t more) {
  Shape shape = {67, 129, 71};
  shape.stated = Size{};
  shape.row_multiple = 4;
  Knobs knobs(parse_knobs("async=true"));
  Lowered lowered(rung("fast/gemm").build(shape, DType::f32, Target{}, knobs));
  std::function<kernel::Stmt(const kernel::Stmt &)> longer = [&](const kernel::Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    if (!store || !store->count.exists())
      return kernel::map_children(stmt, longer);
    auto number = [&](std::int64_t n) { return int_imm(n, store->count.dtype()); };
    kernel::Store copy = *store;
    copy.count = min(store->count + number(more), number(store->lanes));
    return kernel::make(std::move(copy), stmt->origin);
  };
  if (more != 0)
    for (kernel::Kernel &kernel : lowered.plan.kernels)
      kernel.body = longer(kernel.body);
  return lowered;
}

TEST(Kernels, WithPartsOfVectorsAreProved) {
  const Proof proof = with_parts_of_vectors(0).prove();
  EXPECT_GT(proof.proved_of(Claim::aligned), 0);
  EXPECT_THAT(proof.failures, testing::IsEmpty());
}

TEST(KernelsThatAreWrong, PartOfAVectorThatIsOneElementTooLongIsNotProved) {
  EXPECT_FALSE(with_parts_of_vectors(1).prove().failures.empty());
}

TEST(KernelsThatAreWrong, ThatArriveAtTheNextCounterAreRefuted) {
  kernel::Kernel kernel = with_arrivals().plan.only();
  std::function<kernel::Stmt(const kernel::Stmt &)> next = [&](const kernel::Stmt &stmt) {
    if (const auto *arrive = kernel::as<kernel::Arrive>(stmt)) {
      kernel::Arrive copy = *arrive;
      copy.index = copy.index + int_imm(1, copy.index.dtype());
      return kernel::make(std::move(copy));
    }
    return kernel::map_children(stmt, next);
  };
  kernel.body = next(kernel.body);
  EXPECT_THAT(prove(kernel).failures, Contains(testing::AllOf(HasSubstr("in bounds"), HasSubstr("arrived["))));
}

kernel::Stmt without_guards(const kernel::Stmt &stmt) {
  if (const auto *guard = kernel::as<kernel::If>(stmt))
    return without_guards(guard->body);
  return kernel::map_children(stmt, without_guards);
}

TEST(KernelsThatAreWrong, WithoutAGuardAreRefutedByTheThreadThatLeaves) {
  kernel::Kernel kernel = lowered(rung("deep_dive/coalesced"), {"", {1000, 777, 333}})->plan.only();
  kernel.body = without_guards(kernel.body);
  EXPECT_THAT(prove(kernel).failures,
              Contains(testing::AllOf(HasSubstr("in bounds in `C["), HasSubstr("refuted by"),
                                      HasSubstr("quotient2 = 1000"))));
}

TEST(KernelsThatAreWrong, WithoutAGuardAreNotProvedForAllSizes) {
  const Rung &coalesced = rung("deep_dive/coalesced");
  for (const char *name : {"multiples of 128 up to 32768", "any size"}) {
    kernel::Kernel kernel = lowered(coalesced, case_of(coalesced, name))->plan.only();
    kernel.body = without_guards(kernel.body);
    if (std::string(name) == "any size")
      EXPECT_THAT(prove(kernel).failures, Contains(HasSubstr("in bounds in `C[")));
    else
      EXPECT_THAT(prove(kernel).failures, testing::IsEmpty());
  }
}

kernel::Stmt without_masks(const kernel::Stmt &stmt) {
  auto unmasked = [](const Expr &e) {
    return replace_nodes(e, [](const Expr &node) {
      const auto *masked = node.as<Load>();
      return masked && masked->mask.exists() ? load(masked->buffer, masked->indices) : Expr();
    });
  };
  if (const auto *store = kernel::as<kernel::Store>(stmt))
    return kernel::make(kernel::Store{store->buffer, store->indices, unmasked(store->value), store->lanes});
  return kernel::map_children(stmt, without_masks);
}

/// The taps around the first and the last pixels read outside of the images.
TEST(KernelsThatAreWrong, OfFourSizesWithoutMasksAreNotProved) {
  const Rung &naive = rung("conv/naive");
  kernel::Kernel kernel = lowered(naive, case_of(naive, "any size"))->plan.only();
  kernel.body = without_masks(kernel.body);
  EXPECT_THAT(prove(kernel).failures, Contains(HasSubstr("in bounds in `X[")));
}

/// An index past the end of a row is in bounds as an offset, in the next row or in the gap of the caller's
/// leading dimension. The claim `dimensions` must be refuted.
TEST(KernelsThatAreWrong, RowThatIsOneElementTooLongIsRefuted) {
  const Rung &coalesced = rung("deep_dive/coalesced");
  Lowered lowering = *lowered(coalesced, case_of(coalesced, "any size"));
  kernel::Kernel kernel = lowering.ordered.only();
  EXPECT_THAT(prove_dimensions(kernel).failures, testing::IsEmpty());
  kernel.body = without_guards(kernel.body);
  EXPECT_THAT(prove_dimensions(kernel).failures, Contains(HasSubstr("dimensions in `")));
}

/// C computes large + t first, which overflows.
TEST(KernelsThatAreWrong, PartialSumThatDoesNotFitIsRefuted) {
  KernelBuilder b("sums");
  Buffer z = b.param("z", 64, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  Expr large = int_imm(2147483647, DType::i32);
  b.store(z, floormod(large + (t - t), int_imm(64, DType::i32)), constant(DType::f32, 0));
  EXPECT_THAT(prove(b.build()).failures, Contains(HasSubstr("width in ")));
}

TEST(KernelsThatAreWrong, OneElementTooFarIsRefuted) {
  KernelBuilder b("one_off");
  Buffer x = b.param("x", 64);
  Buffer y = b.param("y", 64, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  b.store(y, t, sim::at(x, t + int_imm(1, DType::i32)));
  EXPECT_THAT(prove(b.build()).failures,
              testing::ElementsAre(
                  testing::AllOf(HasSubstr("in bounds in `x[t + 1]`"), HasSubstr("refuted by t = 63"))));
}

/// The offset is at most rows^2 - 1. 46341 is the smallest number whose square exceeds 2^31.
TEST(KernelsThatAreWrong, OffsetOf46341SquaredIn32BitsIsRefuted) {
  for (std::int64_t rows : {46340, 46341}) {
    KernelBuilder b("wide");
    Buffer y = b.param("y", rows * rows, Role::output);
    Expr i = b.axis(Axis::block_x, "i", rows), j = b.axis(Axis::block_y, "j", rows);
    b.store(y, i * int_imm(rows, DType::i32) + j, constant(DType::f32, 0));
    auto failures = prove(b.build()).failures;
    if (rows == 46340)
      EXPECT_THAT(failures, testing::IsEmpty());
    else
      EXPECT_THAT(failures,
                  Contains(testing::AllOf(HasSubstr("width in `i*46341 + j`"), HasSubstr("i = 46340"))));
  }
}

TEST(KernelsThatAreWrong, VectorOffItsAlignmentIsRefuted) {
  KernelBuilder b("misaligned");
  Buffer y = b.param("y", 4096);
  Buffer z = b.param("z", 64, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  Var v = b.let_vector("v", KernelBuilder::vector_at(y, t * int_imm(6, DType::i32), 4));
  b.store(z, t, lane(v, 0));
  kernel::Kernel kernel = b.build();
  EXPECT_THAT(prove(kernel).failures, Contains(HasSubstr("aligned in `y[t*6 +: 4]`: refuted by t = ")));
}

TEST(KernelsThatAreWrong, VectorThatNobodyAlignsIsRefuted) {
  for (bool aligned : {false, true}) {
    KernelBuilder b("base");
    Buffer y = b.param("y", 4096);
    Buffer z = b.param("z", 64, Role::output);
    Expr t = b.axis(Axis::thread_x, "t", 64);
    Var v = b.let_vector("v", KernelBuilder::vector_at(y, t * int_imm(4, DType::i32), 4));
    b.store(z, t, lane(v, 0));
    kernel::Kernel kernel = b.build();
    if (aligned)
      kernel.aligned[y] = 16;
    EXPECT_EQ(prove(kernel).failures.empty(), aligned);
  }
}

TEST(KernelsThatAreWrong, DividendThatMayBeNegativeIsRefuted) {
  KernelBuilder b("negative");
  Buffer z = b.param("z", 64, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  b.store(z, floormod(t - int_imm(1, DType::i32), int_imm(64, DType::i32)), constant(DType::f32, 0));
  EXPECT_THAT(prove(b.build()).failures,
              testing::ElementsAre(HasSubstr("division in `(t - 1)%64`: refuted by t = 0")));
}

/// Contradictory facts imply every claim, so unreachable code must be reported.
TEST(KernelsThatAreWrong, CodeThatIsNeverReachedIsReported) {
  KernelBuilder b("dead");
  Buffer z = b.param("z", 64, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  b.when(int_imm(63, DType::i32) < t,
         [&] { b.store(z, t + int_imm(1000, DType::i32), constant(DType::f32, 0)); });
  EXPECT_THAT(prove(b.build()).unreached, Contains(HasSubstr("no thread stores z")));
}

TEST(KernelsThatAreWrong, ArraysThatOverlapAreRefuted) {
  kernel::Kernel kernel = lowered(rung("deep_dive/shared"), {"", {64, 64, 64}})->plan.only();
  kernel.shared[1].byte_offset -= 4;
  EXPECT_THAT(prove(kernel).failures, Contains(HasSubstr("arena in `B_shared`")));
}

} // namespace
} // namespace nestsmith::proofs
