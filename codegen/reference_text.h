#pragma once
/// C++ that computes an unscheduled program by plain loops, one element at a time, in double.

#include "codegen/cuda.h"
#include "dsl/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

/// One stage of the program: `reference.array[n] = reference.function(indices of n)`.
struct ReferenceStage {
  Buffer buffer;
  std::string type;  ///< of an element: "Real", or an integer type that is compared bit for bit
  std::string array; ///< the member that holds the result
  std::string function;
  std::string indices; ///< of element n: "n / 777, n % 777"
  std::int64_t elements;
};

struct ReferenceText {
  std::string definitions;            ///< `struct Real` where it is needed, and `struct Reference`
  std::vector<Parameter> inputs;      ///< the first members of Reference: arrays that the caller fills
  std::vector<ReferenceStage> stages; ///< in order; one array may be written by several
  std::vector<Parameter> results;     ///< the next members: an array for each buffer that a stage writes
  std::vector<Buffer> result_buffers; ///< of `results`
  std::vector<Parameter> scalars;     ///< the last members
  double iterations = 0;              ///< of all innermost bodies
};

/// A Real carries what bounds the error of any f32 evaluation, whatever the order of its sums: with n
/// roundings on the longest path, u = 2^-24 and every term taken by its magnitude, it is
/// n*u / (1 - n*u) * magnitude. (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1.) For
/// alpha*A*B + beta*C this is gamma(K+3) * (|alpha| |A| |B| + |beta| |C|).
ReferenceText reference_text(const Program &program);

} // namespace nestsmith
