#pragma once
/// Names in the text of the launcher: its parameters, and sizes in expressions.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "codegen/spell.h"

#include <map>
#include <string>
#include <vector>

namespace nestsmith {

/// Prints expressions of sizes, in 64 bits.
class SizeSpeller : public ExprSpeller {
public:
  explicit SizeSpeller(const std::map<Var, std::string> &names) : names_(names) {}

private:
  std::string variable(const Var &var) const override;
  std::string element(const Load &load) const override;
  const std::map<Var, std::string> &names_;
};

/// The parameters of the launcher of a plan. This object refers to the plan, so the plan must outlive it.
struct Launcher {
  Launcher(const EmitInfo &info, const kernel::Plan &plan);
  Launcher(const Launcher &) = delete;
  Launcher &operator=(const Launcher &) = delete;

  const kernel::Plan &plan;
  std::vector<Parameter> pointers, sizes, scalars;
  std::vector<std::int64_t> values; ///< for kernels of one shape: the value of each element of `sizes`
  Parameter workspace, workspace_bytes;
  std::string workspace_function;    ///< name of the function that returns the size of the workspace
  std::vector<Parameter> workspaces; ///< the parts of the workspace
  std::map<Var, std::string> names;  ///< names of the plan's sizes
  SizeSpeller spell;

  /// The parameters of `cudaError_t gemm_launch(…)`, as declarations.
  std::vector<std::string> parameters() const;
  /// The parameters of `gemm_requirement`: the parameters of the launcher that have a requirement, in the same
  /// order.
  std::vector<Parameter> checked() const;
  /// The parameters of `workspace_function`: the sizes of the plan, if any. For a plan of a `ChoiceFile`, all
  /// elements of `sizes` that arrays have.
  std::vector<Parameter> of_workspace_bytes() const;
  /// The call `gemm_workspace_bytes(M, N, K)`.
  std::string workspace_call() const;
  /// The name of a parameter or of a workspace that is an argument of the kernel.
  const std::string &array(const kernel::Kernel &kernel, const Buffer &buffer) const;
  /// The arguments of a call of this kernel of the plan, and the maps that `make_tensor_maps` declares.
  std::string arguments(const kernel::Kernel &kernel) const;

private:
  bool dispatched_; ///< the plan is one of a `ChoiceFile`
};

/// The sizes of the plan that no parameter has: the caller chooses them.
std::vector<Var> chosen_sizes(const kernel::Plan &plan);

/// A name for a function of the file, "gemm_launch" for the suffix "_launch", that differs from the names of
/// all kernels and arrays.
std::string function_name(const kernel::Plan &plan, const char *suffix);

/// "M, N, K".
std::string joined_names(const std::vector<Parameter> &parameters);

/// The arguments with which a function of a file with several plans calls that of one plan: the launcher's if
/// `launch`, otherwise those that are checked. Only a plan with workspaces takes one. `chosen` is the value of
/// the size that no array has, if the plan has such a size.
std::string arguments_for(const Launcher &launcher, const kernel::Plan &plan, const std::string &chosen,
                          bool launch);

/// The requirement on the content of a workspace that has counters, as sentences. Empty for other plans.
std::string counters_text(const kernel::Plan &plan);

/// For each parameter with vector accesses: the alignment of its address that these accesses need, in bytes.
std::map<Buffer, std::int64_t> alignments(const kernel::Plan &plan);

/// The description of an array without its name: "float [M, K], row-major, rows lda apart, read".
std::string array_text(const Buffer &buffer);
/// The extents of an array: "[M, K]".
std::string shape_text(const Buffer &buffer);
/// The same description with another text for the extents.
std::string array_text(const Buffer &buffer, const std::string &shape);

} // namespace nestsmith
