/// Tests one symbolic kernel of every rung for all values of M, N and K.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/rung.h"
#include "tests/dsl/support.h"
#include "tests/golden.h"
#include "tests/schedules/functions.h"
#include "tests/schedules/rung.h"
#include "tests/schedules/sample.h"

#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

Shape symbolic(Shape shape, Size stated = {}) {
  shape.stated = stated;
  return shape;
}

std::string text_of(const kernel::Plan &plan) {
  std::string text;
  for (const kernel::Kernel &kernel : plan.kernels)
    text += cuda_kernel(kernel);
  return text;
}

using test::rung;

class OneKernel : public testing::TestWithParam<test::Part> {};

/// There are gaps between the rows, of a different length for each matrix.
TEST_P(OneKernel, ServesEveryShape) {
  const Rung &rung = *GetParam().rung;
  Shape ragged = rung.tile, small = rung.tile;
  for (std::int64_t &extent : ragged)
    ++extent;
  small.assign(small.size(), 1);
  std::set<Shape> shapes = {small, rung.tile, ragged};
  if (rung.tile.size() == 3)
    shapes.insert({65, 33, 17});
  SimExecutor simulator;
  for (DType wanted : test::sample(rung, std::vector<DType>{DType::u32, DType::f32}, 1, GetParam().others)) {
    DType dtype = test::rounds(rung, rung.dtype(wanted)) ? DType::u32 : rung.dtype(wanted);
    std::string text;
    for (const Shape &shape : shapes) {
      Schedule schedule = rung.build(symbolic(shape), dtype, Target{});
      kernel::Plan plan = lower(schedule);
      if (text.empty())
        text = text_of(plan);
      EXPECT_EQ(text_of(plan), text) << "the text depends on the shape";
      std::vector<std::int64_t> sizes = sizes_for(schedule.source(), shape, 3);
      for (std::size_t n = shape.size(); n < sizes.size(); ++n)
        sizes[n] += static_cast<std::int64_t>(n);
      CheckResult result = check(schedule, with_sizes(plan, sizes), simulator, {.exact_only = true});
      EXPECT_TRUE(result.passed) << testing::PrintToString(shape);
      for (const std::string &message : result.messages())
        ADD_FAILURE() << message;
    }
  }
}

INSTANTIATE_SAMPLED(OneKernel);

class OneText : public testing::TestWithParam<test::Part> {};

/// For one of the oldest and the newest encoding of instructions. tests/nvrtc_all.sh compiles the text of each
/// rung for all sizes for all architectures.
TEST_P(OneText, IsTakenByAnArchitecture) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  const Rung *rung = GetParam().rung;
  kernel::Plan plan = lower(rung->build(symbolic(rung->tile), rung->dtype(), Target{}));
  for (const std::string &arch : test::sample(*rung, test::that_take(*rung, {"sm_75", "sm_90"}), 1)) {
    for (const kernel::Kernel &kernel : plan.kernels) {
      cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
      EXPECT_EQ(compiled.spill_stores + compiled.spill_loads, 0);
      EXPECT_EQ(compiled.shared_bytes, kernel.shared_bytes - kernel.dynamic_shared_bytes());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, OneText, testing::ValuesIn(test::parts(false)),
                         [](const auto &info) { return test::test_name(*info.param.rung); });

TEST(Symbolic, KernelReadsAsIfWrittenByHand) {
  for (const char *name : {"deep_dive/naive", "deep_dive/shared"}) {
    const Rung &tested = rung(name);
    kernel::Plan plan = lower(tested.build(symbolic({1, 1, 1}), DType::f32, Target{}));
    EmitInfo info;
    info.title = name;
    EXPECT_TRUE(matches_golden(tested.tutorial + "_" + tested.name + "_symbolic.cu", emit(info, plan)));
  }
}

/// If the stated sizes are small, offsets have 32 bits. A size that is a multiple of the tile needs no guard.
TEST(Symbolic, KernelOfSmallMultiplesHasNeitherGuardsNorWideOffsets) {
  const Rung &shared = rung("deep_dive/shared");
  Size stated{.max = 32768, .multiple_of = 32};
  kernel::Plan plan = lower(shared.build(symbolic({32, 32, 32}, stated), DType::f32, Target{}));
  std::string text = text_of(plan);
  EXPECT_FALSE(test::contains(text, "long long")) << text;
  EXPECT_FALSE(test::contains(text, "if (")) << text;
  EXPECT_TRUE(matches_golden("deep_dive_shared_symbolic_multiples.cu", text));
}

TEST(Symbolic, KernelOfLargeSizesHasWideOffsets) {
  const Rung &shared = rung("deep_dive/shared");
  std::string text = text_of(lower(shared.build(symbolic({1, 1, 1}, {.max = 70000}), DType::f32, Target{})));
  EXPECT_TRUE(test::contains(text, "(long long)")) << text;
}

TEST(Symbolic, SizesThatBreakAnAssumptionAreRefused) {
  const Rung &shared = rung("deep_dive/shared");
  Schedule schedule =
      shared.build(symbolic({4, 4, 4}, {.min = 4, .max = 1 << 22, .multiple_of = 4}), DType::f32, Target{});
  kernel::Plan plan = lower(schedule);
  auto refused = [&](std::vector<std::int64_t> sizes, const std::string &message) {
    test::expect_user_error([&] { with_sizes(plan, sizes); }, ExitCode::usage, message);
  };
  EXPECT_EQ(with_sizes(plan, std::vector<std::int64_t>{4, 8, 12, 12, 8, 16}).values.size(), 6U);
  refused({6, 8, 12, 12, 8, 8}, "M is 6, but the kernel gemm was made for sizes where it is a multiple of 4");
  refused({4, 0, 12, 12, 8, 8}, "N is 0, but the kernel gemm was made for sizes where it is at least 4");
  refused({4, 8, 1 << 23, 1 << 23, 8, 8},
          "K is 8388608, but the kernel gemm was made for sizes where it is at most "
          "4194304");
  refused({4, 8, 12, 8, 8, 8},
          "lda, the leading dimension of A, is 8, but the kernel gemm was made for sizes where it "
          "is at least K");
  refused({1 << 22, 8, 12, 12, 8, 8},
          "the grid's extent on blockIdx.y is 131072, but the kernel gemm was made for "
          "sizes where it is at most 65535");
}

/// The tiles are filled with zeros past the ends of the sizes, so only loads and the final stores have guards.
TEST(Symbolic, FillsTheTailsOfVectorCopies) {
  Shape shape = symbolic({1, 1, 1}, {.multiple_of = 4});
  std::string text = text_of(lower(rung("ladder/warps").build(shape, DType::f32, Target{})));
  EXPECT_TRUE(test::contains(text, "A_k < K ? *reinterpret_cast<const float4 *>")) << text;
  EXPECT_FALSE(test::contains(text, "A_shared_k < K")) << text;
}

/// The launcher must check every assumption of the plan, one per line.
TEST(Symbolic, LauncherChecksEveryAssumption) {
  const Rung &worklog5 = rung("worklog/5");
  kernel::Plan plan = lower(worklog5.build(symbolic({1, 1, 1}, {.multiple_of = 2}), DType::f32, Target{}));
  std::string text = emit({}, plan);
  for (const char *check : {"M < 0", "1073741824 < M", "M % 2 != 0", "if (lda < K)\n", "if (ldb < N)\n",
                            "if (ldc < N)\n", "if (65535 < (M + 126) / 128)\n", "if (K == 0)\n",
                            "overlap(A, ((M - 1) * lda + K) * sizeof(float), C, ((M - 1) * ldc + N) * "
                            "sizeof(float))"})
    EXPECT_TRUE(test::contains(text, check)) << check << " is not in\n" << text;
}

} // namespace
} // namespace nestsmith
