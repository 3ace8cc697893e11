#pragma once
/// A .cu file with kernels for all shapes and one launcher, which chooses by the times that a formula predicts.

#include "codegen/emit.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

/// A plan with sizes, of which the launcher may take the kernels.
struct ChoicePlan {
  std::string label; ///< ends the name of its kernels: "128x64x16_vectors"
  std::string note;  ///< its knobs
  EmitInfo info;
  kernel::Plan plan;
  bool half = false; ///< its accesses have 8 bytes, so that arrays need no more alignment
  /// The extent of the tiles along k, if the plan has a size that no array has: the number of terms in a part
  /// of the sum over K. The choice gives the number of parts.
  std::int64_t depth = 0;
};

/// The contents of the file. Its functions have the names and parameters of the functions of `emit`
/// (codegen/emit.h), with these differences:
///
/// - The launcher takes the plan with the least predicted time of those that serve the arguments. A plan serves
///   them if they meet its requirements that other plans do not have, such as multiples and alignments. If none
///   serves, the last plan says which requirement is not met.
/// - If a plan has a size that no array has, the choice gives its value, and the functions do not take it.
/// - NAME_workspace_bytes takes all sizes, and returns enough for every alignment of the arrays.
/// - The counters of arrivals have room at the start of the workspace for all sizes. The caller sets it to zero
///   once, and each launch leaves it zero.
///
/// The host functions are left out if NVRTC compiles the file.
struct ChoiceFile {
  std::string name;               ///< of the functions
  EmitInfo info;                  ///< title, target, and the name of the header
  std::vector<std::string> notes; ///< comment lines about the choice
  /// The plans have the same parameters, apart from the size that no array has, and three sizes M, N and K
  /// before the leading dimensions. At least one.
  std::vector<ChoicePlan> plans;
  std::int64_t most_workspace = 0;      ///< bytes; a plan that needs more for the sizes does not serve them
  std::int64_t counter_bytes = 1 << 15; ///< for counters, at the start of a workspace; the same
  std::string formula;                  ///< kernel_choice.inc
  std::string data;                     ///< `kernels`, in the order of the plans, and `machine`
};

/// The plans get the name of the file and their labels. Throws UserError (usage) if their parameters differ.
ChoiceFile named(ChoiceFile file);
/// A plan with the parameters and the names of the public functions, and all kernels. It cannot be executed.
kernel::Plan interface(const ChoiceFile &file);
/// "NAME_kernel": the function that returns the position of the plan, and the number of parts.
std::string choice_name(const ChoiceFile &file);

std::string emit(const ChoiceFile &file);
std::string emit_header(const ChoiceFile &file);

} // namespace nestsmith
