#pragma once
/// Three hand-written kernels for C = A*B. All matrices are row-major.

#include "tests/runtime/sim/kernel_builder.h"

namespace nestsmith::sim {

struct GemmShape {
  std::int64_t M, N, K;
};

struct GemmBuffers {
  Buffer A, B, C;
  GemmBuffers(KernelBuilder &b, GemmShape s, DType dtype)
      : A(b.param("A", s.M * s.K, Role::input, dtype)), B(b.param("B", s.K * s.N, Role::input, dtype)),
        C(b.param("C", s.M * s.N, Role::output, dtype)) {}
};

/// Each thread computes one element without tiles. If `coalesced`, adjacent threads compute adjacent columns.
inline kernel::Kernel naive_gemm(GemmShape s, bool coalesced = false, DType dtype = DType::f32) {
  KernelBuilder b("gemm_naive");
  GemmBuffers g(b, s, dtype);
  Expr bx = b.axis(Axis::block_x, "bx", (s.M + 31) / 32), by = b.axis(Axis::block_y, "by", (s.N + 31) / 32);
  Expr tx = b.axis(Axis::thread_x, "tx", 32), ty = b.axis(Axis::thread_y, "ty", 32);
  Buffer acc = b.local("acc", 1, dtype);
  Expr row = b.let("row", bx * 32 + (coalesced ? ty : tx)), col = b.let("col", by * 32 + (coalesced ? tx : ty));
  b.when(row < int_imm(s.M) && col < int_imm(s.N), [&] {
    b.store(acc, 0, constant(dtype, 0));
    b.loop("k", s.K, [&](Expr k) {
      b.store(acc, 0, at(acc, 0) + at(g.A, row * int_imm(s.K) + k) * at(g.B, k * int_imm(s.N) + col));
    });
    b.store(g.C, row * int_imm(s.N) + col, at(acc, 0));
  });
  return b.build();
}

/// 32x32 tiles of A and B in shared memory. Tests can omit the barriers.
inline kernel::Kernel shared_gemm(GemmShape s, bool before_use = true, bool before_refill = true,
                                  DType dtype = DType::f32) {
  KernelBuilder b("gemm_shared");
  GemmBuffers g(b, s, dtype);
  Expr bx = b.axis(Axis::block_x, "bx", (s.N + 31) / 32), by = b.axis(Axis::block_y, "by", (s.M + 31) / 32);
  Expr tx = b.axis(Axis::thread_x, "tx", 32), ty = b.axis(Axis::thread_y, "ty", 32);
  Buffer As = b.shared("As", 1024, dtype), Bs = b.shared("Bs", 1024, dtype), acc = b.local("acc", 1, dtype);
  Expr row = b.let("row", by * 32 + ty), col = b.let("col", bx * 32 + tx), zero = constant(dtype, 0);
  b.store(acc, 0, zero);
  b.loop("k_outer", (s.K + 31) / 32, [&](Expr ko) {
    b.store(As, ty * 32 + tx,
            load(g.A, {row * int_imm(s.K) + (ko * 32 + tx)}, row < int_imm(s.M) && ko * 32 + tx < int_imm(s.K),
                 zero));
    b.store(Bs, ty * 32 + tx,
            load(g.B, {(ko * 32 + ty) * int_imm(s.N) + col}, ko * 32 + ty < int_imm(s.K) && col < int_imm(s.N),
                 zero));
    if (before_use)
      b.sync_block();
    b.loop("k", 32, [&](Expr k) { b.store(acc, 0, at(acc, 0) + at(As, ty * 32 + k) * at(Bs, k * 32 + tx)); });
    if (before_refill)
      b.sync_block();
  });
  b.when(row < int_imm(s.M) && col < int_imm(s.N), [&] { b.store(g.C, row * int_imm(s.N) + col, at(acc, 0)); });
  return b.build();
}

/// 64x64 elements per block and 8x8 per thread, in steps of 8. The sizes must be multiples of these.
inline kernel::Kernel tiled_gemm(GemmShape s, DType dtype = DType::f32) {
  KernelBuilder b("gemm_tiled");
  GemmBuffers g(b, s, dtype);
  Expr bx = b.axis(Axis::block_x, "bx", s.N / 64), by = b.axis(Axis::block_y, "by", s.M / 64);
  Expr t = b.axis(Axis::thread_x, "t", 64);
  Buffer As = b.shared("As", 512, dtype), Bs = b.shared("Bs", 512, dtype);
  Buffer acc = b.local("acc", 64, dtype), a = b.local("a", 8, dtype), bb = b.local("b", 8, dtype);
  Expr tx = b.let("tx", floormod(t, Expr(8))), ty = b.let("ty", floordiv(t, Expr(8)));
  auto unrolled = [&](const char *name, std::int64_t n, const std::function<void(Expr)> &body) {
    b.loop(name, n, body, kernel::Unrolled{});
  };
  unrolled("i", 64, [&](Expr i) { b.store(acc, i, constant(dtype, 0)); });
  b.loop("k_outer", s.K / 8, [&](Expr ko) {
    unrolled("s", 8, [&](Expr step) {
      Expr e = step * 64 + t, m = floordiv(e, Expr(8)), k = floormod(e, Expr(8));
      b.store(As, e, at(g.A, (by * 64 + m) * int_imm(s.K) + (ko * 8 + k)));
    });
    unrolled("s", 8, [&](Expr step) {
      b.store(Bs, step * 64 + t, at(g.B, (ko * 8 + step) * int_imm(s.N) + (bx * 64 + t)));
    });
    b.sync_block();
    b.loop("k", 8, [&](Expr k) {
      unrolled("i", 8, [&](Expr i) { b.store(a, i, at(As, (ty * 8 + i) * 8 + k)); });
      unrolled("j", 8, [&](Expr j) { b.store(bb, j, at(Bs, k * 64 + (tx * 8 + j))); });
      unrolled("i", 8, [&](Expr i) {
        unrolled("j", 8, [&](Expr j) { b.store(acc, i * 8 + j, at(acc, i * 8 + j) + at(a, i) * at(bb, j)); });
      });
    });
    b.sync_block();
  });
  unrolled("i", 8, [&](Expr i) {
    unrolled("j", 8, [&](Expr j) {
      b.store(g.C, (by * 64 + (ty * 8 + i)) * int_imm(s.N) + (bx * 64 + (tx * 8 + j)), at(acc, i * 8 + j));
    });
  });
  return b.build();
}

} // namespace nestsmith::sim
