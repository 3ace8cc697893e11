#pragma once
/// A kernel as CUDA C++. It spells what lowering decided and decides nothing itself.

#include "lowering/plan.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace nestsmith {

/// The name of the kernel in the text and in the CUBIN: the kernel's own, unless C++ or CUDA takes it.
std::string entry_name(const kernel::Kernel &kernel);

/// The definition of the kernel, preceded by the helpers that it calls. It needs no header but
/// those of the narrow floats, cuda_fp16.h and cuda_bf16.h, which it includes where it uses them. The same
/// kernel always gives the same text.
///
/// Index arithmetic divides by `/` and `%`: see codegen/spell.h for why that is floor division here.
std::string cuda_kernel(const kernel::Kernel &kernel);
/// All kernels of a plan, in order, below the helpers that they call.
std::string cuda_kernels(const kernel::Plan &plan);

/// A statement of a text.
struct TextLine {
  std::size_t number = 0; ///< of its first line, from 1
  std::string text;       ///< on one line; of a loop or an if, the head
};

/// `cuda_kernels`, and where the statements of the kernels stand in it.
struct CudaText {
  std::string text;
  std::map<const kernel::StmtNode *, std::size_t> begins; ///< offsets; a statement may begin with its comment

  /// Number 0 where the statement is not one of the plan's.
  TextLine line(const kernel::Stmt &stmt) const;
};
CudaText cuda_text(const kernel::Plan &plan);

/// Parameters as the text names them: "A", and their C++ types: "const float *".
struct Parameter {
  std::string type, name;
  std::string declaration(const std::string &qualifier = {}) const; ///< `const float *__restrict__ A`
};
std::vector<Parameter> pointer_parameters(const kernel::Plan &plan);
std::vector<Parameter> size_parameters(const kernel::Plan &plan);
std::vector<Parameter> scalar_parameters(const kernel::Plan &plan);

/// "32 x 4 x 1" as far as it is not 1: "32 x 4".
std::string extents_text(const std::array<std::int64_t, 3> &extents);

} // namespace nestsmith
