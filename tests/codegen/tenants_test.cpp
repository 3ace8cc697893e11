/// Tests the text of shared arrays that use the memory of other arrays.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "tests/runtime/sim/stages.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Tenants, AreConstantPointersToStaticArrays) {
  std::string text = cuda_kernel(lower(test::scan({.columns = 16, .threads = 16, .dtype = DType::f32})).only());
  EXPECT_THAT(text,
              HasSubstr("  __shared__ float T0[16];  // 1 x 16 tile of X\n"
                        "  __shared__ float T1[16];  // 1 x 16 results of one block\n"
                        "  float *const T2 = T0;  // 1 x 16 results of one block, while T0 is not in use\n"
                        "  float *const T3 = T1;  // 1 x 16 results of one block, while T1 is not in use\n"));
  EXPECT_THAT(text,
              HasSubstr("  // T1: written above, read below by T2; T2: takes the memory of T0, read above "
                        "by T1\n  __syncthreads();\n"));
}

TEST(Tenants, ArePartsOfADynamicArray) {
  std::string text =
      cuda_kernel(lower(test::scan({.rows = 1, .columns = 8192, .threads = 256, .dtype = DType::f32})).only());
  EXPECT_THAT(text, HasSubstr("unsigned char shared_memory[];  // 65536 bytes, set at launch\n"
                              "  float *const T0 = (float *)shared_memory;"));
  EXPECT_THAT(text, HasSubstr("float *const T3 = (float *)(shared_memory + 32768);"));
  EXPECT_THAT(text, HasSubstr("1 x 8192 results of one block, while T0 is not in use\n"));
  EXPECT_THAT(text, Not(HasSubstr("__shared__ float")));
}

/// A kernel with an array of 16 elements in the memory of an array of 64 elements. It begins at byte `at`.
kernel::Kernel of_types(DType first, DType last, std::int64_t at) {
  auto buffer = [](const char *name, DType dtype, std::int64_t elements, Scope scope) {
    return std::make_shared<const BufferNode>(BufferNode{
        name, dtype, {Expr(elements)}, scope, scope == Scope::global ? Role::output : Role::temporary});
  };
  kernel::Kernel kernel;
  kernel.name = "types";
  Var tid = make_var("tid", DType::i32);
  kernel.indices = {{Axis::thread_x, tid, 16}};
  Buffer y = buffer("y", last, 16, Scope::global), small = buffer("small", first, 16, Scope::shared),
         large = buffer("large", last, 64, Scope::shared);
  kernel.params = {y};
  kernel.shared = {{small, at}, {.buffer = large, .content = {{kernel::Content::Kind::tile, {64}, y}}}};
  kernel.shared[0].tenancy = Tenancy{1, at, 16 * byte_size(first)};
  kernel.shared_bytes = 64 * byte_size(last);
  kernel.body = kernel::make_seq({kernel::make(kernel::Store{small, {tid}, constant(first, 1)}),
                                  kernel::make(kernel::Barrier{}),
                                  kernel::make(kernel::Store{large, {tid}, constant(last, 1)}),
                                  kernel::make(kernel::Store{y, {tid}, load(large, {tid})})});
  return kernel;
}

TEST(Tenants, OfOtherTypesAreCastAndAligned) {
  EXPECT_THAT(cuda_kernel(of_types(DType::i32, DType::f32, 0)),
              HasSubstr("  __shared__ float large[64];  // 64 tile of y\n"
                        "  int *const small = (int *)large;  // while large is not in use\n"));
  EXPECT_THAT(cuda_kernel(of_types(DType::u16, DType::f32, 32)),
              HasSubstr("  __shared__ float large[64];  // 64 tile of y\n"
                        "  unsigned short *const small = (unsigned short *)(large + 8);"));
  EXPECT_THAT(cuda_kernel(of_types(DType::f32, DType::u8, 0)),
              HasSubstr("  __shared__ __align__(4) unsigned char large[64];  // 64 tile of y\n"
                        "  float *const small = (float *)large;"));
  kernel::Kernel vectors = of_types(DType::f32, DType::f32, 64);
  vectors.shared[0].alignment = 16;
  EXPECT_THAT(cuda_kernel(vectors), HasSubstr("  __shared__ __align__(16) float large[64];  // 64 tile of y\n"
                                              "  float *const small = large + 16;"));
}

} // namespace
} // namespace nestsmith
