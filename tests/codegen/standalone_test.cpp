/// Tests emitted standalone programs. They run on the host, where host functions replace the CUDA runtime.

#include "codegen/standalone.h"

#include "dsl/ir/specialise.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "lowering/lower.h"
#include "tests/codegen/hand_built.h"
#include "tests/codegen/host_text.h"
#include "tests/gemm_sizes.h"

#include <gmock/gmock.h>

namespace nestsmith::kernel {
namespace {

struct Product {
  Program program;
  Kernel kernel;
  EmitInfo info;
};

/// C = alpha*A*B + beta*C with one thread per element. The kernel sums the first `terms` of the K terms, so
/// fewer than K make the result wrong.
Product product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t terms, DType dtype = DType::f32) {
  Workload w("product");
  Tensor A = w.placeholder("A", {Expr(m), Expr(k)}, dtype), B = w.placeholder("B", {Expr(k), Expr(n)}, dtype);
  Tensor C = w.inout("C", {Expr(m), Expr(n)}, dtype);
  Expr alpha = w.scalar("alpha", dtype), beta = w.scalar("beta", dtype);
  Reduce r = reduce_axis("k", Expr(k));
  Tensor AB = w.compute("AB", {Expr(m), Expr(n)}, {"i", "j"},
                        [&](Expr i, Expr j) { return sum(A(i, r) * B(r, j), r); });
  w.update(C, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return alpha * AB(x[0], x[1]) + beta * C(x[0], x[1]);
  });
  Product result{w.output(), {}, {}};

  const Program &p = result.program;
  Var i = index("i"), j = index("j"), inner = index("k");
  Buffer total = storage("AB", Scope::local, 1, dtype);
  Expr zero = i32(0), at = Expr(i) * i32(n) + Expr(j);
  Kernel &kernel = result.kernel;
  kernel.name = "product";
  kernel.params = p.params;
  kernel.scalars = p.scalars;
  kernel.indices = {{Axis::block_y, i, m}, {Axis::thread_x, j, n}};
  kernel.local = {{total, 0, {1}}};
  Expr term =
      get(p.params[0], Expr(i) * i32(k) + Expr(inner)) * get(p.params[1], Expr(inner) * i32(n) + Expr(j));
  kernel.body = kernel::make_seq(
      {set(total, zero, constant(dtype, 0)),
       loop(inner, terms, kernel::Serial{}, {set(total, zero, get(total, zero) + term)}),
       set(p.params[2], at,
           Expr(p.scalars[0]) * get(total, zero) + Expr(p.scalars[1]) * get(p.params[2], at))});
  result.info.sizes = gemm_sizes(m, n, k);
  return result;
}

int run_standalone(const Product &p) { return run_on_host(emit_standalone(p.info, p.kernel, p.program)); }

TEST(Standalone, ARightKernelPasses) {
  EXPECT_EQ(run_standalone(product(7, 5, 33, 33)), 0);
  EXPECT_EQ(run_standalone(product(1, 1, 1, 1)), 0);
  EXPECT_EQ(run_standalone(product(7, 5, 33, 33, DType::u32)), 0);
}

TEST(Standalone, ALostTermIsFound) {
  EXPECT_EQ(run_standalone(product(7, 5, 33, 32)), 1);
  EXPECT_EQ(run_standalone(product(7, 5, 33, 32, DType::u32)), 1);
}

/// Ten squarings have an error bound far above every result, although the kernel is right.
TEST(Standalone, AResultWithoutAUsefulBoundIsNotCalledRight) {
  Workload w("power");
  Tensor x = w.placeholder("x", {64});
  Tensor y = w.compute("y", {64}, {"i"}, [&](Expr i) -> Definition {
    Expr power = x(i) * 0.01f + 1.0f - x(i) * x(i);
    for (int n = 0; n < 10; ++n)
      power = power * power - power * 0.5f;
    return power;
  });
  Schedule s(w.output({y}));
  std::string output;
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source()), 8, &output), 1);
  EXPECT_THAT(output, testing::HasSubstr("check: y UNKNOWN, 0 of 64 elements wrong"));
  EXPECT_THAT(output, testing::HasSubstr("elements of y have no useful error bound"));
}

TEST(Standalone, AnElementThatNobodyWritesIsFound) {
  Workload w("copy");
  Tensor a = w.placeholder("a", {100}), b = w.placeholder("b", {100});
  Program program = w.output({w.compute("out", {100}, {"i"}, [&](Expr i) { return Definition(a(i) + b(i)); })});
  Elementwise e;
  kernel::Stmt all = set(e.out, e.i, e.at_a() + e.at_b());
  EXPECT_EQ(run_on_host(emit_standalone({}, e.kernel({all}), program)), 0);
  EXPECT_EQ(run_on_host(emit_standalone({}, e.kernel({when(Expr(e.i) < i32(99), {all})}), program)), 1);
}

/// The leading dimensions of X, C and Y are 12, 16 and 20.
Schedule rows_apart(bool symbolic) {
  Workload w("rows");
  Expr m = symbolic ? w.size("M", {}) : Expr(5), n = symbolic ? w.size("N", {}) : Expr(7);
  Tensor x = w.placeholder("X", {m, n}, DType::f32, {Expr(12)});
  Tensor c = w.inout("C", {m, n}, DType::f32, {Expr(16)});
  Tensor y =
      w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) + c(i, j); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &v) -> Definition { return c(v[0], v[1]) * 2.0f; });
  Schedule s(w.output({{y, {Expr(20)}}}));
  s.bind(s.loops(s.block("Y"))[0], Axis::block_x);
  s.bind(s.loops(s.block("C"))[0], Axis::block_x);
  return s;
}

TEST(Standalone, RowsMayBeApartByAConstant) {
  Schedule one = rows_apart(false), all = rows_apart(true);
  std::string output;
  EXPECT_EQ(run_on_host(emit_standalone({}, lower(one), one.source()), 8, &output), 0);
  EXPECT_THAT(output, testing::HasSubstr("check: Y passed, 0 of 35 elements wrong"));
  std::vector<std::int64_t> sizes{5, 7};
  std::string text = emit_standalone({}, with_sizes(lower(all), sizes), specialise(all.source(), sizes));
  EXPECT_EQ(run_on_host(text), 0);
  EXPECT_THAT(text,
              testing::HasSubstr("if (12 < N)\n    return \"N, the length of a row of X, must be at most 12, "
                                 "its leading dimension\";"));
}

/// A kernel may have the name of an array, of an axis or of a function that the file defines.
TEST(Standalone, AKernelMayHaveANameOfTheComputation) {
  for (const char *name : {"X", "Y", "i", "X_launch", "sincos", "packed", "workspace", "stream", "Y_T"}) {
    SCOPED_TRACE(name);
    Workload w(name);
    Tensor x = w.placeholder("X", {8});
    Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
    Tensor u = w.compute("_T", {8}, {"i"}, [&](Expr i) -> Definition { return t(7 - i) + 1; });
    Schedule s(w.output({w.compute("Y", {8}, {"i"}, [&](Expr i) -> Definition { return u(7 - i) * 2; })}));
    EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source())), 0);
  }
}

/// The text of the kernel and that of the reference have one local for each square.
TEST(Standalone, SharedOperandsAreComputedOnce) {
  for (DType dtype : {DType::u32, DType::f32}) {
    Workload w("powers");
    Tensor a = w.placeholder("a", {100}, dtype);
    Tensor b = w.compute("b", {100}, {"i"}, [&](Expr i) {
      Expr x = a(i);
      for (int n = 0; n < 14; ++n)
        x = dtype == DType::u32 ? x * x + 1 : x + x;
      return x;
    });
    Schedule s(w.output({b}));
    s.bind(s.loop("i"), Axis::thread_x);
    std::string text = emit_standalone({}, lower(s), s.source());
    EXPECT_LT(text.size(), 12000U);
    EXPECT_NE(text.find(dtype == DType::u32 ? "const unsigned int t14 = " : "const Real t14 = "),
              std::string::npos);
    EXPECT_EQ(run_on_host(text), 0);
  }
}

TEST(Standalone, TheReferenceOnTheDeviceIsTheSame) {
  EXPECT_EQ(run_standalone(product(513, 512, 512, 512)), 0);
}

TEST(Standalone, SaysWhichRequirementIsNotMet) {
  Product p = product(7, 5, 33, 33);
  std::string text = emit_standalone(p.info, p.kernel, p.program), call = "_device, 7, 5, 33,", output;
  std::size_t at = text.find(call);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(run_on_host(text.replace(at, call.size(), "_device, 7, 6, 33,"), 8, &output), 2);
  EXPECT_NE(output.find("product_launch: N must be 5, for which the kernel was generated\n"), std::string::npos)
      << output;
}

TEST(Launcher, RefusesOtherSizesNullPointersAndOverlappingArrays) {
  Product p = product(4, 5, 6, 6);
  std::string text = emit(p.info, p.kernel) + R"(
int main() {
  float A[24] = {}, B[30] = {}, C[20] = {}, AC[30] = {};
  auto launch = [&](const float *a, float *c, int M, int ldb) {
    return product_launch(a, B, c, M, 5, 6, 6, ldb, 5, 1.0f, 0.0f, nullptr);
  };
  if (launch(A, C, 4, 5) != cudaSuccess) return 1;
  if (launch(A, C, 5, 5) != cudaErrorInvalidValue) return 2;
  if (launch(A, C, 4, 8) != cudaErrorInvalidValue) return 3;
  if (launch(nullptr, C, 4, 5) != cudaErrorInvalidValue) return 4;
  if (launch(AC, AC + 10, 4, 5) != cudaErrorInvalidValue) return 5;
  if (launch(B, C, 4, 5) != cudaSuccess) return 6; // two inputs may be one array
  return 0;
}
)";
  EXPECT_EQ(run_on_host(text), 0);
}

} // namespace
} // namespace nestsmith::kernel
