#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"
#include "tools/pages/mistakes/kernel_body.h"

// The variables have the post's names. NOLINTBEGIN(readability-identifier-naming)
namespace nestsmith::mistake {

/// The 1-D tiling of deep_dive: 64 x 64 x 8 tiles, 8 results a thread, with B fetched at [innerRowB,
/// innerRowB].
HandWritten inner_row_b(bool mended) {
  constexpr std::int64_t M = 64, N = 128, K = 32, BM = 64, BN = 64, BK = 8, TM = 8;
  Program computation = gemm({M, N, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "tile1d");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr alpha = kernel.scalars[0], beta = kernel.scalars[1];
  Expr bkRow = thread_index(kernel, Axis::block_y, "bkRow", M / BM);
  Expr bkCol = thread_index(kernel, Axis::block_x, "bkCol", N / BN);
  Expr tid = thread_index(kernel, Axis::thread_x, "tid", BM * BN / TM);
  Buffer sA = array(kernel, Scope::shared, "sA", BM * BK), sB = array(kernel, Scope::shared, "sB", BK * BN);
  Buffer sum = array(kernel, Scope::local, "sum", TM);

  KernelBody body;
  Expr innerRowA = body.let("innerRowA", floordiv(tid, BK)),
       innerColA = body.let("innerColA", floormod(tid, BK));
  Expr innerRowB = body.let("innerRowB", floordiv(tid, BN)),
       innerColB = body.let("innerColB", floormod(tid, BN));
  Expr column = mended ? innerColB : innerRowB;
  Expr tRow = body.let("tRow", floordiv(tid, BN)), tCol = body.let("tCol", floormod(tid, BN));
  body.loop("resIdx", TM, [&](KernelBody &inside, const Expr &res) { inside.store(sum, res, 0.0F); });
  body.loop("bkIdx", K / BK, [&](KernelBody &tile, const Expr &bk) {
    tile.store(sA, innerRowA * BK + innerColA, load(A, {(bkRow * BM + innerRowA) * K + bk * BK + innerColA}));
    tile.store(sB, innerRowB * BN + innerColB, load(B, {(bk * BK + innerRowB) * N + bkCol * BN + column}));
    tile.barrier();
    tile.loop("dotIdx", BK, [&](KernelBody &dot, const Expr &k) {
      dot.loop("resIdx", TM, [&](KernelBody &inside, const Expr &res) {
        inside.add(sum, res, load(sA, {(tRow * TM + res) * BK + k}) * load(sB, {k * BN + tCol}));
      });
    });
    tile.barrier();
  });
  body.loop("resIdx", TM, [&](KernelBody &inside, const Expr &res) {
    Expr at = (bkRow * BM + tRow * TM + res) * N + bkCol * BN + tCol;
    inside.store(C, at, alpha * load(sum, {res}) + beta * load(C, {at}, not_equal(beta, 0), 0.0F));
  });
  kernel.body = body.stmt();
  return {computation, kernel};
}

} // namespace nestsmith::mistake
// NOLINTEND(readability-identifier-naming)
