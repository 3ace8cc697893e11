#pragma once
/// The figures of two analyses side by side.

#include "runtime/model/analysis.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// A figure of both analyses as text.
struct ComparedFigure {
  std::string label, a, b;
  double change; ///< second / first; 0: not a number
};

std::vector<ComparedFigure> compared_figures(const PlanAnalysis &a, const PlanAnalysis &b);

} // namespace nestsmith::cli
