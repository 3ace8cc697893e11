#pragma once
/// Tutorial `tensor`: C = alpha*A*B + beta*C by the matrix instructions of a warp, one idea for each rung. The
/// operands are f16, bf16, tf32 or i8.

#include "dsl/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::tensor {

Schedule mma(const Shape &shape, DType dtype, const Target &target);
Schedule shared(const Shape &shape, DType dtype, const Target &target);
Schedule ldmatrix(const Shape &shape, DType dtype, const Target &target);
Schedule swizzled(const Shape &shape, DType dtype, const Target &target);
Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target);

} // namespace nestsmith::tensor
