/// Tests the tutorial `tensor`: products by matrix instructions.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/tensor/rungs.h"
#include "schedules/tensor/tiles.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using tensor::Source;
using tensor::Tiles;

std::string checked(const Schedule &s) {
  if (auto owed = s.obligations(); !owed.empty())
    return owed.front().message;
  SimExecutor simulator;
  CheckResult result = check(s, lower(s), simulator);
  return result.passed ? "" : result.messages().front();
}

constexpr DType multiplied[] = {DType::f16, DType::bf16, DType::tf32, DType::i8,
                                DType::u8,  DType::u16,  DType::u32};

TEST(Tensor, MultipliesEachDTypeAtEdgeSizes) {
  for (DType dtype : multiplied)
    for (const Shape &shape : {Shape{16, 8, 32}, Shape{1, 1, 1}, Shape{33, 17, 31}, Shape{64, 32, 64}})
      for (const Tiles &tiles :
           {Tiles{.source = Source::global, .swizzled = false},
            Tiles{.warps = {2, 2}, .results = {16, 16}, .steps = 2, .source = Source::shared}})
        EXPECT_EQ(checked(tensor::product(shape, dtype, {}, tiles)), "")
            << name(dtype) << " " << to_string(shape);
}

TEST(Tensor, ReadsTilesByLdmatrix) {
  for (DType dtype : multiplied)
    for (auto [swizzled, transposed] : {std::pair{false, false}, {true, false}, {true, true}})
      for (const Shape &shape : {Shape{64, 64, 64}, Shape{65, 63, 33}})
        EXPECT_EQ(checked(tensor::product(transposed ? tensor::with_b_transposed(shape) : shape, dtype, {},
                                          {.warps = {2, 1},
                                           .results = {32, 32},
                                           .steps = 2,
                                           .source = Source::ldmatrix,
                                           .swizzled = swizzled})),
                  "")
            << name(dtype) << " " << to_string(shape) << swizzled;
}

TEST(Tensor, RefusesOtherDTypes) { EXPECT_THROW(tensor::mma({16, 8, 16}, DType::f32, {}), UserError); }

TEST(Tensor, KeepsItsMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(
      tensor::product({17, 9, 33}, DType::i8, {},
                      {.warps = {1, 1}, .results = {16, 8}, .steps = 1, .source = Source::shared})));
}

} // namespace
} // namespace nestsmith
