/// Tests kernels for every size: they are lowered with symbolic sizes, specialised, and run.

#include "dsl/ir/specialise.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

struct Stated {
  Size extents = {}, leading = {};
};

/// C = A*B with a leading dimension for each matrix.
Program symbolic_product(const Stated &stated = {}) {
  Workload w("product");
  Expr M = w.size("M", stated.extents), N = w.size("N", stated.extents), K = w.size("K", stated.extents);
  Expr lda = w.size("lda", stated.leading), ldb = w.size("ldb", stated.leading),
       ldc = w.size("ldc", stated.leading);
  Tensor A = w.placeholder("A", {M, K}, DType::u32, {.leading = lda});
  Tensor B = w.placeholder("B", {K, N}, DType::u32, {.leading = ldb});
  Reduce k = reduce_axis("k", K);
  Tensor C = w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); });
  return w.output({{C, {.leading = ldc}}});
}

/// A schedule with tiles of 16 x 16 in shared memory.
Schedule tiled(const Stated &stated = {}) {
  Schedule s(symbolic_product(stated));
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto [i_outer, i_inner] = s.split(i, {infer, 16});
  auto [j_outer, j_inner] = s.split(j, {infer, 16});
  auto [k_outer, k_inner] = s.split(k, {infer, 16});
  s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer, k_inner});
  auto writeback = s.cache_write(C, Scope::local);
  s.reverse_compute_at(writeback, j_inner);
  s.bind(i_outer, Axis::block_y);
  s.bind(j_outer, Axis::block_x);
  s.bind(i_inner, Axis::thread_y);
  s.bind(j_inner, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(C, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops_below(tile, k_outer);
    s.bind(loops[0], Axis::thread_y);
    s.bind(loops[1], Axis::thread_x);
  }
  return s;
}

TEST(Sizes, MakeOneKernelForAll) {
  EXPECT_EQ(print(lower(tiled())),
            "kernel product(A[M, K]: u32, B[K, N]: u32, C[M, N]: u32, M: i32 size, N: i32 size, K: i32 size, "
            "lda: i32 size, ldb: i32 size, ldc: i32 size):\n"
            "  let j_outer: i32 = blockIdx.x of (N + 15)//16\n"
            "  let i_outer: i32 = blockIdx.y of (M + 15)//16\n"
            "  let tx: i32 = threadIdx.x of 16\n"
            "  let ty: i32 = threadIdx.y of 16\n"
            "  shared A_shared[256]: u32  # 16 x 16 tile of A\n"
            "  shared B_shared[256]: u32 at byte 1024  # 16 x 16 tile of B\n"
            "  local C_local[1]: u32  # 1 x 1 part of C\n"
            "  let i: i32 = i_outer*16 + ty\n"
            "  let j: i32 = j_outer*16 + tx\n"
            "  C_local[0] = 0\n"
            "  for k_outer < (K + 15)//16:\n"
            "    let A_k: i32 = k_outer*16 + tx\n"
            "    let B_k: i32 = k_outer*16 + ty\n"
            "    A_shared[ty*16 + tx] = (A[i64(i)*i64(lda) + i64(A_k)] where i < M and A_k < K else 0)\n"
            "    B_shared[ty*16 + tx] = (B[i64(B_k)*i64(ldb) + i64(j)] where B_k < K and j < N else 0)\n"
            "    sync block  # A_shared, B_shared: written above, read below by C_local\n"
            "    for k_inner < 16:\n"
            "      C_local[0] = C_local[0] + A_shared[ty*16 + k_inner]*B_shared[k_inner*16 + tx]\n"
            "    sync block  # A_shared, B_shared: read above by C_local, overwritten by the next k_outer\n"
            "  if i < M and j < N:  # tail of i, j\n"
            "    C[i64(i)*i64(ldc) + i64(j)] = C_local[0]\n");
}

TEST(Sizes, ThatAreMultiplesNeedNoGuards) {
  EXPECT_EQ(print(lower(tiled({.extents = {.max = 32768, .multiple_of = 16}, .leading = {.max = 32768}}))),
            "kernel product(A[M, K]: u32, B[K, N]: u32, C[M, N]: u32, M: i32 size, N: i32 size, K: i32 size, "
            "lda: i32 size, ldb: i32 size, ldc: i32 size):\n"
            "  let j_outer: i32 = blockIdx.x of N//16\n"
            "  let i_outer: i32 = blockIdx.y of M//16\n"
            "  let tx: i32 = threadIdx.x of 16\n"
            "  let ty: i32 = threadIdx.y of 16\n"
            "  shared A_shared[256]: u32  # 16 x 16 tile of A\n"
            "  shared B_shared[256]: u32 at byte 1024  # 16 x 16 tile of B\n"
            "  local C_local[1]: u32  # 1 x 1 part of C\n"
            "  let i: i32 = i_outer*16 + ty\n"
            "  let j: i32 = j_outer*16 + tx\n"
            "  C_local[0] = 0\n"
            "  for k_outer < K//16:\n"
            "    let A_k: i32 = k_outer*16 + tx\n"
            "    let B_k: i32 = k_outer*16 + ty\n"
            "    A_shared[ty*16 + tx] = A[i*lda + A_k]\n"
            "    B_shared[ty*16 + tx] = B[B_k*ldb + j]\n"
            "    sync block  # A_shared, B_shared: written above, read below by C_local\n"
            "    for k_inner < 16:\n"
            "      C_local[0] = C_local[0] + A_shared[ty*16 + k_inner]*B_shared[k_inner*16 + tx]\n"
            "    sync block  # A_shared, B_shared: read above by C_local, overwritten by the next k_outer\n"
            "  C[i*ldc + j] = C_local[0]\n");
}

} // namespace
} // namespace nestsmith
