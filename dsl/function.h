#pragma once
/// Functions that an expression of a kernel calls. CUDA defines the function, or a *prelude* does: CUDA C++
/// text that codegen prints before the kernel. The simulator evaluates the meaning.

#include "dsl/expr.h"

#include <string>
#include <vector>

namespace nestsmith {

struct Function {
  std::string name;
  DType result;                ///< dtype of the result, a scalar
  std::vector<Var> parameters; ///< an operand for a vector parameter consists of consecutive elements
  Expr meaning;                ///< the result as an expression of the parameters, without side effects
  std::string prelude;         ///< definition of the function in CUDA C++; empty: CUDA has it
};

/// Whether the elements are bytes that fill a register of 4 bytes. One instruction loads them, and a function
/// takes them as one operand.
constexpr bool is_packed_word(DType dtype, std::int64_t lanes) {
  return (dtype == DType::i8 || dtype == DType::u8) && lanes == 4;
}

} // namespace nestsmith
