#pragma once
/// The shippable .cu file: a header comment, the kernels, and a host launcher.

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
  /// For kernels of one shape: the sizes that the launcher takes, so that its interface equals that of the
  /// kernel for all shapes. Empty: one size per dimension of each array.
  std::vector<NamedExtent> sizes;
  std::string header;             ///< the file that declares the launcher, for an #include; empty: none
  std::vector<std::string> notes; ///< further comment lines, such as registers and shared memory
  double operations = 0;          ///< floating-point operations per launch; 0: do not report
};

/// The sizes that the launcher takes: those of the plan, else those of `info`, else every dimension of every
/// array (`A_dim0`, `A_dim1`, …). All are `long long`.
std::vector<NamedExtent> launcher_sizes(const EmitInfo &info, const kernel::Plan &plan);

/// "NAME_launch".
std::string launcher_name(const kernel::Plan &plan);
/// "NAME_requirement": the function of the file that reports a violated requirement.
std::string requirement_name(const kernel::Plan &plan);
/// "NAME_workspace_bytes": a function of the file if the plan has workspaces.
std::string workspace_bytes_name(const kernel::Plan &plan);

/// The file. It defines these host functions:
///
/// `cudaError_t NAME_launch(pointers, sizes, scalars, cudaStream_t)` launches the kernels. It returns
/// cudaErrorInvalidValue if a pointer is null, if a written array overlaps another array, or if the kernels
/// were not generated for these sizes. For a plan with sizes it succeeds without a launch if a size of 0 leaves
/// no element to write. It rejects a sum over a size of 0, because the kernels assume sizes of 1 or more.
///
/// `const char *NAME_requirement(pointers, sizes)` returns the violated requirement as a sentence, or null. The
/// launcher uses it. It has no state and needs no device.
///
/// If the plan has workspaces, the launcher takes `void *workspace, size_t workspace_bytes` before the stream,
/// as CUDA libraries do, and NAME_requirement takes both after the sizes. The workspace has at least
/// NAME_workspace_bytes() bytes and the alignment of cudaMalloc. Its content is undefined before and after the
/// launch.
std::string emit(const EmitInfo &info, const kernel::Plan &plan);

/// The header of that file, which declares its functions for C and C++.
std::string emit_header(const EmitInfo &info, const kernel::Plan &plan);

/// The two parts of that file, from which codegen/standalone.h builds another file.
std::string emit_header_comment(const EmitInfo &info, const kernel::Plan &plan);
std::string emit_launcher(const EmitInfo &info, const kernel::Plan &plan);

} // namespace nestsmith
