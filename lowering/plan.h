#pragma once
/// The launch plan of one call of a schedule: the kernels that execute one after the other, and the memory that
/// they share.

#include "lowering/kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::kernel {

/// A global temporary, which one kernel writes and this or a later kernel reads, or counters of arrivals. The
/// content of a temporary is undefined before and after a launch of the plan.
struct Workspace {
  Buffer buffer;
  /// Offset in the memory block that contains all workspaces; a constant or an expression of sizes.
  Expr byte_offset = 0;
  /// Counters of arrivals (`Arrive`): all elements are zero before and after a launch.
  bool counters = false;
};

/// Workspaces start at multiples of 256 bytes, the alignment of cudaMalloc.
inline constexpr std::int64_t workspace_alignment = 256;

/// Kernels that execute in order on one stream. A kernel can read everything that the kernels before it have
/// written.
struct Plan {
  std::string name;                 ///< a C identifier
  std::vector<Buffer> params;       ///< the caller's arguments, in order
  std::vector<SizeParameter> sizes; ///< every kernel takes all of them
  /// Values of `sizes` in a plan for one launch (`with_sizes`); otherwise empty.
  std::vector<std::int64_t> values;
  std::vector<Var> scalars;
  std::vector<Workspace> workspaces;
  Expr workspace_bytes = 0; ///< bytes of all workspaces; a constant or an expression of sizes
  /// Bytes at the start of the workspace that are left to counters (`reserve_counters`); 0: those that they
  /// need.
  std::int64_t reserved_counter_bytes = 0;
  std::vector<Kernel> kernels; ///< each takes a subset of the parameters, workspaces and scalars

  Plan() = default;
  Plan(Kernel kernel); ///< a plan of this kernel with its parameters

  const Kernel &only() const;        ///< the only kernel; there must be exactly one
  std::int64_t shared_bytes() const; ///< shared memory per block in bytes: the maximum over the kernels
  void add_workspace(const Buffer &buffer, bool counters = false);
  bool has_counters() const { return std::ranges::any_of(workspaces, &Workspace::counters); }
  /// Leaves this number of bytes at the start of the workspace to the counters, so that launches of other
  /// sizes, and of other plans that leave as many, do not write there. The caller checks that the counters fit.
  void reserve_counters(std::int64_t bytes);
  /// Bytes at the start of the workspace that must be zero before a launch. Each launch leaves them zero.
  Expr counter_bytes() const;
  /// The assumptions of all kernels, without duplicates.
  std::vector<Assumption> assumptions() const;

  /// For each buffer parameter of the kernel: its index in the list of the plan's parameters and then its
  /// workspaces.
  std::vector<std::size_t> arguments(const Kernel &kernel) const;
  /// The position of each scalar of the kernel in the plan's scalars.
  std::vector<std::size_t> scalar_arguments(const Kernel &kernel) const;
};

/// The plan for one launch, with one element of `values` for each size. The kernels are unchanged. Throws
/// UserError (usage) that names the first assumption that the values violate.
Plan with_sizes(const Plan &plan, std::span<const std::int64_t> values);

/// The plan with the name `name`. If the plan has one kernel, the kernel gets the same name. If it has several
/// kernels, their names get `name` as a prefix.
Plan renamed(Plan plan, const std::string &name);

/// The plan with constants in place of sizes. The plan must have values for its sizes.
Plan specialise(const Plan &plan);

/// The number of elements of a buffer of constant shape.
std::int64_t element_count(const Buffer &buffer);

/// Bytes of all workspaces for the plan's values.
std::int64_t workspace_bytes(const Plan &plan);

/// All workspaces and kernels as text.
std::string print(const Plan &plan);
/// The same, with the origin of each line.
TracedText print_traced(const Plan &plan);

} // namespace nestsmith::kernel
