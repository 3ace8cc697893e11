#pragma once
/// Links between the lines of a program, of its kernels and of their CUDA text.

#include "codegen/cuda.h"
#include "dsl/ir/program.h"
#include "lowering/plan.h"

#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// A line of a text. Lines of the three texts belong together if they have a key in common: "for k_outer",
/// "block AB", "init AB", "buffer A_shared". The keys are the origin of the line (dsl/ir/origin.h): names of
/// loops, blocks and buffers are unique in a schedule.
struct LinkedLine {
  std::string text;
  std::vector<std::string> keys;
  bool operator==(const LinkedLine &) const = default;
};
using LinkedText = std::vector<LinkedLine>;
/// The lines as a text, without their keys.
std::string joined(const LinkedText &text);

/// The lines of `print(program)`.
LinkedText linked_program(const Program &program);
/// The lines of `kernel::print(plan)`.
LinkedText linked_kernels(const kernel::Plan &plan);
/// The lines of `cuda_text(plan)`.
LinkedText linked_cuda(const kernel::Plan &plan);

/// For each line of a CUDA text, the number of its line in the text of the same schedule at another shape, from
/// 1; 0 if that text has no such line. The constants of a line may differ.
std::vector<std::size_t> same_lines(const std::string &text, const LinkedText &other);

} // namespace nestsmith::cli::report
