#pragma once
/// An analysis for a reader: sections, the hottest accesses with their lines, figures as JSON.

#include "tools/analysed.h"
#include "tools/json.h"

#include <string>

namespace nestsmith::cli {

/// The sections of each kernel, and the accesses that cost most.
std::string analysis_text(const Analysed &it, const Style &style);
/// All that is counted, under the names of the profiler.
std::string metrics_text(const PlanAnalysis &whole, const Style &style);
/// A paragraph, wrapped and indented.
std::string paragraph_text(const std::string &text, const Style &style);

/// Attributes of an object.
void write_analysis(llvm::json::OStream &json, const Analysed &it);

} // namespace nestsmith::cli
