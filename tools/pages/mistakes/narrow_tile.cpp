#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"
#include "tools/pages/mistakes/kernel_body.h"

// The variables have the post's names. NOLINTBEGIN(readability-identifier-naming)
namespace nestsmith::mistake {

/// The register kernel of transposed with its tile narrowed to WID 16: the fetch fills WID of the 4*TILESZ
/// rows.
HandWritten narrow_tile(std::int64_t WID) {
  constexpr std::int64_t H = 64, W = 64, K = 64, TILESZ = 16;
  const std::int64_t stride = TILESZ * TILESZ / WID;
  Program computation = accumulate_nt({H, W, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "registers");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr by = thread_index(kernel, Axis::block_y, "by", H / (4 * TILESZ));
  Expr bx = thread_index(kernel, Axis::block_x, "bx", W / (4 * TILESZ));
  Expr r = thread_index(kernel, Axis::thread_y, "r", TILESZ),
       c = thread_index(kernel, Axis::thread_x, "c", TILESZ);
  Buffer sA = array(kernel, Scope::shared, "sA", TILESZ * 4 * WID);
  Buffer sB = array(kernel, Scope::shared, "sB", TILESZ * 4 * WID);
  Buffer sum = array(kernel, Scope::local, "sum", 16);

  KernelBody body;
  Expr row = body.let("row", r + by * TILESZ), col = body.let("col", c + bx * TILESZ);
  Expr idx = body.let("idx", r * TILESZ + c);
  Expr xx = body.let("xx", floordiv(idx, WID)), yy = body.let("yy", floormod(idx, WID));
  body.loop("n", 16, [&](KernelBody &inside, const Expr &n) { inside.store(sum, n, 0.0F); });
  body.loop("i", K / WID, [&](KernelBody &tile, const Expr &i) {
    tile.loop("j", WID / stride, [&](KernelBody &fetch, const Expr &j) {
      Expr at = fetch.let("at", xx + j * stride);
      Expr k = i * WID + yy;
      fetch.store(sA, at * WID + yy, load(A, {(by * (TILESZ * 4) + at) * K + k}, row < H && k < K, 0.0F));
      fetch.store(sB, at * WID + yy, load(B, {(bx * (TILESZ * 4) + at) * K + k}, col < W && k < K, 0.0F));
    });
    tile.barrier();
    tile.loop("k", WID, [&](KernelBody &dot, const Expr &k) {
      dot.loop("n", 4, [&](KernelBody &rows, const Expr &n) {
        rows.loop("m", 4, [&](KernelBody &inside, const Expr &m) {
          inside.add(sum, n * 4 + m, load(sA, {(r * 4 + n) * WID + k}) * load(sB, {(c * 4 + m) * WID + k}));
        });
      });
    });
    tile.barrier();
  });
  body.loop("n", 4, [&](KernelBody &rows, const Expr &n) {
    rows.loop("m", 4, [&](KernelBody &inside, const Expr &m) {
      inside.add(C, (row * 4 + n) * W + col * 4 + m, load(sum, {n * 4 + m}));
    });
  });
  kernel.body = body.stmt();
  return {computation, kernel};
}

} // namespace nestsmith::mistake
// NOLINTEND(readability-identifier-naming)
