/// The table of computations that random schedules are written for.

#include "tests/fuzz/computations.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "schedules/workloads.h"
#include "tests/fuzz/user_intrinsics.h"

#include <algorithm>
#include <optional>

namespace nestsmith::fuzz {

namespace {

/// The operand types of schedules/workloads.h: narrow operands are read into a wider type for sums.
DType stored(DType dtype) { return dtype == DType::tf32 ? DType::f32 : dtype; }
Expr read(DType dtype, Expr element) {
  if (dtype == DType::tf32)
    element = cast(dtype, std::move(element));
  return cast(arithmetic_type(dtype), std::move(element));
}

Expr even(const Expr &i) { return equal(floormod(i, 2), 0); }
Program alternate_by_branch(const Shape &shape, DType dtype) { return alternate(shape, dtype, even, branch); }
Program alternate_by_select(const Shape &shape, DType dtype) { return alternate(shape, dtype, even, select); }

Program gemm_nn(const Shape &shape, DType dtype) { return gemm(shape, dtype); }
Program gemm_nt(const Shape &shape, DType dtype) { return gemm(shape, dtype, {.b = true}); }
Program gemm_tn(const Shape &shape, DType dtype) { return gemm(shape, dtype, {.a = true}); }
Program gemm_tt(const Shape &shape, DType dtype) { return gemm(shape, dtype, {.a = true, .b = true}); }

/// T = X + 1, U = 2*T, Y = U + 3.
Program chain(const Shape &shape, DType dtype) {
  Workload w("chain");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, stored(dtype));
  std::vector<Expr> extents = {shape[0], shape[1]};
  Tensor t = w.compute("T", extents, {"i", "j"}, [&](Expr i, Expr j) { return read(dtype, x(i, j)) + 1; });
  Tensor u = w.compute("U", extents, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * 2; });
  Tensor y = w.compute("Y", extents, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) + 3; });
  return w.output({y});
}

/// T = the sums of the rows of X, Y = T * (each element of the row Z).
Program broadcast(const Shape &shape, DType dtype) {
  Workload w("broadcast");
  Tensor x = w.placeholder("X", {shape[0], shape[2]}, stored(dtype));
  Tensor z = w.placeholder("Z", {shape[1]}, stored(dtype));
  Reduce k = reduce_axis("k", shape[2]);
  Tensor t = w.compute("T", {shape[0]}, {"i"}, [&](Expr i) { return sum(read(dtype, x(i, k)), k); });
  Tensor y = w.compute("Y", {shape[0], shape[1]}, {"i", "l"},
                       [&](Expr i, Expr l) { return t(i) * read(dtype, z(l)); });
  return w.output({y});
}

/// U reads T in two adjacent rows. Y reads V and U transposed.
Program stencil(const Shape &shape, DType dtype) {
  Workload w("stencil");
  Expr n = shape[0];
  Tensor x = w.placeholder("X", {n + 1, n}, stored(dtype));
  Tensor t = w.compute("T", {n + 1, n}, {"i", "j"}, [&](Expr i, Expr j) { return read(dtype, x(i, j)) + 1; });
  Tensor u = w.compute("U", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) + t(i + 1, j); });
  Tensor v = w.compute("V", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) * 3; });
  Tensor y = w.compute("Y", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return v(i, j) + u(j, i); });
  return w.output({y});
}

/// D = (A*B)*E.
Program two_products(const Shape &shape, DType dtype) {
  Workload w("two_products");
  Expr m = shape[0], n = shape[1], k = shape[2];
  Tensor a = w.placeholder("A", {m, k}, stored(dtype)), b = w.placeholder("B", {k, n}, stored(dtype));
  Tensor e = w.placeholder("E", {n, m}, stored(dtype));
  Reduce r = reduce_axis("k", k), l = reduce_axis("l", n);
  Tensor p = w.compute("P", {m, n}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(read(dtype, a(i, r)) * read(dtype, b(r, j)), r); });
  Tensor d = w.compute("D", {m, m}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(p(i, l) * read(dtype, e(l, j)), l); });
  return w.output({d});
}

/// T = X + 1, Y[i] = sum over r of T[i + r] * W[r]. The windows of T overlap.
Program convolution(const Shape &shape, DType dtype) {
  Workload w("convolution");
  Expr n = shape[0], window = shape[1];
  Tensor x = w.placeholder("X", {n + window}, stored(dtype)), f = w.placeholder("W", {window}, stored(dtype));
  Tensor t = w.compute("T", {n + window}, {"i"}, [&](Expr i) -> Definition { return read(dtype, x(i)) + 1; });
  Reduce r = reduce_axis("r", window);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) { return sum(t(i + r) * read(dtype, f(r)), r); });
  return w.output({y});
}

/// S = the sums of the columns of X, Y = relu(X - S). Each row of Y reads S.
Program column_sums(const Shape &shape, DType dtype) {
  Workload w("column_sums");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, stored(dtype));
  Reduce i = reduce_axis("i", shape[0]);
  Tensor s = w.compute("S", {shape[1]}, {"j"}, [&](Expr j) { return sum(read(dtype, x(i, j)), i); });
  Tensor y = w.compute("Y", {shape[0], shape[1]}, {"i", "j"},
                       [&](Expr row, Expr j) { return relu(read(dtype, x(row, j)) - s(j)); });
  return w.output({y});
}

/// T = the sums of the rows of X, U = X - T, V = the sums of the rows of U, Y = U + V: the steps of a softmax.
Program twice_over_rows(const Shape &shape, DType dtype) {
  Workload w("twice_over_rows");
  std::int64_t m = shape[0], n = shape[1];
  Tensor x = w.placeholder("X", {m, n}, stored(dtype));
  Reduce j = reduce_axis("j", n);
  Tensor t = w.compute("T", {m}, {"i"}, [&](Expr i) { return sum(read(dtype, x(i, j)), j); });
  Tensor u = w.compute("U", {m, n}, {"i", "l"}, [&](Expr i, Expr l) { return read(dtype, x(i, l)) - t(i); });
  Tensor v = w.compute("V", {m}, {"i"}, [&](Expr i) { return sum(u(i, j), j); });
  return w.output({w.compute("Y", {m, n}, {"i", "l"}, [&](Expr i, Expr l) { return u(i, l) + v(i); })});
}

/// The largest element of each row of X and its index: a reduction to tuples.
Program best_of_rows(const Shape &shape, DType dtype) {
  Workload w("best_of_rows");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, stored(dtype));
  Reduce j = reduce_axis("j", shape[1]);
  Tensor t = w.compute("T", {shape[0]}, {"i"}, [&](Expr i) { return argmax_over(read(dtype, x(i, j)), j); });
  Tensor v = w.compute("V", {shape[0]}, {"i"}, [&](Expr i) { return part(t(i), "value"); });
  Tensor y = w.compute("Y", {shape[0]}, {"i"}, [&](Expr i) { return part(t(i), "index"); });
  return w.output({v, y});
}

/// Y = the sum over both axes of X. Only `rfactor` makes loops that can be bound to threads.
Program total(const Shape &shape, DType dtype) {
  Workload w("total");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, stored(dtype));
  Reduce i = reduce_axis("i", shape[0]), j = reduce_axis("j", shape[1]);
  Tensor y = w.compute("Y", {1}, {"one"}, [&](Expr) { return sum(read(dtype, x(i, j)), {i, j}); });
  return w.output({y});
}

/// Y[j, i] = T[i, j] + 1, where T = 2*X.
Program transpose(const Shape &shape, DType dtype) {
  Workload w("transpose");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, stored(dtype));
  Tensor t = w.compute("T", {shape[0], shape[1]}, {"i", "j"},
                       [&](Expr i, Expr j) { return read(dtype, x(i, j)) * 2; });
  Tensor y = w.compute("Y", {shape[1], shape[0]}, {"j", "i"}, [&](Expr j, Expr i) { return t(i, j) + 1; });
  return w.output({y});
}

/// T = X + 1, Y[i] = T[i - 1] + 3*T[i], without the first term if i = 0.
Program shifted(const Shape &shape, DType dtype) {
  Workload w("shifted");
  Tensor x = w.placeholder("X", {shape[0]}, stored(dtype));
  Tensor t = w.compute("T", {shape[0]}, {"i"}, [&](Expr i) -> Definition { return read(dtype, x(i)) + 1; });
  Tensor y = w.compute("Y", {shape[0]}, {"i"},
                       [&](Expr i) -> Definition { return t.where(Expr(0) < i, i - 1) + t(i) * 3; });
  return w.output({y});
}

/// C[i, j] = the sum of A[i, k]*B[k, j] over k <= i, without what B is in the other rows.
Program causal(const Shape &shape, DType dtype) {
  Workload w("causal");
  auto extent = [&](std::size_t n, const char *name) {
    return shape.stated ? w.size(name, *shape.stated) : Expr(shape[n]);
  };
  Expr rows = extent(0, "M"), columns = extent(1, "N"), depth = extent(2, "K");
  Tensor a = w.placeholder("A", {rows, depth}, stored(dtype));
  Tensor b = w.placeholder("B", {depth, columns}, stored(dtype));
  Reduce k = reduce_axis("k", depth);
  Tensor c = w.compute("C", {rows, columns}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr term = read(dtype, a(i, k)) * read(dtype, b(k, j));
    return sum(select(k <= i, term, constant(term.dtype(), 0)), k);
  });
  return w.output({c});
}

/// Y[i] = the largest X[i, k] of a window of 9 elements around 2*i.
Program window_maximum(const Shape &shape, DType dtype) {
  Workload w("window_maximum");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, stored(dtype));
  Reduce k = reduce_axis("k", shape[1]);
  Tensor y = w.compute("Y", {shape[0]}, {"i"}, [&](Expr i) {
    Expr term = read(dtype, x(i, k));
    return max_over(select(2 * i - 5 < k && k < 2 * i + 5, term, identity_of(Reducer::max, term.dtype())), k);
  });
  return w.output({y});
}

} // namespace

const std::vector<Computation> &computations() {
  static const std::vector<Computation> table = {
      {"gemm", 3, gemm_nn, true},
      {"gemm_nt", 3, gemm_nt, true},
      {"gemm_tn", 3, gemm_tn, true},
      {"gemm_tt", 3, gemm_tt, true},
      {"batched_gemm", 4, batched_gemm, true},
      {"gemm_bias_relu", 3, gemm_bias_relu, true},
      {"matmul", 3, matmul, true},
      {"accumulate_nt", 3, accumulate_nt, true},
      {"alternate", 1, alternate_by_branch, true},
      {"alternate_select", 1, alternate_by_select, true},
      {"shifted_relu", 1, shifted_relu, true},
      {"chain", 2, chain},
      {"broadcast", 3, broadcast},
      {"stencil", 1, stencil},
      {"two_products", 3, two_products},
      {"convolution", 2, convolution},
      {"column_sums", 2, column_sums},
      {"twice_over_rows", 2, twice_over_rows},
      {"best_of_rows", 2, best_of_rows},
      {"total", 2, total},
      {"transpose", 2, transpose},
      {"shifted", 1, shifted},
      {"causal", 3, causal, true},
      {"window_maximum", 2, window_maximum},
  };
  return table;
}

Case case_of(const Computation &computation, Shape shape, DType dtype, std::string arch) {
  Case test_case{computation.make(shape, dtype), &computation, std::move(shape), dtype, std::move(arch), {}};
  test_case.source.name = computation.name;
  return test_case;
}

Case case_of_generated(std::uint64_t seed, std::string arch) {
  Generated made = generated(seed);
  return {std::move(made.program), nullptr, std::move(made.shape), made.dtype,
          std::move(arch),         {},      std::move(made.fits)};
}

TraceFile trace_of(const Case &test_case) {
  TraceFile trace{test_case.source.name, test_case.shape, test_case.dtype, test_case.arch,
                  test_case.directives};
  for (const Var &size : test_case.source.sizes)
    trace.sizes.emplace_back(size->name, *size->size);
  trace.computation = test_case.source;
  return trace;
}

Case case_of(const TraceFile &trace, const std::string &where) {
  Case test_case;
  Shape shape = trace.shape;
  if (!trace.sizes.empty())
    shape.stated = trace.sizes.front().second;
  auto made = std::ranges::find_if(computations(), [&](const Computation &computation) {
    return computation.name == trace.workload && computation.rank == shape.size();
  });
  if (trace.computation)
    test_case = {*trace.computation, nullptr, std::move(shape), trace.dtype, trace.arch, {}};
  else if (made != computations().end()) // the trace has version 1
    test_case = case_of(*made, std::move(shape), trace.dtype, trace.arch);
  else
    throw UserError(ExitCode::usage, where + ": no computation '" + trace.workload + "' of so many extents");
  test_case.directives = trace.directives;
  provide_intrinsics(test_case.directives);
  return test_case;
}

} // namespace nestsmith::fuzz
