#pragma once
/// The work of `bench`: a computation with its inputs, and the forms in which the libraries compute it.

#include "dsl/ir/workload_info.h"
#include "runtime/check/inputs.h"
#include "runtime/cuda/cublaslt.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nestsmith::cli {

using Addresses = std::span<const cuda::Address>;
using Scalars = std::span<const Scalar>;

/// One computation at one shape.
struct Computation {
  explicit Computation(const Program &program);

  Program source;
  std::string text;                     ///< of `source`; equal texts are the same computation
  std::optional<GemmWithEpilogue> gemm; ///< a product that cuBLASLt computes, too
  /// Every sum of the integers is exact in f32, so that all correct results are equal.
  Inputs integers, random;

  /// The results on the integers, and the name of the row that computed them. Empty until a row did.
  std::vector<Array> expected = {};
  std::string expected_from = "";
  /// Compares results on the integers with `expected`, or keeps them there if they are the first. Returns a
  /// sentence about the first element that differs, or an empty string.
  std::string compare(std::vector<Array> got, const std::string &row);
};

/// An executable form of a row. A peer has several: the modes of cuBLAS, the algorithms of cuBLASLt.
struct Form {
  std::string variant; ///< "pedantic", "heuristic 3 of 8"; empty for the only form of a rung
  /// Enqueues one execution with the addresses of the parameters and of the workspaces.
  std::function<void(Addresses, Scalars)> enqueue;
  std::vector<cuda::Memory> workspaces = {};
};

/// Whether cuBLAS computes it: a product in f32 without a bias and a ReLU.
bool is_of_cublas(const Computation &computation);

/// The forms of a product. `computation` must have a `gemm`, for cuBLAS one of its own. `library` must outlive
/// the forms.
std::vector<Form> forms_of(const cuda::Cublas &library, const Computation &computation);
std::vector<Form> forms_of(const cuda::CublasLt &library, const Computation &computation);

} // namespace nestsmith::cli
