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

/// The same where rows of B, and so of its tile, run along k: neighbouring threads read neighbouring rows,
/// which an odd stride spreads over the banks.
Schedule tiled_along_k(const Program &program, const Target &target) {
  Schedule s = tiled(program, target);
  s.storage_align(s.block("B_shared"), 0, 2, 1);
  return s;
}

} // namespace

// Whatever way an operand is stored, neighbouring threads fetch neighbouring elements of its rows.

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

/// A plane of blocks for each matrix of the batch.
Schedule batched(const Shape &shape, DType dtype, const Target &target) {
  return tiled(batched_gemm(shape, dtype), target);
}

/// Bias and ReLU are applied to the results while they are in registers: C is written once and never read.
Schedule bias_relu(const Shape &shape, DType dtype, const Target &target) {
  return tiled(gemm_bias_relu(shape, dtype), target);
}

} // namespace nestsmith::tutorial_gemm
