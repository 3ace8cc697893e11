/// Computations with dependences through parameters and with integer data, and their schedules.

#include "tests/mutation/computations.h"

#include "dsl/ir/tensor.h"
#include "schedules/fetch.h"

#include <limits>

namespace nestsmith::mutation {

namespace {

Expr extent(Workload &w, const Shape &shape) {
  return shape.stated ? w.size("N", *shape.stated) : Expr(shape[0]);
}

/// Binds each row of the block to one thread, and eight rows to a thread block.
void spread(Schedule &s, const char *block) {
  auto [outer, inner] = s.split(s.loops(s.block(block)).front(), {infer, 8});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
}

/// C = C*B. A thread keeps a row of the product in registers, because each element of the product reads a row
/// of C.
Schedule in_place(const Shape &shape, DType dtype, const Target &target) {
  Workload w("in_place");
  Expr n = extent(w, shape);
  Tensor b = w.placeholder("B", {n, n}, dtype), c = w.inout("C", {n, n}, dtype);
  Reduce k = reduce_axis("k", n);
  Tensor cb = w.compute("CB", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(c(i, k) * b(k, j), k); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition { return cb(x[0], x[1]); });
  Schedule s(w.output(), target);
  spread(s, "CB");
  auto [block, row, j, term] = s.loops<4>(s.block("CB"));
  s.reverse_compute_at(s.block("C"), row);
  s.set_scope(s.block("CB"), Scope::local);
  return s;
}

/// T = C + 1, then C = 2*C, then U = T + X, in three kernels.
Schedule overwrite(const Shape &shape, DType dtype, const Target &target) {
  Workload w("overwrite");
  Expr n = extent(w, shape);
  Tensor x = w.placeholder("X", {n}, dtype), c = w.inout("C", {n}, dtype);
  Tensor t = w.compute("T", {n}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &i) -> Definition { return c(i[0]) * 2; });
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition { return t(i) + x(i); });
  Schedule s(w.output({u}), target);
  for (const char *block : {"T", "C", "U"})
    spread(s, block);
  return s;
}

/// T = C + 1, then C = 2*T, then U = C + T, in one kernel. T is in a register.
Schedule overwrite_fused(const Shape &shape, DType dtype, const Target &target) {
  Workload w("overwrite_fused");
  Expr n = extent(w, shape);
  Tensor c = w.inout("C", {n}, dtype);
  Tensor t = w.compute("T", {n}, {"i"}, [&](Expr i) -> Definition { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &i) -> Definition { return t(i[0]) * 2; });
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition { return c(i) + t(i); });
  Schedule s(w.output({u}), target);
  spread(s, "T");
  for (const char *block : {"C", "U"})
    s.reverse_compute_at(s.block(block), s.loops(s.block("T")).back());
  s.set_scope(s.block("T"), Scope::local);
  return s;
}

/// Y = X + 1, Z = 3*Y, and U = the sum of Y and of the preceding element of Y: a stage reads an output at two
/// indices.
Schedule output_read(const Shape &shape, DType dtype, const Target &target) {
  Workload w("output_read");
  Expr n = extent(w, shape);
  Tensor x = w.placeholder("X", {n}, dtype);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor z = w.compute("Z", {n}, {"i"}, [&](Expr i) -> Definition { return y(i) * 3; });
  Tensor u =
      w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition { return z(i) + y.where(Expr(0) < i, i - 1); });
  Schedule s(w.output({y, u}), target);
  for (const char *block : {"Y", "Z", "U"})
    spread(s, block);
  return s;
}

/// A mask, a choice and values of i32 data that wraps around.
Schedule masks(const Shape &shape, DType dtype, const Target &target) {
  Workload w("masks");
  Expr n = extent(w, shape);
  Tensor x = w.placeholder("X", {n}, DType::i32), d = w.placeholder("D", {n}, DType::i32);
  Tensor z = w.placeholder("Z", {n}, dtype);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition {
    return z.where(x(i) + std::numeric_limits<std::int32_t>::max() < x(i), i);
  });
  Tensor v = w.compute("V", {n}, {"i"}, [&](Expr i) -> Definition {
    return select(x(i) * x(i) < d(i) + 1, x(i) - d(i), x(i) + d(i));
  });
  Schedule s(w.output({y, v}), target);
  for (const char *block : {"Y", "V"})
    spread(s, block);
  return s;
}

/// Divisions of data by data, and a conversion of data that may be out of range.
Schedule divisions(const Shape &shape, DType dtype, const Target &target) {
  Workload w("divisions");
  Expr n = extent(w, shape);
  Tensor x = w.placeholder("X", {n}, DType::i32), d = w.placeholder("D", {n}, DType::i32);
  Tensor p = w.placeholder("P", {n}, DType::u32), q = w.placeholder("Q", {n}, DType::u32);
  Tensor f = w.placeholder("F", {n});
  Tensor r = w.compute("R", {n}, {"i"},
                       [&](Expr i) -> Definition { return floordiv(x(i), d(i)) + floormod(x(i), 7); });
  Tensor t = w.compute("T", {n}, {"i"},
                       [&](Expr i) -> Definition { return floordiv(p(i), q(i)) + floormod(p(i), q(i)); });
  Tensor u = w.compute("U", {n}, {"i"}, [&](Expr i) -> Definition { return cast(DType::u16, f(i)); });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return cast(dtype, x(i)); });
  Schedule s(w.output({r, t, u, y}), target);
  for (const char *block : {"R", "T", "U", "Y"})
    spread(s, block);
  return s;
}

/// Y = A*X + X. Thread blocks sum parts of a row, and the last block adds the parts.
Schedule split_sum(const Shape &shape, DType dtype, const Target &target) {
  Workload w("split_sum");
  Expr n = extent(w, shape);
  Tensor a = w.placeholder("A", {n, n}, dtype), x = w.placeholder("X", {n}, dtype);
  Reduce k = reduce_axis("k", n);
  Tensor ax = w.compute("AX", {n}, {"i"}, [&](Expr i) { return sum(a(i, k) * x(k), k); });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return ax(i) + x(i); });
  Schedule s(w.output({y}), target);
  auto AX = s.block("AX"), Y = s.block("Y");
  auto [i, term] = s.loops<2>(AX);
  auto [block, row] = s.split(i, {infer, 8});
  auto [part, element] = s.split(term, {infer, 4});
  s.rfactor(part);
  s.reorder({block, part, row, element});
  s.reverse_compute_at(AX, block);
  s.set_scope(AX, Scope::local);
  auto sum_row = s.loops_below(AX, block).front();
  s.reverse_compute_at(Y, sum_row);
  s.bind(block, Axis::block_x);
  s.bind(part, Axis::block_y);
  s.bind(row, Axis::thread_x);
  s.bind(sum_row, Axis::thread_x);
  s.last_block(part);
  return s;
}

/// C = A*B. Each of 4 warps computes a row of a tile, and copies its row of A to shared memory, so barriers of
/// one warp suffice.
Schedule own_tiles(const Shape &shape, DType dtype, const Target &target) {
  Workload w("own_tiles");
  Expr n = extent(w, shape);
  Tensor a = w.placeholder("A", {n, n}, dtype), b = w.placeholder("B", {n, n}, dtype);
  Reduce r = reduce_axis("k", n);
  Tensor c = w.compute("C", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  Schedule s(w.output({c}), target);
  auto C = s.block("C");
  auto out = s.cache_write(C, Scope::local);
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, warp] = s.split(i, {infer, 4});
  auto [j_block, lane] = s.split(j, {infer, 32});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, warp, lane, k_outer, k_inner});
  s.reverse_compute_at(out, lane);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  auto tile = s.cache_read(C, "A", Scope::shared);
  s.compute_at(tile, k_outer);
  auto own = s.loops_below(tile, k_outer);
  s.bind(own[0], Axis::warp);
  s.bind(own[1], Axis::lane);
  return s;
}

/// Sums of neighbours in four stages through shared memory. The stages alternate between the memory of two
/// arrays.
Schedule stages(const Shape &shape, DType dtype, const Target &target) {
  Workload w("stages");
  Expr n = extent(w, shape);
  Tensor x = w.placeholder("X", {n, n}, dtype), last = x;
  for (std::int64_t stage = 0; stage < 5; ++stage)
    last = w.compute(
        stage == 4 ? "Y" : "T" + std::to_string(stage), {n, n}, {"i", "j"},
        [&](Expr i, Expr j) -> Definition { return last(i, j) + last.where(stage < j, i, j - (stage + 1)); });
  Schedule s(w.output({last}), target);
  auto [i, j] = s.loops<2>(s.block("Y"));
  auto [j_block, thread] = s.split(j, {infer, 64});
  s.reorder({i, j_block, thread});
  s.bind(i, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  for (int stage = 3; stage >= 0; --stage) {
    BlockRef tile = s.block("T" + std::to_string(stage));
    s.compute_at(tile, j_block);
    s.set_scope(tile, Scope::shared);
    s.bind(s.split(s.loops(tile).back(), {infer, 64})[1], Axis::thread_x);
  }
  return s;
}

/// Y = the sums of the rows of X. Asynchronous copies bring 4 elements of a row at a time. Rows start at
/// multiples of 4 elements, and the last copy of a row is partial.
Schedule partial_copies(const Shape &shape, DType dtype, const Target &target) {
  Workload w("partial_copies");
  Expr n = extent(w, shape),
       ld = shape.stated ? w.size("ld", {.multiple_of = 4}) : Expr((shape[0] + 3) / 4 * 4);
  Tensor x = w.placeholder("X", {n, n}, dtype, {.leading = ld});
  Reduce k = reduce_axis("k", n);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Schedule s(w.output({y}), target);
  auto Y = s.block("Y");
  auto out = s.cache_write(Y, Scope::local);
  auto [i, term] = s.loops<2>(Y);
  auto [block, row] = s.split(i, {infer, 8});
  auto step = s.split(term, {infer, 16})[0];
  s.reverse_compute_at(out, row);
  s.bind(block, Axis::block_x);
  s.bind(row, Axis::thread_x);
  auto tile = s.cache_read(Y, "X", Scope::shared);
  s.async_copy(tile);
  s.vectorize(fetch_by_vectors(s, tile, step, 8));
  return s;
}

} // namespace

const std::vector<Rung> &seeded_rungs() {
  static const std::vector<Rung> all = [] {
    std::vector<Rung> rungs = builtin_rungs();
    auto add = [&](const char *group, const char *name, Schedule (*build)(const Shape &, DType, const Target &),
                   std::int64_t tile = 12) {
      rungs.push_back({.tutorial = group, .name = name, .summary = "", .build = build, .tile = {tile}});
    };
    add("tangled", "in_place", in_place);
    add("tangled", "overwrite", overwrite);
    add("tangled", "overwrite_fused", overwrite_fused);
    add("tangled", "output_read", output_read);
    add("tangled", "split_sum", split_sum);
    add("tangled", "own_tiles", own_tiles, 36);
    add("tangled", "stages", stages, 68);
    add("tangled", "partial_copies", partial_copies, 17);
    add("wrapping", "masks", masks);
    add("wrapping", "divisions", divisions);
    return rungs;
  }();
  return all;
}

} // namespace nestsmith::mutation
