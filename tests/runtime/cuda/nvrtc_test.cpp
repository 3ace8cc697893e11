/// Tests the compilation by NVRTC: architectures, resources, errors, headers, and the cache.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/library/product.h"
#include "schedules/workloads.h"
#include "tests/files.h"
#include "tests/runtime/environment.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

namespace fs = std::filesystem;

namespace nestsmith::cuda {
namespace {

using nestsmith::test::says;
using nestsmith::test::ScopedVariable;
using nestsmith::test::TemporaryFolder;

const char *const plain = R"(extern "C" __global__ void plain(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    b[i] = 2.0f * a[i];
}
)";

/// Returns a kernel that holds 64 values in registers at the same time. `bounds` limits the registers.
std::string hungry(const std::string &bounds) {
  return "extern \"C\" __global__ void " + bounds + R"( hungry(const float *a, float *b, int n) {
  float r[64];
  #pragma unroll
  for (int i = 0; i < 64; ++i)
    r[i] = a[threadIdx.x + i * n];
  for (int k = 0; k < n; ++k) {
    #pragma unroll
    for (int i = 0; i < 64; ++i)
      r[i] = r[i] * r[(i * 7 + 1) % 64] + a[k + i];
  }
  #pragma unroll
  for (int i = 0; i < 64; ++i)
    b[threadIdx.x + i * n] = r[i];
}
)";
}

class NvrtcTest : public ::testing::Test {
protected:
  void SetUp() override {
    try {
      nvrtc = &Nvrtc::get();
    } catch (const UserError &error) {
      GTEST_SKIP() << "needs NVRTC: " << error.what();
    }
  }
  std::string refusal(const std::string &source, const std::string &kernel, const std::string &arch) {
    try {
      nvrtc->compile(source, kernel, arch);
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }
  const Nvrtc *nvrtc = nullptr;
};

TEST_F(NvrtcTest, MakesCubinForEveryArchitectureThatItNames) {
  std::vector<std::string> arches = names(nvrtc->arches());
  EXPECT_EQ(std::count(arches.begin(), arches.end(), "sm_75"), 1);
  EXPECT_EQ(std::count(arches.begin(), arches.end(), "sm_90a"), 1);
  for (const std::string &arch : arches) {
    Compiled compiled = nvrtc->compile(plain, "plain", arch);
    EXPECT_EQ(std::string(compiled.cubin.data() + 1, 3), "ELF") << arch;
    EXPECT_EQ(compiled.kernel_name, "plain");
    EXPECT_EQ(to_string(compiled.arch), arch);
    EXPECT_GT(compiled.registers, 0) << arch;
    EXPECT_LT(compiled.registers, 32) << arch;
    EXPECT_EQ(compiled.spill_stores + compiled.spill_loads + compiled.stack_bytes + compiled.shared_bytes, 0);
    EXPECT_FALSE(compiled.from_cache);
  }
}

TEST_F(NvrtcTest, CountsSpillsWhereTheLaunchBoundsForceThem) {
  // On an SM with 64 Ki registers, 2 blocks of 1024 threads leave 32 registers per thread, but the kernel needs
  // more than 64.
  for (const char *arch : {"sm_80", "sm_90"}) {
    Compiled spilling = nvrtc->compile(hungry("__launch_bounds__(1024, 2)"), "hungry", arch);
    EXPECT_EQ(spilling.registers, 32);
    EXPECT_GT(spilling.spill_stores, 0);
    EXPECT_GT(spilling.spill_loads, 0);
    EXPECT_GT(spilling.stack_bytes, 0);
    Compiled roomy = nvrtc->compile(hungry("__launch_bounds__(128)"), "hungry", arch);
    EXPECT_GT(roomy.registers, 64);
    EXPECT_EQ(roomy.spill_stores, 0);
    EXPECT_EQ(roomy.spill_loads, 0);
    EXPECT_EQ(roomy.stack_bytes, 0);
  }
}

TEST_F(NvrtcTest, TellsSharedMemoryAndLocalArrays) {
  const char *source = R"(extern "C" __global__ void both(const float *a, float *b, int n) {
  __shared__ float tile[1024];
  float local[32];
  for (int i = 0; i < 32; ++i)
    local[i] = a[i * n];
  for (int i = 0; i < n; ++i)
    local[i * n % 32] += a[i];
  tile[threadIdx.x] = local[n % 32];
  __syncthreads();
  b[threadIdx.x] = tile[threadIdx.x ^ 1];
})";
  Compiled compiled = nvrtc->compile(source, "both", "sm_80");
  EXPECT_EQ(compiled.shared_bytes, 4096);
  EXPECT_EQ(compiled.stack_bytes, 128);
  EXPECT_EQ(compiled.spill_stores, 0);
}

TEST_F(NvrtcTest, TellsTheKernelsOfOneSourceApart) {
  std::string source = plain + hungry("");
  EXPECT_LT(nvrtc->compile(source, "plain", "sm_80").registers, 32);
  EXPECT_GT(nvrtc->compile(source, "hungry", "sm_80").registers, 64);
}

TEST_F(NvrtcTest, RefusesAnUnknownArchitecture) {
  std::string message = refusal(plain, "plain", "sm_81");
  EXPECT_TRUE(says(message, "unknown architecture \"sm_81\": NVRTC " + nvrtc->version() + " compiles for "));
  EXPECT_TRUE(says(message, "sm_80, "));
  EXPECT_TRUE(says(refusal(plain, "plain", "sm80"), "; did you mean sm_80?"));
  EXPECT_TRUE(says(refusal(plain, "plain", "compute_80"), "unknown architecture \"compute_80\""));
  EXPECT_TRUE(says(refusal(plain, "plain", ""), "unknown architecture \"\""));
  EXPECT_TRUE(says(refusal(plain, "plain", "sm_999"), "; a newer architecture needs a newer NVRTC"));
}

TEST_F(NvrtcTest, RefusesASourceThatDoesNotCompileWithItsLine) {
  try {
    nvrtc->compile("extern \"C\" __global__ void bad(float *a) {\n  a[0] = nothing;\n}\n", "bad", "sm_80");
    FAIL() << "not refused";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_TRUE(says(error.what(), "kernel bad does not compile: bad.cu(2): error: identifier \"nothing\" is "
                                   "undefined"));
    EXPECT_TRUE(says(error.what(), "    2 |   a[0] = nothing;"));
    EXPECT_TRUE(says(error.log(), "1 error detected"));
  }
  const char *too_much =
      "extern \"C\" __global__ void big(float *a) { __shared__ float t[20000]; t[threadIdx.x] = 1; "
      "__syncthreads(); a[0] = t[a[1] > 0]; }";
  EXPECT_TRUE(says(refusal(too_much, "big", "sm_80"), "uses too much shared data"));
}

/// Without a wait before the sums are read, the assembler inserts one.
TEST_F(NvrtcTest, RefusesACallOfMatrixUnitsWhoseOrderTheAssemblerRepairs) {
  const std::string
      before = "extern \"C\" __global__ void f(float *p, unsigned long long d) {\n"
               "  float c[4] = {0, 0, 0, 0};\n"
               "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
               "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, \"\n"
               "               \"%4, %4, 1, 1, 1, 0, 0;\"\n"
               "               : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \"l\"(d));\n"
               "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n",
      wait = "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\"\n"
             "               : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) :: \"memory\");\n",
      after = "  p[threadIdx.x] = c[0] + c[1] + c[2] + c[3];\n}\n";
  EXPECT_GT(nvrtc->compile(before + wait + after, "f", "sm_90a").registers, 0);
  const std::string refused = refusal(before + after, "f", "sm_90a");
  EXPECT_TRUE(says(refused, "kernel f does not order its calls of matrix units as the assembler wants"));
  EXPECT_TRUE(says(refused, "(C7517)"));
}

/// Without the number of threads of a block, the assembler does not know the registers at the entry.
TEST_F(NvrtcTest, RefusesAnInstructionThatTheAssemblerIgnores) {
  const std::string kernel = "f(float *p) { asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\"); p[0] = 1; }";
  EXPECT_GT(nvrtc->compile("extern \"C\" __global__ void __launch_bounds__(256, 1) " + kernel, "f", "sm_90a")
                .registers,
            0);
  const std::string refused = refusal("extern \"C\" __global__ void " + kernel, "f", "sm_90a");
  EXPECT_TRUE(says(refused, "kernel f is not assembled as it is written"));
  EXPECT_TRUE(says(refused, "(C7508)"));
}

/// The number of tiles along k is known at launch. Around a loop that may have no iteration, the assembler
/// would let each call wait for the one before it.
TEST_F(NvrtcTest, KeepsCallsInFlightInALoopOfAnyLength) {
  Shape shape = {256, 256, 256};
  shape.transposed.b = true;
  shape.stated = Size{.multiple_of = 64};
  Schedule s(gemm(shape, DType::bf16), make_target("sm_90a"));
  library::product(s, s.block("AB"),
                   library::MatrixTiles{.warps = {4, 1},
                                        .results = {16, 64},
                                        .steps = 4,
                                        .source = library::Source::tiles,
                                        .stages = 4,
                                        .in_flight = 1,
                                        .load = {4, 40, true}});
  std::string text = cuda_kernel(lower(s).only());
  EXPECT_GT(nvrtc->compile(text, "gemm_nt", "sm_90a").registers, 0);
  const std::string hint = "if (K / 64 < 1)\n      __builtin_unreachable();";
  const std::size_t at = text.find(hint);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_TRUE(says(refusal(text.replace(at, hint.size(), ""), "gemm_nt", "sm_90a"), "(C7515)"));
}

TEST_F(NvrtcTest, RefusesASourceWithoutTheKernel) {
  EXPECT_TRUE(says(refusal(plain, "other", "sm_80"),
                   "the source has no kernel other: it has plain; declare it extern \"C\" __global__"));
  EXPECT_TRUE(says(refusal("__device__ int x;", "other", "sm_80"), "it has none"));
}

TEST_F(NvrtcTest, FindsTheHeadersThatASourceIncludes) {
  if (!find_headers(nvrtc->library().path))
    GTEST_SKIP() << "needs cuda_fp16.h";
  const char *source =
      "#include <cuda_fp16.h>\nextern \"C\" __global__ void h(__half *a) { a[0] = __hadd(a[1], a[2]); }";
  EXPECT_GT(nvrtc->compile(source, "h", "sm_80").registers, 0);
}

TEST_F(NvrtcTest, TakesACompiledKernelFromTheCache) {
  TemporaryFolder folder;
  DiskCache cache(folder.path());
  std::string source = hungry("__launch_bounds__(1024, 2)");
  Compiled first = nvrtc->compile(source, "hungry", "sm_80", &cache);
  Compiled second = nvrtc->compile(source, "hungry", "sm_80", &cache);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.cubin, second.cubin);
  EXPECT_EQ(first.log, second.log);
  EXPECT_EQ(first.arch, second.arch);
  EXPECT_EQ(first.kernel_name, second.kernel_name);
  EXPECT_EQ(first.registers, second.registers);
  EXPECT_EQ(first.spill_stores, second.spill_stores);
  EXPECT_EQ(first.spill_loads, second.spill_loads);
  EXPECT_EQ(first.stack_bytes, second.stack_bytes);
  EXPECT_EQ(first.shared_bytes, second.shared_bytes);
  EXPECT_FALSE(nvrtc->compile(source, "hungry", "sm_90", &cache).from_cache);
  EXPECT_FALSE(nvrtc->compile(source + "\n", "hungry", "sm_80", &cache).from_cache);
  EXPECT_FALSE(nvrtc->compile(source, "hungry", "sm_80", &cache, {"--fmad=false"}).from_cache);
}

TEST_F(NvrtcTest, CompilesAnewWhereTheCacheIsDamagedOrCannotBeWritten) {
  TemporaryFolder folder;
  DiskCache cache(folder.path() / "cache");
  nvrtc->compile(plain, "plain", "sm_80", &cache);
  for (const auto &entry : fs::directory_iterator(folder.path() / "cache"))
    fs::resize_file(entry.path(), 200);
  EXPECT_FALSE(nvrtc->compile(plain, "plain", "sm_80", &cache).from_cache);
  EXPECT_TRUE(nvrtc->compile(plain, "plain", "sm_80", &cache).from_cache);

  std::ofstream(folder.path() / "file") << "\n";
  DiskCache none(folder.path() / "file");
  EXPECT_GT(nvrtc->compile(plain, "plain", "sm_80", &none).registers, 0);
  EXPECT_TRUE(says(none.note(), "kernels are not cached"));
}

TEST(Nvrtc, WhereThereIsNoneSaysWhereItLookedAndWhatToDo) {
  ScopedVariable variable("NESTSMITH_CUDA_PATH", "/nowhere/at/all");
  try {
    Nvrtc::find();
    FAIL() << "found one";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device);
    EXPECT_STREQ(error.what(),
                 "no NVRTC found (searched: NESTSMITH_CUDA_PATH=/nowhere/at/all); `nestsmith doctor` "
                 "says how to get it");
  }
}

const char *const log_text = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 372 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 360 bytes cmem[0]
ptxas info    : Function properties for helper
ptxas         .     99 bytes stack frame, 98 bytes spill stores, 97 bytes spill loads
)";

TEST(PtxasLog, GivesTheResourcesOfEachEntryFunction) {
  EXPECT_EQ(entry_functions(log_text), (std::vector<std::string>{"first", "second"}));
  auto first = resources_of(log_text, "first");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->registers, 40);
  EXPECT_EQ(first->stack_bytes, 16);
  EXPECT_EQ(first->spill_stores, 4);
  EXPECT_EQ(first->spill_loads, 8);
  EXPECT_EQ(first->shared_bytes, 1024);
  auto second = resources_of(log_text, "second");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->registers, 8);
  EXPECT_EQ(second->stack_bytes, 0);
  EXPECT_EQ(second->shared_bytes, 0);
}

TEST(PtxasLog, GivesNothingWhereTheLogSaysTooLittle) {
  EXPECT_FALSE(resources_of(log_text, "third"));
  EXPECT_FALSE(resources_of("", "first"));
  std::string text = log_text;
  EXPECT_FALSE(resources_of(text.substr(0, text.find("Used 40")), "first"));
  text.replace(text.find("spill loads"), 11, "spilt loads");
  EXPECT_FALSE(resources_of(text, "first"));
}

} // namespace
} // namespace nestsmith::cuda
