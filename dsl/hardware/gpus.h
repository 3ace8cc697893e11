#pragma once
/// Data of GPUs for analyses, with the source of each figure. The GPU need not be present.

#include "dsl/hardware/target.h"
#include "dsl/ir/arch.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

struct Intrinsic;

/// The rate of the matrix units for one type of operands: multiply-adds per SM and clock, with sums in f32 or
/// i32. `mma_sync`: of the instruction `mma.sync`; for `wgmma`, the peak. `dense`: the peak that NVIDIA
/// publishes, without sparsity.
struct MatrixRate {
  double mma_sync = 0;
  int dense = 0;
};

struct Gpu {
  std::string name;    ///< value of --gpu: "A100"
  std::string product; ///< name that the driver reports: "NVIDIA A100-SXM4-40GB"
  Arch arch;           ///< for code of this device: sm_80, sm_90a
  std::string chip;    ///< the profiler's name: "GA100"
  int sms = 0;
  double clock_hz = 0;                           ///< boost clock, unless the source states otherwise
  int fp32_lanes = 0;                            ///< FFMA lanes that can start per SM and clock
  int fp64_lanes = 0;                            ///< the same of DFMA
  MatrixRate matrix_f16, matrix_tf32, matrix_i8; ///< `matrix_f16` is also the rate of bf16
  double dense_clock_hz = 0;                     ///< clock of the published peaks of the matrix units
  int schedulers = 4;                ///< warp schedulers per SM; each issues one warp instruction per clock
  double dram_bytes_per_s = 0;       ///< peak
  std::int64_t dram_bytes = 0;       ///< capacity
  std::int64_t l2_bytes = 0;         ///< capacity
  int l2_partitions = 1;             ///< each partition caches the data that its SMs request
  double l2_bytes_per_clock = 0;     ///< bytes that the whole L2 delivers per clock, for reads
  std::int64_t l1_bytes = 0;         ///< bytes per SM: L1 and shared memory together
  std::int64_t shared_per_sm = 0;    ///< bytes: upper limit for the shared memory of all resident blocks
  std::int64_t shared_per_block = 0; ///< bytes, if the kernel opts in to more than 48 KB
  std::int64_t shared_reserved_per_block = 0; ///< bytes that the system reserves in each block
  int threads_per_sm = 0, blocks_per_sm = 0, registers_per_sm = 65536;
  /// Source of each figure, by field name. If a figure is not published, its source begins with "assumed" or
  /// "measured".
  std::map<std::string, std::string> sources;

  int warps_per_sm() const { return threads_per_sm / 32; }
  double fp32_flops() const { return 2.0 * sms * fp32_lanes * clock_hz; } ///< peak, in FLOP/s
  double fp64_flops() const { return 2.0 * sms * fp64_lanes * clock_hz; } ///< the same in f64
  double ridge() const { return fp32_flops() / dram_bytes_per_s; }        ///< in FLOP/byte
  /// The rate for an instruction that needs this feature: mma_f16, mma_i8, …
  MatrixRate matrix_rate(Feature feature) const;
  double matrix_clocks(const Intrinsic &product) const; ///< of an SM, for one call by a warp
  double matrix_flops(Feature feature) const;           ///< peak of `mma.sync`, or of `wgmma`, in FLOP/s
  double dense_flops(Feature feature) const;            ///< published peak, in FLOP/s
};

/// The multiply-adds in one call of a product by a whole warp: 2048 for `mma_m16n8k16`.
std::uint64_t multiply_adds_of(const Intrinsic &product);

/// The list of all known GPUs.
const std::vector<Gpu> &gpus();
/// Finds a GPU by name, ignoring case, spaces, "RTX" and "NVIDIA" ("a100", "3090"), or by product. If there is
/// no such GPU, throws UserError (usage) with the list.
const Gpu &find_gpu(std::string_view name);
/// The listed GPU for a device whose driver name is `product`, or null.
const Gpu *known_gpu(std::string_view product);
/// The first listed GPU that executes code for an architecture, or null.
const Gpu *gpu_of(Arch arch);
/// Of these GPUs, by product, the one whose measurements serve a target: the GPU of the target, otherwise the
/// one with the most similar architecture and number of SMs. Empty if there is none.
std::string serving_gpu(const std::vector<std::string> &products, const Target &target);
/// The limits of the GPU as a target for schedules.
Target target_of(const Gpu &gpu);

} // namespace nestsmith
