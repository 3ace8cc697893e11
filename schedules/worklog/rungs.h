#pragma once
/// Boehm's worklog: optimising a matrix product to near-cuBLAS performance.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::worklog {

Schedule naive(const Shape &shape, DType dtype, const Target &target);
Schedule coalesced(const Shape &shape, DType dtype, const Target &target);
Schedule shared(const Shape &shape, DType dtype, const Target &target);
Schedule tile1d(const Shape &shape, DType dtype, const Target &target);
Schedule tile2d(const Shape &shape, DType dtype, const Target &target);
Schedule vectorized(const Shape &shape, DType dtype, const Target &target);
std::optional<Variant> vectorized_variant(const Shape &shape, DType dtype);
Schedule linearized(const Shape &shape, DType dtype, const Target &target);
Schedule extra_columns(const Shape &shape, DType dtype, const Target &target);
Schedule autotuned(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target);

} // namespace nestsmith::worklog
