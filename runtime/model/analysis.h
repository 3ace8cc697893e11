#pragma once
/// Analysis of a lowered plan for one GPU without running it there: operation counts, occupancy and waves,
/// modelled memory traffic, and a lower bound on the time that each resource takes.
///
/// The bounds count the operations of the lowered kernel. The compiler merges and removes some of them, so a
/// kernel may issue fewer. The bounds ignore latency, which makes a kernel slower.

#include "codegen/cuda.h"
#include "dsl/program.h"
#include "dsl/target.h"
#include "lowering/plan.h"
#include "runtime/model/counters.h"
#include "runtime/model/gpus.h"
#include "runtime/model/occupancy.h"
#include "runtime/model/resources.h"
#include "runtime/model/traffic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The resources with a bound. The first four belong to each SM, the others to the whole chip.
///   issue   warp instructions that the schedulers issue: memory accesses, arithmetic on data, barriers.
///     Address arithmetic and loop overhead are excluded, since the compiler removes most of them
///   fp32    arithmetic on data, in the FFMA pipe
///   shared  wavefronts of shared memory
///   l1      requests to global memory
///   l2      sectors that the L1 caches request, and stored sectors
///   dram    sectors that L2 requests, and written-back sectors
enum class Resource : std::uint8_t { issue, fp32, shared, l1, l2, dram };
inline constexpr Resource resources[] = {Resource::issue, Resource::fp32, Resource::shared,
                                         Resource::l1,    Resource::l2,   Resource::dram};
std::string_view name(Resource resource);   ///< "issue slots", "FP32 pipe", "shared memory", "L1", "L2", "DRAM"
std::string_view source(Resource resource); ///< its throughput, and the source of that figure
/// Whether each SM has the resource; else the chip has it.
bool of_sm(Resource resource);

/// Lower bound on the time for a kernel's use of a resource.
struct Bound {
  Resource resource = Resource::issue;
  double amount = 0; ///< clocks of the SM with the most blocks, or bytes
  double seconds = 0;
};

/// Lower bound on the clocks for which L1 or shared memory is busy, summed over all SMs. A request to global
/// memory takes one clock, or more if its sectors need more at 128 bytes per clock.
double clocks(const model::AccessCounts &access);

struct KernelAnalysis {
  /// With constants for its sizes, and sums in registers (runtime/model/sums_in_registers.h).
  kernel::Kernel kernel;
  model::Counters counters; ///< of `kernel`
  /// Buffers whose sums are in memory in the lowered kernel. If there are any, `lowered` has the counts of the
  /// lowered kernel.
  std::vector<std::string> sums_moved;
  std::optional<model::Counters> lowered;
  std::vector<TextLine> lines;             ///< for each access of `counters`, in the plan's CUDA text
  std::optional<KernelResources> compiled; ///< for the GPU's architecture; none without NVRTC
  Occupancy occupancy;                     ///< unknown registers impose no limit
  /// Whether this build has no occupancy calculator, so that only threads, blocks and shared memory limit
  /// occupancy.
  bool occupancy_assumed = false;
  Waves waves;
  model::TrafficResult memory;
  std::vector<Bound> bounds; ///< one per resource, the slowest first

  /// The counts of the lowered kernel.
  const model::Counters &exact() const { return lowered ? *lowered : counters; }
  double flops() const; ///< executed: 2 per multiply-add, 1 per other float operation
  /// Bytes that lanes request from global memory, loads and stores.
  std::uint64_t asked_bytes() const;
  const Bound &bound(Resource resource) const;
  double seconds() const { return bounds.front().seconds; }
  Resource limiter() const { return bounds.front().resource; }
  /// Mean number of active lanes per executed warp instruction: 32 without divergence.
  double active_lanes() const;
  /// Blocks of the SM with the most blocks, relative to the mean: 1 if balanced.
  double imbalance(const Gpu &gpu) const;
};

struct PlanAnalysis {
  Gpu gpu;
  /// Requirements of the computation, independent of the schedule: its operations, its bytes if each operand
  /// and result moves once, and the multiply-adds of its sums (0 without sums).
  double needed_flops = 0, needed_bytes = 0, needed_multiply_adds = 0;
  std::vector<KernelAnalysis> kernels; ///< executed one after the other

  double flops() const;
  double asked_bytes() const;
  double dram_bytes() const;
  double multiply_adds() const; ///< executed
  /// Arithmetic intensity in FLOP/byte, for the required operations: if each operand and result moves once, for
  /// the bytes that lanes request from global memory, and for the bytes that DRAM moves.
  double algorithm_intensity() const { return needed_flops / needed_bytes; }
  double asked_intensity() const { return needed_flops / asked_bytes(); }
  double dram_intensity() const { return needed_flops / dram_bytes(); }
  /// The roofline: upper bound on FLOP/s at this intensity.
  double attainable(double intensity) const;
  /// The peak for this mix of operations: operations other than multiply-adds count half.
  double peak_of_mix() const;

  double seconds() const;           ///< lower bound for all kernels
  double seconds(Resource r) const; ///< lower bound for one resource, summed over the kernels
  const KernelAnalysis &slowest() const;
  Resource limiter() const { return slowest().limiter(); }
  /// The sums over all accesses to one memory in one direction.
  model::RequestSums total(Scope scope, bool stores) const;
  bool sampled() const;
};

struct AnalysisOptions {
  std::uint64_t max_blocks = 64;          ///< blocks to count; 0: all
  std::uint64_t max_requests = 5'000'000; ///< requests to follow through the caches
  unsigned host_threads = 0;
};

/// The value 1 for each scalar of the kernel, which counting uses.
std::vector<Scalar> ones(const kernel::Kernel &kernel);

/// Analyses `plan`, the lowered `source` for one launch. All scalars are 1, so that an operand C is read.
/// `compiled` has the resources of each kernel, or is empty. Throws UserError (usage) if the arrays do not fit
/// in the GPU's memory, or an SM cannot hold a block.
PlanAnalysis analyse(const Program &source, const kernel::Plan &plan, const Gpu &gpu,
                     const std::vector<KernelResources> &compiled, const AnalysisOptions &options = {});

/// The occupancy that threads, blocks and shared memory allow, for a build without an occupancy calculator.
Occupancy occupancy_without_registers(const Gpu &gpu, const LaunchResources &launch);

/// The limits of the GPU, for building a rung.
Target target_of(const Gpu &gpu);

} // namespace nestsmith
