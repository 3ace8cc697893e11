#pragma once
/// A product with a triangle, whose copy to shared memory has a mask of its own.

#include "dsl/schedule/schedule.h"

namespace nestsmith {

/// C = A*B for a lower triangle A of m rows. The elements of A above its diagonal are not read; `fill` takes
/// their place. The tiles have 16 rows and columns.
inline Schedule triangle_product(std::int64_t m, std::int64_t n, const Expr &fill) {
  Workload work("triangle");
  DType dtype = fill.dtype();
  Tensor a = work.placeholder("A", {m, m}, dtype), b = work.placeholder("B", {m, n}, dtype);
  Reduce k = reduce_axis("k", m);
  Tensor c = work.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(load(a.buffer(), {i, k}, k <= i, fill) * b(k, j), k);
  });
  Schedule s(work.output({c}));
  BlockRef block = s.block("C"), as = s.cache_read(block, "A", Scope::shared),
           bs = s.cache_read(block, "B", Scope::shared), writeback = s.cache_write(block, Scope::local);
  auto loops = s.loops(block);
  auto [by, ty] = s.split<2>(loops[0], {infer, 16});
  auto [bx, tx] = s.split<2>(loops[1], {infer, 16});
  auto [ko, ki] = s.split<2>(loops[2], {infer, 16});
  s.reorder({by, bx, ty, tx, ko, ki});
  s.bind(by, Axis::block_y);
  s.bind(bx, Axis::block_x);
  s.reverse_compute_at(writeback, tx);
  s.bind(ty, Axis::thread_y);
  s.bind(tx, Axis::thread_x);
  for (BlockRef tile : {as, bs}) {
    s.compute_at(tile, ko);
    auto own = s.loops_below(tile, ko);
    s.bind(own[0], Axis::thread_y);
    s.bind(own[1], Axis::thread_x);
  }
  return s;
}

} // namespace nestsmith
