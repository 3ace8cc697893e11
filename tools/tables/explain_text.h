#pragma once
/// Text of an analysis: sections, the most expensive accesses with their source lines, and metrics as JSON.

#include "tools/output/json.h"
#include "tools/results/analysed.h"

#include <string>

namespace nestsmith::cli {

/// The sections of each kernel, and its most expensive accesses.
std::string analysis_text(const Analysed &analysed, const Style &style);
/// All metrics, under the profiler's names.
std::string metrics_text(const PlanAnalysis &whole, const Style &style);
/// A paragraph, wrapped and indented.
std::string paragraph_text(const std::string &text);

/// Writes the attributes of an open JSON object.
void write_analysis(llvm::json::OStream &json, const Analysed &analysed);
/// Writes the attribute "verdict".
void write_verdict(llvm::json::OStream &json, const Verdict &verdict);

/// The measured times of the rung: that of this GPU, otherwise those of other GPUs. Empty if there are none.
std::vector<Fact> measured_facts(const MeasuredTimes &measured);

} // namespace nestsmith::cli
