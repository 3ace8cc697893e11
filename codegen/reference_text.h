#pragma once
/// C++ text that computes an unscheduled program with plain loops, one element at a time: f64 in double-double,
/// and narrower floating point in double.

#include "codegen/cuda.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// One stage of the program: `reference.array[n] = reference.function(indices of n)`.
struct ReferenceStage {
  Buffer buffer;
  std::string type;     ///< type of an element: "Real", "Wide", or an integer type for a bitwise comparison
  std::string array;    ///< name of the member of `Reference` that contains the result
  std::string function; ///< name of the member function that computes one element
  std::string indices;  ///< arguments of `function` for element n: "n / 777, n % 777"
  std::int64_t elements;
};

struct ReferenceText {
  std::string definitions;            ///< `struct Real` and `struct Wide` where needed, and `struct Reference`
  std::vector<Parameter> inputs;      ///< first members of Reference: arrays that the caller fills
  std::vector<ReferenceStage> stages; ///< in program order; several stages may write the same array
  std::vector<Parameter> results;     ///< next members: an array for each buffer that a stage writes
  std::vector<Buffer> result_buffers; ///< the buffers of `results`
  std::vector<Parameter> scalars;     ///< last members
  double iterations = 0;              ///< iterations of all innermost bodies
};

/// A Real has a value and an error bound that holds for any f32 evaluation and any order of its sums:
///
///     n*u / (1 - n*u) * magnitude
///
/// Here n is the number of roundings on the longest path, u = 2^-24, and `magnitude` is
/// the value computed from absolute values. (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
/// 3.1.) For alpha*A*B + beta*C the bound is gamma(K+3) * (|alpha| |A| |B| + |beta| |C|).
///
/// f64 is a Wide (codegen/wide_text.h).
///
/// Throws UserError (usage) if the program has a floating-point operation for which no error bound is known.
ReferenceText reference_text(const Program &program);

/// The type of the reference for a floating-point type, "Real" or "Wide", and its 0.
std::string_view reference_number(DType type);
std::string zero_of(DType type);

} // namespace nestsmith
