#pragma once
/// The costs of the lines of a CUDA text: what its accesses to memory request, and the share of the time.

#include "tools/results/analysed.h"

#include <cstddef>
#include <llvm/Support/JSON.h>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

struct LineCost {
  std::size_t line = 0; ///< number in the pane with the CUDA text, from 1
  std::string text; ///< "2.1 M × 4 wf": requests that the compiler leaves, and wavefronts or sectors of each;
                    ///< "+" joins accesses
  /// The time in which shared memory or L1 serves the accesses of the line, divided by the estimated time of
  /// all kernels. Both memories work at the same time as the arithmetic, so the shares of all lines need not
  /// add up to 1.
  double share = 0;
};

/// "16.8 M × 8 wf": the requests of an access if the compiler merges some of those in the text; otherwise
/// empty.
std::string merged_text(const model::AccessCounts &access);
/// A cost for each line with accesses that a warp executes. `pane_lines` has, for each line of the analysed
/// text, its number in the pane, or 0.
std::vector<LineCost> line_costs(const PlanAnalysis &analysis, const std::vector<std::size_t> &pane_lines);
/// `[[LINE, TEXT, SHARE], …]`
llvm::json::Value costs_json(const std::vector<LineCost> &costs);

} // namespace nestsmith::cli::report
