#pragma once
/// Matrix multiplication with CUDA: C += A*B', with B stored as N x K.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::transposed {

Schedule naive(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule shared(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule registers(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule float4(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
std::optional<Variant> float4_variant(const Shape &shape, DType dtype);
Schedule prefetch(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

} // namespace nestsmith::transposed
