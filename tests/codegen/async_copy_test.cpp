/// Asynchronous copies as CUDA C++: the functions of the prelude and their calls.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "tests/codegen/hand_built.h"
#include "tests/lowering/tiled_gemm.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::TiledGemm;
using testing::HasSubstr;
using testing::Not;

std::string text_of(std::int64_t k, std::int64_t stages) {
  TiledGemm t(8, 8, k);
  for (BlockRef tile : {t.A, t.B})
    t.s.async_copy(tile);
  t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, stages - 1, 2}});
  return cuda_kernel(lower(t.s).only());
}

/// A wait without a copy still calls its function.
TEST(CudaCopies, HaveTheFunctionsOfEachWait) {
  for (const kernel::Stmt &stmt : {kernel::make(kernel::Wait{0}), kernel::make(kernel::Commit{})}) {
    kernel::Elementwise x;
    EXPECT_THAT(cuda_kernel(x.kernel({stmt, kernel::set(x.out, x.i, kernel::get(x.a, x.i))})),
                HasSubstr("static __device__ __forceinline__ void commit_copies() {"));
  }
}

TEST(CudaCopies, AreInlineAssemblyInFunctions) {
  EXPECT_THAT(text_of(12, 2), HasSubstr(R"(/// Starts to copy 4 bytes from global to shared memory.
static __device__ __forceinline__ void copy_async_4(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
/// Ends the group of the copies that this thread has started.
static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `pending` of this thread's latest groups have not arrived.
template <int pending> static __device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
)"));
}

TEST(CudaCopies, AreCallsWithAddresses) {
  std::string text = text_of(12, 3);
  EXPECT_THAT(text, HasSubstr("  copy_async_4(&A_shared[tid], &A[i * 12 + A_k]);\n"));
  EXPECT_THAT(text,
              HasSubstr("    wait_copies<1>();  // A_shared, B_shared: copied above, read below by AB\n"));
  EXPECT_THAT(text, HasSubstr("  commit_copies();  // A_shared, B_shared\n"));
}

/// Where the mask is false, the instruction reads 0 bytes and fills the rest with zeros.
TEST(CudaCopies, PassTheirMask) {
  std::string text = text_of(11, 2);
  EXPECT_THAT(text, HasSubstr("copy_async_4(void *to, const void *from, bool exists) {\n"
                              "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" "));
  EXPECT_THAT(text, HasSubstr("\"r\"(exists ? 4 : 0)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("copy_async_4(&A_shared[(k_outer + 1) % 2 * 16 + tid], &A[i * 11 + A_k_1], A_k_1 < 11);\n"));
}

TEST(CudaCopies, Of16BytesBypassTheL1Cache) {
  Schedule s(test::gemm(8, 8, 8, DType::f32));
  BlockRef tile = s.cache_read(s.block("AB"), "B", Scope::shared);
  s.compute_at(tile, s.split(s.loop("i"), {infer, 8})[0]);
  s.vectorize(s.split(s.loops(tile).back(), {infer, 4})[1]);
  s.async_copy(tile);
  std::string text = cuda_kernel(lower(s).kernels.front());
  EXPECT_THAT(text, HasSubstr("cp.async.cg.shared.global [%0], [%1], 16;"));
  EXPECT_THAT(text, HasSubstr("copy_async_16(&B_shared["));
  EXPECT_THAT(text, HasSubstr("__shared__ __align__(16) float B_shared["));
}

TEST(CudaCopies, AreOnlyInTextsThatUseThem) {
  EXPECT_THAT(cuda_kernel(lower(TiledGemm(8, 8, 12).s).only()), Not(HasSubstr("asm")));
}

} // namespace
} // namespace nestsmith
