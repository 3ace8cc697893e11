/// Tests atomic operations in kernels: a store of the term alone, and the verifier of kernels.

#include "codegen/cuda.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "lowering/verify_kernel.h"
#include "tests/contains.h"
#include "tests/dsl/support.h"
#include "tests/lowering/changed_stores.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;

/// y[i] is the reduction of row i of X. A thread block combines a part of 4 terms.
kernel::Plan reduced_by_atomics(Reducer reducer, DType dtype) {
  Workload w("reduced");
  Tensor x = w.placeholder("X", {6, 10}, dtype);
  Reduce k = reduce_axis("k", 10);
  Tensor y = w.compute("y", {6}, {"i"}, [&](const Expr &i) { return reduce(reducer, x(i, k), k); });
  Schedule s(w.output({y}));
  BlockRef block = s.block("y");
  Loop init = s.loops(s.nondeterministic_atomics(block))[0];
  s.bind(init, Axis::thread_x);
  auto [row, term] = s.loops<2>(block);
  auto [part, inner] = s.split<2>(term, {infer, 4});
  s.bind(row, Axis::thread_x);
  s.bind(part, Axis::block_x);
  return lower(s);
}

TEST(AtomicOperations, StoreTheTermAlone) {
  kernel::Plan plan = reduced_by_atomics(Reducer::sum, DType::f32);
  ASSERT_EQ(plan.kernels.size(), 2U);
  EXPECT_TRUE(contains(kernel::print(plan.kernels[0]), "  y[i_init] = 0.0\n"))
      << kernel::print(plan.kernels[0]);
  EXPECT_TRUE(contains(kernel::print(plan.kernels[1]), "atomic y[i] = y[i] + X["))
      << kernel::print(plan.kernels[1]);
  EXPECT_TRUE(contains(kernel::print(reduced_by_atomics(Reducer::min, DType::i32).kernels[1]),
                       "atomic y[i] = min(y[i], X["));
}

TEST(AtomicOperations, AreCallsOfCudasFunctions) {
  for (auto [reducer, dtype, call] : {std::tuple(Reducer(Reducer::sum), DType::f64, "atomicAdd(&y[i], X["),
                                      {Reducer::max, DType::u32, "atomicMax(&y[i], X["},
                                      {Reducer::min, DType::i32, "atomicMin(&y[i], X["}}) {
    std::string text = cuda_kernel(reduced_by_atomics(reducer, dtype).kernels[1]);
    EXPECT_TRUE(contains(text, call)) << text;
    EXPECT_EQ(contains(text, "// not deterministic: in any order"), dtype == DType::f64) << text;
  }
}

TEST(VerifyKernel, RefusesAtomicOperationsThatCudaDoesNotHave) {
  kernel::Kernel kernel = reduced_by_atomics(Reducer::sum, DType::f32).kernels[1];
  auto with = [&](const auto &change) {
    return test::breach_of_changed(
        kernel, [](const kernel::Store &store) { return static_cast<bool>(store.atomic); }, change);
  };
  EXPECT_EQ(with([](kernel::Store &) {}), "");
  EXPECT_EQ(with([](kernel::Store &x) { x.atomic = Reducer::product; }),
            "y (global memory) is updated by an atomic product of 1 elements of f32, which CUDA does not have");
  EXPECT_EQ(with([](kernel::Store &x) { x.atomic = Reducer::max; }),
            "y (global memory) is updated by an atomic max of 1 elements of f32, which CUDA does not have");
}

} // namespace
} // namespace nestsmith
