#pragma once
/// Prints kernels as CUDA C++. This code prints the kernel exactly as lowering has generated it, and does not
/// optimise it.

#include "codegen/line_info.h"
#include "lowering/plan.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace nestsmith {

/// The name of the kernel in the text and in the CUBIN: `kernel.name`, or a changed name if C++ or CUDA
/// reserves it.
std::string entry_name(const kernel::Kernel &kernel);

/// The definition of the kernel, preceded by the helpers that it calls. The text includes cuda_fp16.h or
/// cuda_bf16.h if it uses these types, and needs no other headers. For the same kernel, the text is always the
/// same.
///
/// Floor division and modulo of indices are printed as `/` and `%`; codegen/spell.h explains why this is
/// correct.
std::string cuda_kernel(const kernel::Kernel &kernel);
/// All kernels of a plan in order, preceded by the helpers that they call. With `locate`, their definitions
/// have
/// `#line` directives (codegen/line_info.h).
std::string cuda_kernels(const kernel::Plan &plan, const SourceLines &locate = nullptr);
/// The helpers that a kernel calls, with the headers of its types.
std::string cuda_helpers(const kernel::Kernel &kernel);
/// The two parts of `cuda_kernels`, for a file with several plans: the helpers that the kernels call, with the
/// headers of the types of the kernels and of the parameters, and the definitions of the kernels.
std::string cuda_helpers(const kernel::Plan &plan);
std::string cuda_definitions(const kernel::Plan &plan, const SourceLines &locate = nullptr);

/// The position of a statement in the text.
struct TextLine {
  std::size_t number = 0; ///< line number of its first line, from 1
  std::string text;       ///< the statement, joined to one line; for a loop or an if, only its head
};

/// The text of `cuda_kernels` with the positions of the statements.
struct CudaText {
  TracedText traced; ///< without origins of braces and of the code around kernels
  /// Offset of each statement in the text, in bytes. If a comment precedes the statement, the offset of the
  /// comment.
  std::map<const kernel::StmtNode *, std::size_t> begins;

  /// The line of the statement. `number` is 0 if the statement is not part of the plan.
  TextLine line(const kernel::Stmt &stmt) const;
};
CudaText cuda_text(const kernel::Plan &plan);

/// A parameter in the text: its C++ type, such as "const float *", and its name.
struct Parameter {
  std::string type, name;
  std::string declaration(const std::string &qualifier = {}) const; ///< `const float *__restrict__ A`
};
std::vector<std::string> declarations(const std::vector<Parameter> &parameters);
std::vector<Parameter> pointer_parameters(const kernel::Plan &plan);
std::vector<Parameter> size_parameters(const kernel::Plan &plan);
std::vector<Parameter> scalar_parameters(const kernel::Plan &plan);

/// "32 x 4" for {32, 4, 1}: trailing extents of 1 are omitted.
std::string extents_text(const std::array<std::int64_t, 3> &extents);

} // namespace nestsmith
