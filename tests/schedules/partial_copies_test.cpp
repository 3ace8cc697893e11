/// Tests asynchronous copies of vectors whose end exists only in part: rows that start at a multiple of a vector
/// but have another length. Results are right at every size, the elements past the end are zeros and are not
/// read, and the texts compute the same on the host.

#include "codegen/cuda.h"
#include "dsl/ir/tensor.h"
#include "schedules/fetch.h"
#include "schedules/library/product.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::expect_right;
using testing::HasSubstr;
using testing::Not;

struct Extents {
  std::int64_t m, n, k;
};

/// The next multiple of 8: rows start at multiples of 16 bytes.
std::int64_t up(std::int64_t n) { return (n + 7) / 8 * 8; }

/// C = 2*A*B, where the rows of A and B have leading dimensions.
Program product(Extents x, std::int64_t lda, std::int64_t ldb, DType dtype) {
  Workload w("product");
  const DType result = arithmetic_type(dtype);
  Tensor a = w.placeholder("A", {x.m, x.k}, dtype, {.leading = lda}),
         b = w.placeholder("B", {x.k, x.n}, dtype, {.leading = ldb});
  Reduce k = reduce_axis("k", x.k);
  Tensor ab = w.compute("AB", {x.m, x.n}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(result, a(i, k)) * cast(result, b(k, j)), k);
  });
  Tensor c = w.compute("C", {x.m, x.n}, {"i", "j"}, [&](Expr i, Expr j) { return ab(i, j) * 2; });
  return w.output({c});
}

/// Tiles of 16 x 16 results. Each of 256 threads copies one vector of 16 bytes of each operand for a step.
struct Tiled {
  Schedule s;
  BlockRef A, B, AB;
  Loop k_outer;

  Tiled(Extents x, DType dtype, std::int64_t stages)
      : s(product(x, up(x.k), up(x.n), dtype)), AB(s.block("AB")) {
    const std::int64_t width = 16 / byte_size(dtype);
    s.set_scope(AB, Scope::local);
    auto [i_outer, i_inner] = s.split(s.loop("i"), {infer, 16});
    auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 16});
    k_outer = s.split(s.loop("k"), {infer, 16 * width})[0];
    s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer});
    auto thread = s.fuse(i_inner, j_inner);
    s.reverse_compute_at(s.block("C"), thread);
    s.bind(i_outer, Axis::block_y);
    s.bind(j_outer, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    A = s.cache_read(AB, "A", Scope::shared);
    B = s.cache_read(AB, "B", Scope::shared);
    for (BlockRef tile : {A, B})
      fetch_async(s, tile, k_outer, 256, {.width = width, .partial = true});
    if (stages > 1)
      s.pipeline(k_outer, {{A, 0, 0}, {B, 0, 1}, {AB, stages - 1, 2}});
  }
};

constexpr Extents odd = {18, 35, 71};

TEST(PartialCopies, AreVectorsWithACount) {
  const std::string text = cuda_kernel(lower(Tiled(odd, DType::f32, 1).s).only());
  EXPECT_THAT(text, HasSubstr(R"(
    copy_async_part_16(&A_shared[tid * 4], &A[i * 72 + A_k], i < 18 ? 4 * min(max(71 - A_k, 0), 4) : 0);
    copy_async_part_16(&B_shared[tid * 4], &B[B_k * 40 + B_j], B_k < 71 ? 4 * min(max(35 - B_j, 0), 4) : 0);
)"));
  EXPECT_THAT(
      text,
      HasSubstr("/// Starts to copy the first `count` of 16 bytes from global to shared memory, and fills the "
                "rest with zeros.\n"
                "static __device__ __forceinline__ void copy_async_part_16(void *to, const void *from, int "
                "count) {\n"
                "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" "));
  EXPECT_THAT(text, Not(HasSubstr("copy_async_16(")));
  EXPECT_THAT(kernel::print(lower(Tiled(odd, DType::f32, 1).s)),
              HasSubstr("B_shared[tid*4 +: 4] = async (B[B_k*40 + B_j +: 4] where B_k < 71 else 0), the first "
                        "min(max(35 - B_j, 0), 4)\n"));
}

TEST(PartialCopies, AreRightAtEverySize) {
  for (DType dtype : {DType::f32, DType::u32, DType::bf16, DType::f16})
    for (Extents x : {Extents{1, 1, 1}, {2, 3, 5}, {15, 17, 63}, {16, 16, 64}, {17, 15, 65}, {7, 31, 127},
                      {33, 29, 131}, {18, 35, 71}, {16, 33, 200}})
      for (std::int64_t stages : {1, 3})
        expect_right(Tiled(x, dtype, stages).s);
}

TEST(PartialCopies, AreRightWhereTheLastVectorOfALongRowIsPartial) {
  for (std::int64_t n : {1021, 1022, 1023, 1024})
    for (DType dtype : {DType::f32, DType::bf16}) {
      expect_right(Tiled({3, n, 37}, dtype, 2).s);
      expect_right(Tiled({5, 19, n}, dtype, 2).s);
    }
}

} // namespace
} // namespace nestsmith
