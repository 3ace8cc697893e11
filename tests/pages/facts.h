#pragma once
/// The facts of an explanation as text.

#include "runtime/model/explain.h"

#include <string>

namespace nestsmith::test {

/// A line for each fact of the first kernel: "Who waits: the main role, for tiles".
inline std::string facts_of(const PlanAnalysis &analysis) {
  std::string text;
  for (const Section &section : sections(analysis.kernels[0], analysis))
    for (const Fact &fact : section.facts)
      text += fact.label + ": " + fact.value + "\n";
  return text;
}

} // namespace nestsmith::test
