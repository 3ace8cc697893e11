#pragma once
/// A product whose names are all used by C++, by CUDA, or by the emitted text itself.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"

namespace nestsmith {

/// A product of 13x11x68, or of any size. Vectors fill the tiles in shared memory, and dot4 computes the sums.
inline Schedule taken_names(bool symbolic, DType dtype) {
  Workload w("double");
  auto size = [&](const char *name, std::int64_t value) {
    return symbolic ? w.size(name, {.max = 4096, .multiple_of = value == 68 ? 4 : 1}) : Expr(value);
  };
  Expr m = size("size_t", 13), n = size("NULL", 11), k = size("stdin", 68);
  Tensor a = w.placeholder("float4", {m, k}, dtype), b = w.placeholder("threadIdx", {n, k}, dtype);
  Expr alpha = w.scalar("randomize", dtype), beta = w.scalar("int_reference", dtype);
  Reduce r = reduce_axis("dot4", k);
  Tensor c =
      w.compute("int", {m, n}, {"for", "class"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(j, r), r); });
  Tensor d = w.compute("cudaStream_t", {m, n}, {"s", "make_float4"},
                       [&](Expr i, Expr j) { return alpha * c(i, j) + beta; });
  Schedule s(w.output({d}));
  BlockRef sums = s.block("int");
  s.set_scope(sums, Scope::local);
  auto i = s.split(s.loop("s"), {infer, 8}), j = s.split(s.loop("make_float4"), {infer, 8});
  s.reorder({i[0], j[0], i[1], j[1]});
  s.bind(i[0], Axis::block_y);
  s.bind(j[0], Axis::block_x);
  s.bind(i[1], Axis::thread_y);
  s.bind(j[1], Axis::thread_x);
  s.compute_at(sums, j[1]);
  auto sum_loops = s.split(s.loop("ax_dot4"), {infer, 8, 4});
  for (const char *operand : {"float4", "threadIdx"}) {
    BlockRef tile = s.cache_read(sums, operand, Scope::shared);
    s.compute_at(tile, sum_loops[0]);
    auto loops = s.loops(tile);
    auto parts = s.split(s.fuse(loops[loops.size() - 2], loops.back()), {8, 8, 4});
    s.bind(parts[0], Axis::thread_y);
    s.bind(parts[1], Axis::thread_x);
    s.vectorize(parts[2]);
  }
  s.tensorize(sum_loops[2], "dot4");
  return s;
}

} // namespace nestsmith
