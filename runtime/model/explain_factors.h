#pragma once
/// The reasons for a change of the time of a resource, and what counts as a change, for explanations.

#include "runtime/model/analysis.h"
#include "runtime/model/words.h"

#include <string>

namespace nestsmith {

/// A smaller relative change is not mentioned.
constexpr double noticed = 0.03;
/// Whether the relative change is larger than `least`.
bool differs(double before, double after, double least = noticed);

/// The reasons for a change of the time: the factors that change in the same direction, the strongest first.
/// The factors that change in the other direction follow in a sentence with "However" (in English). The text
/// starts with the punctuation that joins it to the previous sentence.
std::string because(Resource resource, const PlanAnalysis &before, const PlanAnalysis &after, bool rises,
                    Language language);

} // namespace nestsmith
