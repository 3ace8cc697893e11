#pragma once
/// Schedules of computations with dependences through parameters, which no rung has: tensors that are updated
/// in place, tensors that a later stage overwrites, and outputs that a later stage reads. Of integer data that
/// wrap around, as values and in masks. And of a tile that a warp has for itself, and of tiles
/// that share memory, which no rung has either.

#include "schedules/rung.h"

#include <vector>

namespace nestsmith::mutation {

/// The rungs of nestsmith, followed by the schedules of this file, in the form of rungs.
const std::vector<Rung> &seeded_rungs();

} // namespace nestsmith::mutation
