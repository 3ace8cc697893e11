#pragma once
/// A kernel as CUDA C++. It spells what lowering decided and decides nothing itself.

#include "lowering/plan.h"

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
