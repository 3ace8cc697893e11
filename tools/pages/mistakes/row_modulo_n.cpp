#include "schedules/workloads.h"
#include "tools/pages/mistakes/examples.h"
#include "tools/pages/mistakes/kernel_body.h"

namespace nestsmith::mistake {

/// The naive kernel of deep_dive: one thread for each of the M*N elements, `row = tid % N`, where M is not N.
HandWritten row_modulo_n(std::int64_t M) {
  constexpr std::int64_t N = 32, K = 16;
  Program computation = gemm({M, N, K}, DType::f32);
  kernel::Kernel kernel = kernel_for(computation, "naive");
  Buffer A = kernel.params[0], B = kernel.params[1], C = kernel.params[2];
  Expr alpha = kernel.scalars[0], beta = kernel.scalars[1];
  Expr block = thread_index(kernel, Axis::block_x, "block", M * N / 256);
  Expr thread = thread_index(kernel, Axis::thread_x, "thread", 256);
  Buffer sum = array(kernel, Scope::local, "sum", 1);

  KernelBody body;
  Expr tid = body.let("tid", block * 256 + thread);
  Expr row = body.let("row", floormod(tid, N)), col = body.let("col", floordiv(tid, N));
  body.store(sum, 0, 0.0F);
  body.loop("k", K, [&](KernelBody &inside, const Expr &k) {
    inside.add(sum, 0, load(A, {row * K + k}) * load(B, {k * N + col}));
  });
  Expr at = row * N + col;
  body.store(C, at, alpha * load(sum, {0}) + beta * load(C, {at}, not_equal(beta, 0), 0.0F));
  kernel.body = body.stmt();
  return {computation, kernel};
}

} // namespace nestsmith::mistake
