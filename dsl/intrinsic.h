#pragma once
/// Intrinsics: functions of which one call replaces a loop nest. CUDA defines the function, or a *prelude*
/// does: CUDA C++ text that codegen prints before the kernel. Each intrinsic is declared once, in
/// intrinsic.cpp. `tensorize` compares a nest with the meaning of the intrinsic, the simulator evaluates the
/// meaning, and codegen prints the call.

#include "dsl/arch.h"
#include "dsl/expr.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

struct Intrinsic {
  std::string name;            ///< the name of the function, and the argument of `tensorize`
  DType result;                ///< dtype of the result, a scalar
  std::vector<Var> parameters; ///< an operand for a vector parameter consists of consecutive elements
  Expr meaning;                ///< the result as an expression of the parameters, without side effects
  std::int64_t extent;         ///< iterations of the loop that one call replaces
  std::int64_t alignment = 0;  ///< bytes, for each vector operand in memory
  /// The feature that an architecture must have for the function. None: all architectures have it.
  std::optional<Feature> feature = {};
  std::string prelude; ///< definition of the function in CUDA C++; empty: CUDA has it
};

/// The intrinsic of this name for this element dtype, or null.
const Intrinsic *find_intrinsic(std::string_view name, DType dtype);

/// Operands of an expression and of a meaning that differ in their kind, their dtype or their operator, or an
/// operand that differs from the operand found before for the same parameter.
struct Difference {
  Expr got, expected;
};
/// Matches `e` against the meaning of `intrinsic`. Returns for each parameter the expressions of its lanes. If
/// `e` does not match, returns none, and sets `difference`, unless it is null, to the first difference from the
/// left.
std::optional<std::map<Var, std::vector<Expr>>> match(const Intrinsic &intrinsic, const Expr &e,
                                                      Difference *difference = nullptr);

/// Whether the elements are bytes that fill a register of 4 bytes. One instruction loads them, and an intrinsic
/// takes them as one operand.
constexpr bool is_packed_word(DType dtype, std::int64_t lanes) {
  return (dtype == DType::i8 || dtype == DType::u8) && lanes == 4;
}

/// All declared intrinsics: "dot4 (f32)", ….
std::vector<std::string> intrinsic_signatures();

} // namespace nestsmith
