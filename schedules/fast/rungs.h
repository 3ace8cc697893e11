#pragma once
/// One schedule with many knobs, for `tune`. C = alpha*A*B + beta*C.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::fast {

Schedule gemm(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The schedule of `tensor/tuned` for operands that the matrix units of the target multiply, otherwise `gemm`.
Schedule best(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// `best` with as many blocks as the GPU can hold at the same time: each computes tiles one after the other.
Schedule persistent(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// Register tiles that four warps fill, and the others multiply.
Schedule roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The form of `best` and `persistent`, as `variant`.
std::optional<Variant> best_variant(const Shape &shape, DType dtype);
/// The points of `gemm` for a kernel table.
KernelSpace gemm_kernels();
/// The form of `gemm` for a shape whose rows do not allow accesses of 4 elements.
std::optional<Variant> variant(const Shape &shape, DType dtype);
/// The text of gemm.json: the best knobs of `gemm`, as `tune export fast/gemm` wrote them.
extern const char *const gemm_table;

} // namespace nestsmith::fast
