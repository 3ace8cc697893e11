#pragma once
/// What one call of a schedule launches: kernels, one after the other, and the memory that they hand on.

#include "lowering/kernel.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::kernel {

/// A global temporary: one kernel writes it, a later one reads it. Nobody sees it but the kernels.
struct Workspace {
  Buffer buffer;
  std::int64_t byte_offset = 0; ///< in the one block of memory that all workspaces share
};

/// Workspaces start at multiples of 256 bytes, as allocations of the CUDA runtime do.
inline constexpr std::int64_t workspace_alignment = 256;

/// Kernels run in order on one stream: all that one has written is there when the next begins.
struct Plan {
  std::string name;           ///< a C identifier
  std::vector<Buffer> params; ///< what the caller passes, in order
  std::vector<Var> scalars;
  std::vector<Workspace> workspaces;
  std::int64_t workspace_bytes = 0;
  std::vector<Kernel> kernels; ///< each takes some of the parameters and workspaces, and some of the scalars

  Plan() = default;
  Plan(Kernel kernel); ///< the kernel alone, with its parameters

  const Kernel &only() const;        ///< the kernel, where there is one
  std::int64_t shared_bytes() const; ///< of a block: the most that a kernel takes
  void add_workspace(const Buffer &buffer);

  /// Where each parameter of the kernel stands among the plan's parameters, followed by its workspaces.
  std::vector<std::size_t> arguments(const Kernel &kernel) const;
  /// Where each scalar of the kernel stands among the plan's.
  std::vector<std::size_t> scalar_arguments(const Kernel &kernel) const;
};

/// The elements of a buffer of constant shape.
std::int64_t element_count(const Buffer &buffer);

/// All kernels as text, after the workspaces.
std::string print(const Plan &plan);

} // namespace nestsmith::kernel
