#pragma once
/// A causal product, in tiles in shared memory, whose masked tiles can be skipped.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"

namespace nestsmith::test {

/// C[i, j] = sum of A[i, k]*B[k, j] over k <= i: 0 stands for the other terms, whatever B is there.
inline Program causal_product(Workload work, const Expr &m, const Expr &n, const Expr &k_extent, DType dtype) {
  Tensor a = work.placeholder("A", {m, k_extent}, dtype), b = work.placeholder("B", {k_extent, n}, dtype);
  Reduce k = reduce_axis("k", k_extent);
  Tensor c = work.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(select(k <= i, a(i, k) * b(k, j), constant(dtype, 0)), k);
  });
  return work.output({c});
}
inline Program causal_product(std::int64_t m, std::int64_t n, std::int64_t k_extent, DType dtype = DType::f32) {
  return causal_product(Workload("causal"), m, n, k_extent, dtype);
}
/// The same for any M, N and K.
inline Program causal_product_of_sizes(DType dtype = DType::f32) {
  Workload work("causal");
  Expr m = work.size("M"), n = work.size("N"), k = work.size("K");
  return causal_product(std::move(work), m, n, k, dtype);
}

/// The schedule of a product C of A and B over k: tiles of `rows` x `columns` elements, one thread for each,
/// and steps of `depth` in shared memory.
struct CausalTiles {
  Schedule s;
  BlockRef C, A, B;
  Loop i_outer, j_outer, k_outer;

  explicit CausalTiles(Program program, std::int64_t rows = 8, std::int64_t columns = 8, std::int64_t depth = 4,
                       Target target = {})
      : s(std::move(program), std::move(target)), C(s.block("C")) {
    A = s.cache_read(C, "A", Scope::shared);
    B = s.cache_read(C, "B", Scope::shared);
    BlockRef writeback = s.cache_write(C, Scope::local);
    auto loops = s.loops<3>(C);
    auto [by, ty] = s.split<2>(loops[0], {infer, rows});
    auto [bx, tx] = s.split<2>(loops[1], {infer, columns});
    auto [ko, ki] = s.split<2>(loops[2], {infer, depth});
    s.reorder({by, bx, ty, tx, ko, ki});
    s.bind(by, Axis::block_y);
    s.bind(bx, Axis::block_x);
    s.bind(ty, Axis::thread_y);
    s.bind(tx, Axis::thread_x);
    s.reverse_compute_at(writeback, tx);
    for (BlockRef tile : {A, B}) {
      s.compute_at(tile, ko);
      auto own = s.loops_below(tile, ko);
      auto [step, y, x] = s.split<3>(s.fuse(own[0], own[1]), {infer, rows, columns});
      s.bind(y, Axis::thread_y);
      s.bind(x, Axis::thread_x);
      (void)step;
    }
    i_outer = by;
    j_outer = bx;
    k_outer = ko;
  }
};

} // namespace nestsmith::test
