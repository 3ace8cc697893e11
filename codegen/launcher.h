#pragma once
/// The names in the launcher's text: its parameters, and the sizes in expressions.

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "codegen/spell.h"

#include <map>
#include <string>
#include <vector>

namespace nestsmith {

/// Expressions of sizes, in 64 bits.
class SizeSpeller : public ExprSpeller {
public:
  explicit SizeSpeller(const std::map<Var, std::string> &names) : names_(names) {}

private:
  std::string variable(const Var &var) const override;
  std::string element(const Load &load) const override;
  const std::map<Var, std::string> &names_;
};

struct Launcher {
  Launcher(const EmitInfo &info, const kernel::Plan &plan);
  Launcher(const Launcher &) = delete;
  Launcher &operator=(const Launcher &) = delete;

  const kernel::Plan &plan;
  std::vector<Parameter> pointers, sizes, scalars;
  std::vector<std::int64_t> values; ///< of the sizes
  Parameter workspace, workspace_bytes;
  std::vector<Parameter> workspaces; ///< the parts of the workspace
  std::map<Var, std::string> names;  ///< of the plan's sizes
  SizeSpeller spell;

  /// `cudaError_t gemm_launch(…)`: its parameters.
  std::vector<std::string> parameters() const;
  /// The parameters of `gemm_requirement`, in the same order: those that have a requirement.
  std::vector<Parameter> checked() const;
  /// The parameters of `gemm_workspace_bytes`: the sizes, if the plan has any.
  std::vector<Parameter> of_workspace_bytes() const;
  /// `gemm_workspace_bytes(M, N, K)`.
  std::string workspace_call() const;
  /// The arguments of a call of this kernel of the plan.
  std::string arguments(const kernel::Kernel &kernel) const;
};

/// Bytes of which a parameter's address must be a multiple, for those that are accessed by vectors.
std::map<Buffer, std::int64_t> alignments(const kernel::Plan &plan);

/// "A: float [M, K], row-major, rows lda apart, read" without the name.
std::string array_text(const Buffer &buffer);

} // namespace nestsmith
