#pragma once
/// Kernels built by hand, for tests that should not depend on lowering.

#include "lowering/kernel.h"

#include <string>
#include <vector>

namespace nestsmith::kernel {

inline Buffer global(std::string name, std::vector<Expr> shape, Role role, DType dtype = DType::f32) {
  return std::make_shared<const BufferNode>(
      BufferNode{std::move(name), dtype, std::move(shape), Scope::global, role});
}
inline Buffer storage(std::string name, Scope scope, std::int64_t elements, DType dtype = DType::f32) {
  return std::make_shared<const BufferNode>(
      BufferNode{std::move(name), dtype, {Expr(elements)}, scope, Role::temporary});
}
inline Expr i32(std::int64_t value) { return int_imm(value, DType::i32); }
inline Var index(std::string name) { return make_var(std::move(name), DType::i32); }
inline Stmt let(const Var &var, Expr value) { return make(Declare{var, std::move(value)}); }
inline Stmt set(const Buffer &buffer, Expr at, Expr value) {
  return make(Store{buffer, {std::move(at)}, std::move(value)});
}
inline Expr get(const Buffer &buffer, Expr at) { return load(buffer, {std::move(at)}); }
inline Stmt loop(const Var &var, std::int64_t extent, LoopForm form, std::vector<Stmt> body) {
  return make(Loop{var, i32(extent), form, make_seq(std::move(body))});
}
inline Stmt when(Expr condition, std::vector<Stmt> body) {
  return make(If{std::move(condition), make_seq(std::move(body))});
}

/// A kernel of 100 threads with one element each: `out[i] = value(i)`. The value can read `a` and `b`. All
/// three arrays have one type.
struct Elementwise {
  explicit Elementwise(DType dtype = DType::f32)
      : a(global("a", {Expr(100)}, Role::input, dtype)), b(global("b", {Expr(100)}, Role::input, dtype)),
        out(global("out", {Expr(100)}, Role::output, dtype)), i(index("i")) {}

  Kernel kernel(std::vector<Stmt> body) const {
    Kernel k;
    k.name = "elementwise";
    k.params = {a, b, out};
    k.indices = {{Axis::thread_x, i, 100}};
    k.body = make_seq(std::move(body));
    return k;
  }
  Kernel kernel(Expr value) const { return kernel({set(out, i, std::move(value))}); }
  Expr at_a() const { return get(a, i); }
  Expr at_b() const { return get(b, i); }

  Buffer a, b, out;
  Var i;
};

/// C = alpha*A*B + beta*C with 64 x 64 tiles and 8 results per thread.
inline Kernel tile1d(std::int64_t m, std::int64_t n, std::int64_t k) {
  auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  Buffer A = global("A", {Expr(m), Expr(k)}, Role::input), B = global("B", {Expr(k), Expr(n)}, Role::input);
  Buffer C = global("C", {Expr(m), Expr(n)}, Role::inout);
  Buffer A_shared = storage("A_shared", Scope::shared, 512), B_shared = storage("B_shared", Scope::shared, 512);
  Buffer AB = storage("AB", Scope::local, 8), B_local = storage("B_local", Scope::local, 1);
  Var alpha = make_var("alpha", DType::f32), beta = make_var("beta", DType::f32);
  Var i_outer = index("i_outer"), j_outer = index("j_outer"), i_thread = index("i_thread"),
      j_thread = index("j_thread"), i = index("i"), j = index("j"), thread = index("thread"),
      row = index("row"), column = index("column"), k_outer = index("k_outer"), k_inner = index("k_inner");
  Var zero = index("i_inner"), inner = index("i_inner"), last = index("i_inner");

  Kernel result;
  result.name = "tile1d";
  result.params = {A, B, C};
  result.scalars = {alpha, beta};
  result.indices = {{Axis::block_y, i_outer, ceil(m, 64)},
                    {Axis::block_x, j_outer, ceil(n, 64)},
                    {Axis::thread_y, i_thread, 8},
                    {Axis::thread_x, j_thread, 64}};
  using Content = Content::Kind;
  result.shared = {
      {.buffer = A_shared, .tile = {64, 8}, .content = {{Content::tile, {64, 8}, A}}},
      {.buffer = B_shared, .byte_offset = 2048, .tile = {8, 64}, .content = {{Content::tile, {8, 64}, B}}}};
  result.local = {{.buffer = AB, .tile = {8, 1}, .content = {{Content::results, {8}}}},
                  {.buffer = B_local, .tile = {1}}};
  result.shared_bytes = 4096;
  Expr a_column = Expr(k_outer) * i32(8) + Expr(column), b_row = Expr(k_outer) * i32(8) + Expr(i_thread);
  Expr c_at = (Expr(i) + Expr(last)) * i32(n) + Expr(j);
  Expr zero_f32(0.0f);
  result.body = make_seq(
      {let(thread, Expr(i_thread) * i32(64) + Expr(j_thread)),
       let(row, Expr(i_outer) * i32(64) + floordiv(Expr(thread), i32(8))),
       let(column, floormod(thread, i32(8))), let(i, Expr(i_outer) * i32(64) + Expr(i_thread) * i32(8)),
       let(j, Expr(j_outer) * i32(64) + Expr(j_thread)), loop(zero, 8, Unrolled{}, {set(AB, zero, zero_f32)}),
       loop(k_outer, ceil(k, 8), Serial{},
            {set(A_shared, thread,
                 load(A, {Expr(row) * i32(k) + a_column}, Expr(row) < i32(m) && a_column < i32(k), zero_f32)),
             set(B_shared, thread,
                 load(B, {b_row * i32(n) + Expr(j)}, b_row < i32(k) && Expr(j) < i32(n), zero_f32)),
             make(Barrier{SyncScope::block,
                          {{.buffer = A_shared, .reader = AB}, {.buffer = B_shared, .reader = AB}}}),
             loop(k_inner, 8, Unrolled{},
                  {set(B_local, i32(0), get(B_shared, Expr(k_inner) * i32(64) + Expr(j_thread))),
                   loop(inner, 8, Unrolled{},
                        {set(AB, inner,
                             get(AB, inner) + get(A_shared, (Expr(i_thread) * i32(8) + Expr(inner)) * i32(8) +
                                                                Expr(k_inner)) *
                                                  get(B_local, i32(0)))})}),
             make(Barrier{SyncScope::block,
                          {{Hazard::Kind::write_after_read, A_shared, AB, k_outer, 1},
                           {Hazard::Kind::write_after_read, B_shared, AB, k_outer, 1}}})}),
       loop(last, 8, Unrolled{},
            {make(If{Expr(i) + Expr(last) < i32(m) && Expr(j) < i32(n),
                     set(C, c_at, Expr(alpha) * get(AB, last) + Expr(beta) * get(C, c_at)),
                     nullptr,
                     {Purpose::Kind::tail, {i, j}}})})});
  return result;
}

} // namespace nestsmith::kernel
