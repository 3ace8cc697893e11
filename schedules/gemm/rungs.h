#pragma once
/// Products other than plain A*B, all with the same 64 x 64 register tiles.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::tutorial_gemm {

Schedule nn(const Shape &shape, DType dtype, const Target &target);
Schedule nt(const Shape &shape, DType dtype, const Target &target);
Schedule tn(const Shape &shape, DType dtype, const Target &target);
Schedule tt(const Shape &shape, DType dtype, const Target &target);
Schedule batched(const Shape &shape, DType dtype, const Target &target);
Schedule bias_relu(const Shape &shape, DType dtype, const Target &target);

} // namespace nestsmith::tutorial_gemm
