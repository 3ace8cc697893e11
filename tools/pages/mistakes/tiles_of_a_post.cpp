#include "tools/pages/mistakes/tiles_of_a_post.h"

#include "schedules/workloads.h"
#include "tools/pages/mistakes/kernel_body.h"

// The variables have the posts' names. NOLINTBEGIN(readability-identifier-naming)
namespace nestsmith::mistake {

HandWritten guard_of_thread(bool of_element) {
  constexpr std::int64_t H = 100, W = 64, K = 64, TILESZ = 16, WID = 64, stride = TILESZ * TILESZ / WID;
  Program computation = accumulate_nt({H, W, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "registers");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr by = thread_index(kernel, Axis::block_y, "by", 2);
  Expr r = thread_index(kernel, Axis::thread_y, "r", TILESZ),
       c = thread_index(kernel, Axis::thread_x, "c", TILESZ);
  Buffer sA = array(kernel, Scope::shared, "sA", TILESZ * 4 * WID),
         sB = array(kernel, Scope::shared, "sB", TILESZ * 4 * WID);
  Buffer sum = array(kernel, Scope::local, "sum", 16);

  KernelBody body;
  Expr row = body.let("row", r + by * TILESZ);
  Expr idx = body.let("idx", r * TILESZ + c);
  Expr xx = body.let("xx", floordiv(idx, WID)), yy = body.let("yy", floormod(idx, WID));
  body.loop("n", 16, [&](KernelBody &inside, const Expr &n) { inside.store(sum, n, 0.0F); });
  body.loop("j", WID / stride, [&](KernelBody &fetch, const Expr &j) {
    Expr at = fetch.let("at", xx + j * stride);
    Expr element = by * (TILESZ * 4) + at;
    fetch.store(sA, at * WID + yy, load(A, {element * K + yy}, (of_element ? element : row) < H, 0.0F));
    fetch.store(sB, at * WID + yy, load(B, {at * K + yy}));
  });
  body.barrier();
  body.loop("k", K, [&](KernelBody &dot, const Expr &k) {
    dot.loop("n", 4, [&](KernelBody &rows, const Expr &n) {
      rows.loop("m", 4, [&](KernelBody &inside, const Expr &m) {
        inside.add(sum, n * 4 + m, load(sA, {(r * 4 + n) * WID + k}) * load(sB, {(c * 4 + m) * WID + k}));
      });
    });
  });
  body.when(row * 4 < H, [&](KernelBody &stores) {
    stores.loop("n", 4, [&](KernelBody &rows, const Expr &n) {
      rows.loop("m", 4, [&](KernelBody &inside, const Expr &m) {
        inside.add(C, (row * 4 + n) * W + c * 4 + m, load(sum, {n * 4 + m}));
      });
    });
  });
  kernel.body = body.stmt();
  return {computation, kernel};
}

HandWritten undeclared_w(bool as_k) {
  constexpr std::int64_t H = 64, W = 64, K = 32, TILESZ = 16;
  const std::int64_t w = as_k ? K : W;
  Program computation = accumulate_nt({H, W, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "shared");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr by = thread_index(kernel, Axis::block_y, "by", H / TILESZ),
       bx = thread_index(kernel, Axis::block_x, "bx", W / TILESZ);
  Expr r = thread_index(kernel, Axis::thread_y, "r", TILESZ),
       c = thread_index(kernel, Axis::thread_x, "c", TILESZ);
  Buffer sA = array(kernel, Scope::shared, "sA", TILESZ * TILESZ),
         sB = array(kernel, Scope::shared, "sB", TILESZ * TILESZ);
  Buffer sum = array(kernel, Scope::local, "sum", 1);

  KernelBody body;
  Expr row = body.let("row", r + by * TILESZ), col = body.let("col", c + bx * TILESZ);
  body.store(sum, 0, 0.0F);
  body.loop("i", K / TILESZ, [&](KernelBody &tile, const Expr &i) {
    tile.store(sA, r * TILESZ + c, load(A, {row * w + i * TILESZ + c}, i * TILESZ + c < w, 0.0F));
    tile.store(sB, c * TILESZ + r, load(B, {col * w + i * TILESZ + r}, i * TILESZ + r < w, 0.0F));
    tile.barrier();
    tile.loop("k", TILESZ, [&](KernelBody &inside, const Expr &k) {
      inside.add(sum, 0, load(sA, {r * TILESZ + k}) * load(sB, {c * TILESZ + k}));
    });
    tile.barrier();
  });
  body.add(C, row * W + col, load(sum, {0}));
  kernel.body = body.stmt();
  return {computation, kernel};
}

HandWritten bm_equals_tm(std::int64_t BM) {
  constexpr std::int64_t M = 64, N = 64, K = 16, BN = 64, BK = 8, TM = 8;
  Program computation = matmul({M, N, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "tile1d");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr by = thread_index(kernel, Axis::block_y, "by", M / BM);
  Expr tid = thread_index(kernel, Axis::thread_x, "tid", BM * BN / TM);
  Buffer sA = array(kernel, Scope::shared, "sA", BM * BK), sB = array(kernel, Scope::shared, "sB", BK * BN);
  Buffer sum = array(kernel, Scope::local, "sum", TM);

  KernelBody body;
  Expr tRow = body.let("tRow", floordiv(tid, BN)), tCol = body.let("tCol", floormod(tid, BN));
  body.loop("n", TM, [&](KernelBody &inside, const Expr &n) { inside.store(sum, n, 0.0F); });
  body.loop("i", K / BK, [&](KernelBody &tile, const Expr &i) {
    tile.store(sA, tid, load(A, {(by * BM + floordiv(tid, BK)) * K + i * BK + floormod(tid, BK)}));
    tile.store(sB, tid, load(B, {(i * BK + floordiv(tid, BN)) * N + floormod(tid, BN)}));
    tile.barrier();
    tile.loop("k", BK, [&](KernelBody &dot, const Expr &k) {
      dot.loop("n", TM, [&](KernelBody &inside, const Expr &n) {
        inside.add(sum, n, load(sA, {(tRow * TM + n) * BK + k}) * load(sB, {k * BN + tCol}));
      });
    });
    tile.barrier();
  });
  body.loop("n", TM, [&](KernelBody &inside, const Expr &n) {
    inside.store(C, (by * BM + tRow * TM + n) * N + tCol, load(sum, {n}));
  });
  kernel.body = body.stmt();
  return {computation, kernel};
}

HandWritten btsz_of_8(bool mended) {
  constexpr std::int64_t H = 64, W = 64, K = 16, TILESZ = 8, BTSZ = 8, SZ = 16;
  const std::int64_t taken = mended ? BTSZ : 4;
  Program computation = accumulate_nt({H, W, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "vectors");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr r = thread_index(kernel, Axis::thread_y, "r", TILESZ),
       c = thread_index(kernel, Axis::thread_x, "c", TILESZ);
  Buffer sA = array(kernel, Scope::shared, "sA", SZ * TILESZ * BTSZ),
         sB = array(kernel, Scope::shared, "sB", SZ * TILESZ * BTSZ);
  Buffer sum = array(kernel, Scope::local, "sum", BTSZ * BTSZ), rA = array(kernel, Scope::local, "rA", BTSZ),
         rB = array(kernel, Scope::local, "rB", BTSZ);

  KernelBody body;
  Expr idx = body.let("idx", r * TILESZ + c);
  body.loop("n", BTSZ * BTSZ, [&](KernelBody &inside, const Expr &n) { inside.store(sum, n, 0.0F); });
  body.loop("k", SZ, [&](KernelBody &fetch, const Expr &k) {
    fetch.store(sA, k * TILESZ * BTSZ + idx, load(A, {idx * K + k}));
    fetch.store(sB, k * TILESZ * BTSZ + idx, load(B, {idx * K + k}));
  });
  body.barrier();
  body.loop("k", SZ, [&](KernelBody &dot, const Expr &k) {
    dot.loop("n", taken, [&](KernelBody &inside, const Expr &n) {
      inside.store(rA, n, load(sA, {k * TILESZ * BTSZ + r * BTSZ + n}));
      inside.store(rB, n, load(sB, {k * TILESZ * BTSZ + c * BTSZ + n}));
    });
    dot.loop("n", BTSZ, [&](KernelBody &rows, const Expr &n) {
      rows.loop("m", BTSZ, [&](KernelBody &inside, const Expr &m) {
        inside.add(sum, n * BTSZ + m, load(rA, {n}) * load(rB, {m}));
      });
    });
  });
  body.loop("n", taken, [&](KernelBody &rows, const Expr &n) {
    rows.loop("m", taken, [&](KernelBody &inside, const Expr &m) {
      inside.add(C, (r * taken + n) * W + c * taken + m, load(sum, {n * taken + m}));
    });
  });
  kernel.body = body.stmt();
  return {computation, kernel};
}

} // namespace nestsmith::mistake
// NOLINTEND(readability-identifier-naming)
