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
  Expr byte_offset = 0; ///< in the one block of memory that all workspaces share; a constant, or of sizes
};

/// Workspaces start at multiples of 256 bytes, as allocations of the CUDA runtime do.
inline constexpr std::int64_t workspace_alignment = 256;

/// Kernels run in order on one stream: all that one has written is there when the next begins.
struct Plan {
  std::string name;                 ///< a C identifier
  std::vector<Buffer> params;       ///< what the caller passes, in order
  std::vector<SizeParameter> sizes; ///< every kernel takes all of them
  std::vector<std::int64_t> values; ///< of the sizes, in a plan for one launch (see `with_sizes`); else empty
  std::vector<Var> scalars;
  std::vector<Workspace> workspaces;
  Expr workspace_bytes = 0;    ///< a constant, or of sizes
  std::vector<Kernel> kernels; ///< each takes some of the parameters and workspaces, and some of the scalars

  Plan() = default;
  Plan(Kernel kernel); ///< the kernel alone, with its parameters

  const Kernel &only() const;        ///< the kernel, where there is one
  std::int64_t shared_bytes() const; ///< of a block: the most that a kernel takes
  void add_workspace(const Buffer &buffer);
  /// What the kernels assume of the sizes, each condition once.
  std::vector<Assumption> assumptions() const;

  /// Where each parameter of the kernel stands among the plan's parameters, followed by its workspaces.
  std::vector<std::size_t> arguments(const Kernel &kernel) const;
  /// Where each scalar of the kernel stands among the plan's.
  std::vector<std::size_t> scalar_arguments(const Kernel &kernel) const;
};

/// The plan for one launch: the same kernels. `values` has one for each size.
/// Throws UserError(usage) that names the assumption which they break.
Plan with_sizes(const Plan &plan, std::span<const std::int64_t> values);

/// The plan under another name: its only kernel has that name, and the names of several begin with it.
Plan renamed(Plan plan, const std::string &name);

/// The kernels of a plan for one launch with constants in the place of sizes, so that they have none.
Plan specialise(const Plan &plan);

/// The elements of a buffer of constant shape.
std::int64_t element_count(const Buffer &buffer);

/// The bytes of all workspaces in a launch for the plan's values.
std::int64_t workspace_bytes(const Plan &plan);

/// All kernels as text, after the workspaces.
std::string print(const Plan &plan);

} // namespace nestsmith::kernel
