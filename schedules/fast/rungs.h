#pragma once
/// One schedule with many knobs, for `tune`. C = alpha*A*B + beta*C.

#include "dsl/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::fast {

Schedule gemm(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

} // namespace nestsmith::fast
