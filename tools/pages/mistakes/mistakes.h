#pragma once
/// Mistakes in the tutorials' posts. Each mistake has an example that nestsmith refuses or reports. The command
/// `lint` runs the examples. If a schedule can express the mistake, the example is a schedule. For an index
/// error, it is the handwritten kernel of the post. For a wrong figure, it is a count.

#include "tools/pages/mistakes/examples.h"

#include <string>
#include <vector>

namespace nestsmith {

const std::vector<Mistake> &mistakes();

/// The result for a mistake:
///   refused   by a directive, or by lowering
///   reported  by the simulator, or by the check of the result
///   counted   by the counts of the kernel
///   passed    not noticed, or only with another diagnostic
enum class LintVerdict : std::uint8_t { refused, reported, counted, passed };
std::string_view name(LintVerdict verdict);

struct LintResult {
  LintVerdict verdict = LintVerdict::passed;
  std::vector<std::string> said; ///< diagnostics, the relevant ones first
  std::string example;           ///< the schedule with the culprit marked, or the kernel as CUDA
};
LintResult lint(const Mistake &mistake);

} // namespace nestsmith
