#pragma once
/// The causes of a different time: what the second of two schedules does otherwise, and the effect of this.

#include "runtime/model/words.h"
#include "tools/results/analysed.h"

#include <string>

namespace nestsmith::cli {

/// " The pipeline continues in the next tile, so that it does not drain between tiles (join_pipelines). …": the
/// differences of the schedules that act in the direction of the estimated times. Empty if the times are about
/// the same or no difference is known to act so.
std::string causes(const Analysed &before, const Analysed &after, Language language = Language::en);

} // namespace nestsmith::cli
