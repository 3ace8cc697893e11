#pragma once
/// Principles of GPU performance: arithmetic intensity, from one result per thread to tiles; divergence;
/// fusion; the overhead of launches.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::principles {

Schedule one(const Shape &shape, DType dtype, const Target &target);
Schedule two_by_two(const Shape &shape, DType dtype, const Target &target);
Schedule tile32(const Shape &shape, DType dtype, const Target &target);
Schedule transposed(const Shape &shape, DType dtype, const Target &target);
Schedule padded(const Shape &shape, DType dtype, const Target &target);
Schedule swizzled(const Shape &shape, DType dtype, const Target &target);
Schedule tile64(const Shape &shape, DType dtype, const Target &target);
Schedule divergent(const Shape &shape, DType dtype, const Target &target);
Schedule uniform(const Shape &shape, DType dtype, const Target &target);
Schedule branch_free(const Shape &shape, DType dtype, const Target &target);
Schedule unfused(const Shape &shape, DType dtype, const Target &target);
Schedule fused(const Shape &shape, DType dtype, const Target &target);
Schedule launches(const Shape &shape, DType dtype, const Target &target);
Schedule one_launch(const Shape &shape, DType dtype, const Target &target);

} // namespace nestsmith::principles
