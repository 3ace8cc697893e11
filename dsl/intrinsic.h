#pragma once
/// Intrinsics: what one call of a function of CUDA's, or of a prelude, does for a nest of loops. Each is
/// declared once, here: the scheduler matches a nest against its meaning, the simulator runs the meaning,
/// and codegen calls its function and writes its prelude once before the kernel.

#include "dsl/expr.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Who executes a call together.
enum class Group : std::uint8_t { thread };

struct Intrinsic {
  std::string name;            ///< as `tensorize` takes it, and of the function
  DType result;                ///< dtype of the result, which has one lane
  std::vector<Var> parameters; ///< a vector: elements side by side in memory
  Expr meaning;                ///< of the result, in the parameters; no effects
  std::int64_t extent;         ///< iterations of the loop that a call replaces
  Group group = Group::thread;
  std::int64_t alignment = 0; ///< bytes, of each vector operand in memory
  int minimum_arch = 0;       ///< the first architecture that it is declared for: 80 is sm_80
  std::string prelude;        ///< the function's definition in CUDA C++; empty: CUDA has it
};

/// The intrinsic of this name for elements of this dtype, or null.
const Intrinsic *find_intrinsic(std::string_view name, DType dtype);
/// What each parameter stands for, lane by lane, where `e` is the meaning of `intrinsic` with something put in
/// the place of each lane; none where it is not.
std::optional<std::map<Var, std::vector<Expr>>> match(const Intrinsic &intrinsic, const Expr &e);

/// "dot4 (f32)", … of all that are declared.
std::vector<std::string> intrinsic_signatures();

} // namespace nestsmith
