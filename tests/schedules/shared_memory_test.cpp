/// Tests shared memory above 48 KB: kernels that opt in to it, and targets that have less.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "lowering/lower.h"
#include "lowering/verify_kernel.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/register_tiles.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

/// Schedules 64 x 64 results per block from tiles of 64 x `k` of A and `k` x 64 of B, which have 512*k bytes.
Schedule deep_tiles(const Shape &shape, std::int64_t k, const std::string &arch, DType dtype = DType::f32) {
  Schedule s(gemm(shape, dtype), make_target(arch));
  register_tiles(s, {.results = 4, .k = k, .unroll_k = false});
  return s;
}

TEST(SharedMemory, IsDeclaredUpTo48Kb) {
  kernel::Kernel kernel = lower(deep_tiles({64, 64, 192}, 96, "sm_80")).only();
  EXPECT_EQ(kernel.shared_bytes, 49152);
  EXPECT_EQ(kernel.dynamic_shared_bytes(), 0);
  std::string text = cuda_kernel(kernel);
  EXPECT_TRUE(test::contains(text, "  __shared__ float A_shared[64 * 96];  // 64 x 96 tile of A\n")) << text;
  EXPECT_TRUE(test::contains(emit_launcher({}, kernel), "<<<1, 256, 0, stream>>>"));
}

TEST(SharedMemory, AboveThatIsOneArenaThatTheLaunchNames) {
  kernel::Kernel kernel = lower(deep_tiles({100, 100, 200}, 128, "sm_80")).only();
  EXPECT_EQ(kernel.shared_bytes, 65536);
  EXPECT_EQ(kernel.dynamic_shared_bytes(), 65536);
  std::string text = cuda_kernel(kernel);
  EXPECT_TRUE(test::contains(
      text, "  extern __shared__ __align__(16) unsigned char shared_memory[];  // 65536 bytes, set at launch\n"
            "  float *const A_shared = (float *)shared_memory;  // 64 x 128 tile of A\n"
            "  float *const B_shared = (float *)(shared_memory + 32768);  // 128 x 64 tile of B\n"))
      << text;
  std::string launcher = emit_launcher({}, kernel);
  EXPECT_TRUE(test::contains(launcher, R"(
  // A kernel must opt in to more than 48 KB of shared memory.
  cudaError_t gemm_allowed = cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          65536);
  if (gemm_allowed != cudaSuccess) {
    return gemm_allowed;
  }
  gemm<<<dim3(2, 2), 256, 65536, stream>>>()"))
      << launcher;
}

TEST(SharedMemory, IsAlignedAsItsArraysState) {
  kernel::Kernel small = lower(deep_tiles({64, 64, 192}, 96, "sm_80")).only();
  small.shared[0].alignment = 1024;
  EXPECT_TRUE(test::contains(cuda_kernel(small), "  __shared__ __align__(1024) float A_shared["));
  kernel::Kernel large = lower(deep_tiles({100, 100, 200}, 128, "sm_80")).only();
  large.shared[1].alignment = 1024;
  EXPECT_TRUE(test::contains(cuda_kernel(large), "  extern __shared__ __align__(1024) unsigned char "));
  EXPECT_EQ(kernel::find_breach(large), std::nullopt);
  large.shared[1].alignment = 65536;
  EXPECT_EQ(kernel::find_breach(large).value_or(""),
            "B_shared starts at byte 32768 of shared memory, expected a multiple of 65536");
}

TEST(SharedMemory, AboveThatIsRightInTheSimulator) {
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{64, 64, 128}, Shape{65, 33, 129}}) {
    Schedule s = deep_tiles(shape, 128, "sm_90", DType::u32);
    SimExecutor simulator;
    CheckResult result = check(s, lower(s), simulator);
    EXPECT_TRUE(result.passed) << (result.messages().empty() ? "" : result.messages().front());
    EXPECT_TRUE(result.messages().empty());
  }
}

TEST(SharedMemory, AboveThatCompiles) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  for (const char *arch : {"sm_75", "sm_80", "sm_90", "sm_120"}) {
    kernel::Kernel kernel = lower(deep_tiles({100, 100, 200}, 128, arch)).only();
    cuda::Compiled compiled = nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), arch);
    EXPECT_EQ(compiled.shared_bytes, 0);
    EXPECT_EQ(compiled.spill_stores, 0);
  }
}

TEST(SharedMemory, MoreThanTheTargetHasIsRefused) {
  auto refused = [](std::int64_t k, const std::string &arch, const std::string &message) {
    Schedule s = deep_tiles({256, 256, 1024}, k, arch);
    try {
      lower(s);
      ADD_FAILURE() << "expected a refusal for " << arch;
    } catch (const ScheduleError &error) {
      EXPECT_EQ(error.message(), message + "; bring the caches under an inner loop with compute_at, or use "
                                           "smaller tiles");
      EXPECT_EQ(error.directive(), "auto B_shared = s.cache_read(AB, \"B\", Scope::shared)");
    }
  };
  EXPECT_NO_THROW(lower(deep_tiles({256, 256, 1024}, 128, "sm_75"))); // exactly the capacity of sm_75
  refused(256, "sm_75",
          "a block needs 131072 bytes of shared memory (A_shared 65536, B_shared 65536), but sm_75 has "
          "65536");
  refused(128, "sm_61",
          "a block needs 65536 bytes of shared memory (A_shared 32768, B_shared 32768), but sm_61 has "
          "49152");
  refused(256, "sm_86",
          "a block needs 131072 bytes of shared memory (A_shared 65536, B_shared 65536), but sm_86 has "
          "101376");
  EXPECT_NO_THROW(lower(deep_tiles({256, 256, 1024}, 256, "sm_80")));
  refused(512, "sm_90a",
          "a block needs 262144 bytes of shared memory (A_shared 131072, B_shared 131072), but sm_90a "
          "has 232448");
}

TEST(SharedMemory, OfATransposedTileMeetsInOneBankUnlessPaddedOrSwizzled) {
  // Returns the words, modulo 32 banks, that the 32 lanes of a warp read from the tile of B at k = 5.
  auto banks = [](const char *name) {
    for (const Rung &rung : builtin_rungs())
      if (rung.full_name() == name) {
        kernel::Kernel kernel = lower(rung.build({64, 64, 64}, DType::f32, Target{})).only();
        std::set<std::int64_t> banks;
        std::map<Var, Scalar> values;
        Var lane = kernel.indices.back().var;
        kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
          if (const auto *loop = kernel::as<kernel::Loop>(stmt))
            values[loop->var] = Scalar::of<std::int32_t>(DType::i32, 5);
          kernel::each_expr(stmt, [&](const Expr &e) {
            walk(e, [&](const Expr &node) {
              const auto *access = node.as<Load>();
              if (!access || access->buffer->name != "B_shared")
                return;
              for (std::int32_t n = 0; n < 32; ++n) {
                values[lane] = Scalar::of(DType::i32, n);
                banks.insert(evaluate(access->indices[0], values).as<std::int32_t>() % 32);
              }
            });
          });
        });
        return banks.size();
      }
    return std::size_t{0};
  };
  EXPECT_EQ(banks("principles/tile32"), 32U);
  EXPECT_EQ(banks("principles/transposed"), 1U);
  EXPECT_EQ(banks("principles/padded"), 32U);
  EXPECT_EQ(banks("principles/swizzled"), 32U);
}

TEST(MakeTarget, HasTheLimitsOfTheArchitecture) {
  EXPECT_EQ(make_target("sm_90").shared_bytes_per_block, 232448);
  EXPECT_EQ(make_target("sm_90a").shared_bytes_per_block, 232448);
  EXPECT_EQ(to_string(make_target("sm_90a").arch), "sm_90a");
  EXPECT_EQ(make_target("sm_86").blocks_per_sm, 16);
  EXPECT_EQ(make_target("sm_75").threads_per_sm, 1024);
  EXPECT_EQ(make_target("sm_75").shared_bytes_reserved, 0);
  for (const char *unknown : {"sm_50", "sm_900"}) {
    EXPECT_EQ(to_string(make_target(unknown).arch), unknown);
    EXPECT_EQ(make_target(unknown).shared_bytes_per_block, kernel::static_shared_limit);
  }
  Target target = make_target("sm_80"), usual;
  EXPECT_EQ(target.shared_bytes_per_block, usual.shared_bytes_per_block);
  EXPECT_EQ(target.shared_bytes_per_sm, usual.shared_bytes_per_sm);
  EXPECT_EQ(target.threads_per_sm, usual.threads_per_sm);
  EXPECT_EQ(target.blocks_per_sm, usual.blocks_per_sm);
}

} // namespace
} // namespace nestsmith
