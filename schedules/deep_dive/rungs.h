#pragma once
/// The four rungs of "GEMM deep dive, part 1". Each computes C = alpha*A*B + beta*C.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::deep_dive {

Schedule naive(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule coalesced(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule shared(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule tile1d(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

} // namespace nestsmith::deep_dive
