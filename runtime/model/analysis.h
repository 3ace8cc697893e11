#pragma once
/// Analysis of a lowered plan for one GPU, without a run on this GPU: operation counts, occupancy and waves,
/// modelled memory traffic, and the minimum time that each resource needs.
///
/// The bounds are estimates of the minimum time for the operations of the lowered kernel. They are not strict
/// lower bounds for the compiled code, which may contain fewer operations, because the compiler merges and
/// removes some of them. They ignore latency, so a kernel can take longer: runtime/model/estimate.h estimates
/// its time from its machine code.

#include "codegen/cuda.h"
#include "dsl/expr/function_ref.h"
#include "dsl/hardware/gpus.h"
#include "dsl/ir/program.h"
#include "lowering/plan.h"
#include "runtime/model/counters.h"
#include "runtime/model/losses.h"
#include "runtime/model/occupancy.h"
#include "runtime/model/resources.h"
#include "runtime/model/traffic.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The resources for which a bound is computed. The first six are resources of each SM, and the last two are
/// resources of the whole chip.
///   issue   warp instructions that the schedulers issue: memory accesses, arithmetic on data, barriers
///           (without address arithmetic and loop overhead, because the compiler removes most of them)
///   fp32    arithmetic on data, in the FFMA pipe
///   fp64    the same in f64
///   matrix  products of the matrix units (the tensor pipe of the profiler)
///   shared  wavefronts of shared memory
///   l1      lines of 128 bytes of the requests to global memory
///   l2      sectors that the L1 caches request, and stored sectors
///   dram    sectors that L2 requests, and sectors that L2 writes back
enum class Resource : std::uint8_t { issue, fp32, fp64, matrix, shared, l1, l2, dram };
inline constexpr Resource resources[] = {Resource::issue,  Resource::fp32, Resource::fp64, Resource::matrix,
                                         Resource::shared, Resource::l1,   Resource::l2,   Resource::dram};
/// "issue slots", "FP32 pipe", "FP64 pipe", "matrix units", "shared memory", "L1", "L2", "DRAM"
std::string_view name(Resource resource);
/// Text: the throughput of the resource, and the source of this figure.
std::string_view source(Resource resource);
/// True for a resource of each SM, false for a resource of the whole chip.
bool of_sm(Resource resource);

/// The minimum time for a kernel's use of one resource.
struct Bound {
  Resource resource = Resource::issue;
  double amount = 0; ///< for a resource of an SM: clocks on the SM with the most blocks; otherwise bytes
  double seconds = 0;
};

/// Minimum number of clocks for which L1 or shared memory is busy, summed over all SMs, after loads are merged
/// as a compiler merges them. For shared memory, the number of wavefronts. For global memory, the number of
/// different lines of 128 bytes of each request.
double clocks(const model::AccessCounts &access);
/// Minimum number of clocks of the matrix units, summed over all SMs.
double matrix_clocks(const model::Counters &counters, const Gpu &gpu);

struct KernelAnalysis {
  /// The lowered kernel with constants for its sizes, and with sums in registers
  /// (runtime/model/sums_in_registers.h).
  kernel::Kernel kernel;
  model::Counters counters; ///< counts of `kernel`
  /// Buffers whose accumulators `sums_in_registers` moved from memory to registers. If this list is not empty,
  /// `lowered` has the counts of the kernel before this change.
  std::vector<std::string> sums_moved;
  std::optional<model::Counters> lowered;
  std::vector<TextLine> lines; ///< for each access of `counters`: its line in the CUDA text of the plan
  /// Resources of the code compiled for the GPU; none if NVRTC is not available.
  std::optional<KernelResources> compiled;
  Occupancy occupancy; ///< if `compiled` is none, registers do not limit the occupancy
  /// True if this build has no occupancy calculator. Then only threads, blocks and shared memory limit the
  /// occupancy.
  bool occupancy_assumed = false;
  Waves waves;
  model::TrafficResult memory;
  std::vector<Bound> bounds;    ///< one per resource, in descending order of `seconds`
  double estimated_seconds = 0; ///< never less than a bound (runtime/model/estimate.h)
  Losses losses;                ///< of the estimated time

  /// The counts of the lowered kernel.
  const model::Counters &exact() const { return lowered ? *lowered : counters; }
  std::int64_t warps_of_block() const;
  std::int64_t warps_of_main_role() const; ///< of a block; all warps if they have one role
  std::int64_t warps() const;              ///< of all blocks
  double barriers_of_warp() const;         ///< barriers that a warp executes, on average; 0 without warps
  double flops() const; ///< executed FLOP: 2 for each multiply-add, 1 for each other floating-point operation
  /// Bytes of all loads and stores of all lanes in global memory.
  std::uint64_t asked_bytes() const;
  const Bound &bound(Resource resource) const;
  double seconds() const { return bounds.front().seconds; }
  /// The bound if all SMs had the same number of blocks.
  double even_seconds(const Bound &bound, const Gpu &gpu) const;
  Resource limiter() const { return bounds.front().resource; }
  /// Mean number of active lanes per executed warp instruction: 32 without divergence.
  double active_lanes() const;
  /// The least work of the busiest SM, divided by the mean over all SMs: that of the SM with the most blocks,
  /// if all blocks have about the same work, otherwise at least that of the largest block, and at least 1.
  double imbalance(const Gpu &gpu) const;
  /// The loss that takes the most of the estimated time. None if no loss takes much of it: then the resource of
  /// the largest bound limits the kernel.
  std::optional<Loss> largest_loss() const;
};

/// The measured time of a plan with the CUDA text that is emitted now.
struct MeasuredTime {
  double seconds = 0, lower_quartile = 0, upper_quartile = 0;
  std::string
      conditions; ///< GPU, software, launch, L2, dtype and shape; times of the same conditions are comparable
};

struct PlanAnalysis {
  Gpu gpu;
  std::optional<MeasuredTime> measured; ///< on this GPU; set by the command line, which has the records
  /// The minimum work of the computation, for every schedule: `needed_flops` is the number of its operations,
  /// `needed_bytes` is the number of bytes if each operand and each result is moved once, and
  /// `needed_multiply_adds` is the number of multiply-adds of its sums (0 without sums).
  double needed_flops = 0, needed_bytes = 0, needed_multiply_adds = 0;
  std::vector<KernelAnalysis> kernels; ///< executed one after the other

  double flops() const;
  double asked_bytes() const;
  double dram_bytes() const;
  double multiply_adds() const; ///< executed, also by matrix units
  /// The feature of the matrix units that executes most of the products. None: the kernels do not use them.
  std::optional<Feature> matrix_feature() const;
  /// Arithmetic intensity of the computation in FLOP/byte, if each operand and each result is moved once.
  double algorithm_intensity() const { return needed_flops / needed_bytes; }
  /// The needed FLOP per byte that lanes load from or store to global memory.
  double asked_intensity() const { return needed_flops / asked_bytes(); }
  /// The needed FLOP per byte that DRAM reads or writes.
  double dram_intensity() const { return needed_flops / dram_bytes(); }
  /// The roofline: the peak in FLOP/s of the unit that computes the products (the matrix units by `mma.sync`,
  /// or the FP32 or FP64 pipe), the intensity from which it limits, and the upper bound on FLOP/s at an
  /// intensity.
  double peak() const;
  double ridge() const { return peak() / gpu.dram_bytes_per_s; }
  double attainable(double intensity) const;
  /// Whether most operations without the matrix units are in f64, and the peak of the pipe of these operations.
  bool mostly_in_f64() const;
  double peak_of_vectors() const;
  /// The peak of that pipe in FLOP/s for its mix of operations. An operation other than a multiply-add
  /// performs one FLOP in an issue slot of the FMA pipe, so it reaches half of the peak.
  double peak_of_mix() const;

  /// The times of kernels that execute beside each other (`Kernel::awaited`) are those of the longest one, or
  /// of the work of all of them on all SMs alike. Other kernels execute one after the other.
  double seconds() const; ///< the bound
  double estimated_seconds() const;
  double seconds(Resource r) const; ///< the bound for one resource
  const KernelAnalysis &slowest() const;
  Resource limiter() const { return slowest().limiter(); }
  /// The sums over all loads, or all stores, in global or in shared memory.
  model::RequestSums total(Scope scope, bool stores) const;
  bool sampled() const;

private:
  using Group = std::span<const KernelAnalysis>; ///< kernels beside each other
  double in_groups(FunctionRef<double(Group)> seconds) const;
  double seconds(Group group, Resource r) const;
};

} // namespace nestsmith
