#pragma once
/// Schedules of computations that no rung contains: tensors that are updated in place, tensors that a later
/// stage overwrites, outputs that a later stage reads, integer data that wraps around as values and in masks, a
/// tile that one warp uses alone, tiles that share memory, and copies of parts of vectors.

#include "schedules/rung.h"

#include <vector>

namespace nestsmith::mutation {

/// Returns the rungs of nestsmith, followed by the schedules of this file in the form of rungs.
const std::vector<Rung> &seeded_rungs();

} // namespace nestsmith::mutation
