#pragma once
/// The shippable .cu: a comment that says what it is, the kernels, and a launcher.

#include "lowering/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

struct NamedExtent {
  std::string name; ///< "M"
  std::int64_t value;
};

/// What the file says about its kernel beyond the kernel itself.
struct EmitInfo {
  std::string title;              ///< "deep_dive/shared: C = alpha*A*B + beta*C through shared memory"
  std::string target;             ///< "sm_90"
  std::vector<std::string> trace; ///< the schedule, line by line
  /// Of kernels for one shape: what the launcher takes for sizes, as the kernel for all shapes takes them;
  /// empty: named after each dimension.
  std::vector<NamedExtent> sizes;
  std::string header;             ///< the file that declares the launcher, as an #include names it; empty: none
  std::vector<std::string> notes; ///< further lines, such as registers and shared memory once compiled
  double operations = 0;          ///< floating-point operations of one launch; 0: not to be reported
};

/// Sizes that the launcher takes: those of the plan, else those of `info`, else every dimension of every array
/// (`A_dim0`, `A_dim1`, …). All are `long long`.
std::vector<NamedExtent> launcher_sizes(const EmitInfo &info, const kernel::Plan &plan);

/// "NAME_launch".
std::string launcher_name(const kernel::Plan &plan);
/// "NAME_requirement": a function of the file that says what a launch does not meet.
std::string requirement_name(const kernel::Plan &plan);
/// "NAME_workspace_bytes": a function of the file, where the plan has workspaces.
std::string workspace_bytes_name(const kernel::Plan &plan);

/// The file. Its launcher is `cudaError_t NAME_launch(pointers, sizes, scalars, cudaStream_t)`; it returns
/// cudaErrorInvalidValue unless the pointers are set, no array that is written overlaps another, and the
/// sizes are those that the kernels were generated for.
///
/// `const char *NAME_requirement(pointers, sizes)` gives the requirement that these do not meet as a sentence,
/// or null. It is what the launcher asks: it keeps no state and needs no device.
///
/// A launcher of sizes launches nothing, and succeeds, where a size of 0 leaves no element to be written. A sum
/// over a size of 0 is refused: the kernel was made for sizes of at least 1.
///
/// Kernels that hand on memory to each other take it from the caller, as the libraries of CUDA do: before
/// the stream come `void *workspace, size_t workspace_bytes`, of at least NAME_workspace_bytes() bytes and
/// aligned as cudaMalloc aligns. Nothing has to be in it, and nothing of use is left in it.
std::string emit(const EmitInfo &info, const kernel::Plan &plan);

/// The header of that file: declarations of its functions for C and C++.
std::string emit_header(const EmitInfo &info, const kernel::Plan &plan);

/// The two parts of that file, for who builds another around them (codegen/standalone.h).
std::string emit_header_comment(const EmitInfo &info, const kernel::Plan &plan);
std::string emit_launcher(const EmitInfo &info, const kernel::Plan &plan);

} // namespace nestsmith
