#pragma once
/// Tutorial `tensor`: C = alpha*A*B + beta*C by the matrix instructions of a warp, one idea for each rung. The
/// operands are f16, bf16, tf32 or i8.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::tensor {

Schedule mma(const Shape &shape, DType dtype, const Target &target);
Schedule shared(const Shape &shape, DType dtype, const Target &target);
Schedule ldmatrix(const Shape &shape, DType dtype, const Target &target);
Schedule swizzled(const Shape &shape, DType dtype, const Target &target);
/// The rungs from here on have warps of 64 x 64 results, or of 64 x 32 if the result has less than 2048 x 2048.
Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target);
Schedule async2(const Shape &shape, DType dtype, const Target &target);
Schedule async3(const Shape &shape, DType dtype, const Target &target);
Schedule async4(const Shape &shape, DType dtype, const Target &target);
Schedule ahead(const Shape &shape, DType dtype, const Target &target);
Schedule joined(const Shape &shape, DType dtype, const Target &target);
Schedule grouped(const Shape &shape, DType dtype, const Target &target);
/// The points of `tuned` and of `nt` for kernel tables.
KernelSpace tuned_kernels();
Schedule tuned(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The same by as many blocks as the GPU executes at one time, each of which computes tiles in waves.
Schedule persistent(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The same with B stored transposed.
Schedule nt(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// Matrix units that read tiles in shared memory themselves (`wgmma`); the schedule of `nt` if the target has
/// no such units. B is stored N x K, here and below.
Schedule wgmma(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The same, or the tiles of `nt`, filled by four warps of their own.
Schedule roles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The same, and one thread of these warps starts bulk copies, if the target has them.
Schedule bulk(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The same, by as many blocks as the GPU executes at one time, which write whole rows of results.
Schedule stores(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// The same for `linear`, whose results have the type of the operands: `stmatrix` moves them to shared memory,
/// and bulk stores write them, if the target has both.
Schedule layer(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// As `stores`, and two blocks form a cluster: each copies half of a tile of B for both.
Schedule clusters(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

} // namespace nestsmith::tensor
