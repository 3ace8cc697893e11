#include "schedules/gemm/rungs.h"
#include "schedules/register_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::tutorial_gemm {

namespace {

Schedule tiled(const Program &program, const Target &target) {
  Schedule s(program, target);
  register_tiles(s, {.results = 4, .k = 16});
  return s;
}

/// The same for rows of B, and so of its tile, that run along k. Neighbouring threads read neighbouring rows,
/// and an odd stride spreads these rows over the banks.
Schedule tiled_along_k(const Program &program, const Target &target) {
  Schedule s = tiled(program, target);
  s.storage_align(s.block("B_shared"), 0, 2, 1);
  return s;
}

} // namespace

// In all forms, neighbouring threads fetch neighbouring elements of the rows of an operand.

Schedule nn(const Shape &shape, DType dtype, const Target &target) { return tiled(gemm(shape, dtype), target); }

Schedule nt(const Shape &shape, DType dtype, const Target &target) {
  return tiled_along_k(gemm(shape, dtype, {.b = true}), target);
}

Schedule tn(const Shape &shape, DType dtype, const Target &target) {
  return tiled(gemm(shape, dtype, {.a = true}), target);
}

Schedule tt(const Shape &shape, DType dtype, const Target &target) {
  return tiled_along_k(gemm(shape, dtype, {.a = true, .b = true}), target);
}

/// Each matrix of the batch has its own plane of blocks.
Schedule batched(const Shape &shape, DType dtype, const Target &target) {
  return tiled(batched_gemm(shape, dtype), target);
}

/// Bias and ReLU are applied to the results while they are in registers: C is written once and never read.
Schedule bias_relu(const Shape &shape, DType dtype, const Target &target) {
  return tiled(gemm_bias_relu(shape, dtype), target);
}

} // namespace nestsmith::tutorial_gemm
