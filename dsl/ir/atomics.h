#pragma once
/// Reductions by atomic operations (dsl/schedule/primitives/nondeterministic_atomics.h).
///
/// An atomic operation replaces an element in global memory by its combination with a term. Threads execute
/// these operations in any order. So the reducer is commutative, and if it rounds, the result differs from run
/// to run. Of f32, a GPU flushes subnormal elements, terms and sums to 0 (PTX ISA, `red`), which the simulator
/// and the bounds of `check` leave out.

#include "dsl/ir/program.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Whether CUDA has one atomic operation that combines elements of this dtype: sums of f32, f64, i32 and u32,
/// and maxima and minima of i32 and u32. All supported architectures have them. Source: CUDA C++ Programming
/// Guide, "Atomic Functions".
bool has_atomic(Reducer reducer, DType dtype);
/// The function of CUDA: "atomicAdd". The reducer has an atomic operation for some dtype.
std::string_view atomic_function(Reducer reducer);
/// Whether the order of the terms changes an element: a floating-point sum rounds.
bool depends_on_order(Reducer reducer, DType dtype);

/// A sentence for each block that combines terms by atomics and whose result depends on their order.
std::vector<std::string> nondeterministic_results(const Program &program);

} // namespace nestsmith
