#pragma once
/// Generates the .cu file for the user: a header comment, the kernels, and a host launcher.

#include "codegen/line_info.h"
#include "lowering/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

struct NamedExtent {
  std::string name; ///< "M"
  std::int64_t value;
};

/// Inputs of `emit` that are not part of the plan.
struct EmitInfo {
  std::string title;              ///< "deep_dive/shared: C = alpha*A*B + beta*C through shared memory"
  std::string target;             ///< "sm_90"
  std::vector<std::string> trace; ///< the directives of the schedule, one per line
  /// For kernels of one shape: the size parameters of the launcher. They are the sizes of the symbolic kernel,
  /// so that both launchers have the same parameters. Empty: one size for each dimension of each array.
  std::vector<NamedExtent> sizes;
  std::string header;                 ///< name of the header that the file includes; empty: none
  std::vector<std::string> notes;     ///< further comment lines, such as registers and shared memory
  double operations = 0;              ///< floating-point operations per launch; 0: do not report
  SourceLines source_lines = nullptr; ///< for `#line` directives in the kernels; null: none
  /// For one plan of a `ChoiceFile` (codegen/choice_file.h): the name of the function that returns the size of
  /// the workspace for all size parameters. The host functions of such a plan are `static`. Otherwise empty.
  std::string workspace_function;
};

/// The size parameters of the launcher, all of type `long long`: the sizes of the plan if it has any, otherwise
/// the sizes of `info` if it has any, otherwise every dimension of every array (`A_dim0`, `A_dim1`, …).
std::vector<NamedExtent> launcher_sizes(const EmitInfo &info, const kernel::Plan &plan);

/// "NAME_launch".
std::string launcher_name(const kernel::Plan &plan);
/// "NAME_requirement": the name of the function that reports a violated requirement.
std::string requirement_name(const kernel::Plan &plan);
/// "NAME_workspace_bytes": the name of the function that returns the size of the workspace. The file defines
/// this function only if the plan has workspaces.
std::string workspace_bytes_name(const kernel::Plan &plan);

/// Returns the text of the file. The file defines these host functions:
///
/// `cudaError_t NAME_launch(pointers, sizes, scalars, cudaStream_t)` launches the kernels. It returns
/// cudaErrorInvalidValue if a requirement is violated: for example, a pointer is null, a written array overlaps
/// another array, or the kernels were not generated for these sizes. For a plan with sizes: if a size is 0 and
/// so the outputs have no elements, the function succeeds without a launch. If the outputs have elements but a
/// sum has no terms because a size is 0, the function returns an error, because the kernels assume sizes of 1
/// or more.
///
/// `const char *NAME_requirement(pointers, sizes)` returns the violated requirement as a sentence, or null. The
/// launcher calls this function. The function has no state and needs no device.
///
/// If the plan has workspaces, the launcher takes `void *workspace, size_t workspace_bytes` before the stream,
/// as CUDA libraries do, and NAME_requirement takes both after the sizes. The workspace has at least
/// NAME_workspace_bytes() bytes and the alignment of cudaMalloc. Its content is undefined before and after the
/// launch.
std::string emit(const EmitInfo &info, const kernel::Plan &plan);

/// The header of this file, which declares its functions for C and C++.
std::string emit_header(const EmitInfo &info, const kernel::Plan &plan);

/// Two parts of this file, which other files also have: the header comment, and the launcher. If
/// `info.workspace_function` is set, the text has no definition of `overlap_function` (codegen/requirements.h)
/// and `launcher_functions`.
std::string emit_header_comment(const EmitInfo &info, const kernel::Plan &plan);
std::string emit_launcher(const EmitInfo &info, const kernel::Plan &plan);
/// The definitions of the functions that launchers of the plan call: `tensor_map_function`
/// (codegen/tensor_maps.h), and one that launches a kernel early.
std::string launcher_functions(const kernel::Plan &plan);
/// The headers that the launcher needs.
std::string runtime_includes(const kernel::Plan &plan);

} // namespace nestsmith
