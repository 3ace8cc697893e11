#pragma once
/// Naive product and shared-memory tiling, with 32 x 32 tiles and guards.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::tiling {

Schedule naive(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule shared(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

} // namespace nestsmith::tiling
