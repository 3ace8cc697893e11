#pragma once
/// All that is said of a lowered plan on one GPU without running it there: what its kernels do (counted), how
/// they fill the chip, what memory moves (modelled), and the least time that each of its resources takes.
///
/// The bounds are of the operations as they stand in the lowered kernel. The compiler merges and drops some of
/// them, so that a kernel may issue fewer; latency, which makes it slower, is in none of them.

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

/// What time is spent on. The first four are of each SM, the others of the whole chip.
///   issue   warp instructions that a scheduler issues: accesses, arithmetic on data, barriers. Arithmetic on
///           addresses and loops are left out: the compiler drops most of it
///   fp32    arithmetic on data, in the pipe of FFMA
///   shared  wavefronts of shared memory
///   l1      requests for global memory
///   l2      sectors that the L1 caches ask for, and those that are stored
///   dram    sectors that L2 asks for, and those that it writes back
enum class Resource : std::uint8_t { issue, fp32, shared, l1, l2, dram };
inline constexpr Resource resources[] = {Resource::issue, Resource::fp32, Resource::shared,
                                         Resource::l1,    Resource::l2,   Resource::dram};
std::string_view name(Resource resource);   ///< "issue slots", "FP32 pipe", "shared memory", "L1", "L2", "DRAM"
std::string_view source(Resource resource); ///< how fast it is, and where that is said
bool of_sm(Resource resource);

/// The least time for what a kernel asks of a resource.
struct Bound {
  Resource resource = Resource::issue;
  double amount = 0; ///< clocks of the SM that has the most blocks, or bytes
  double seconds = 0;
};

/// Clocks that it keeps L1 or shared memory busy at least, of all SMs together. A request for global memory
/// takes one, or as many as its sectors need at 128 bytes a clock.
double clocks(const model::AccessCounts &access);

struct KernelAnalysis {
  kernel::Kernel
      kernel; ///< with constants for its sizes, and sums in registers (runtime/model/sums_in_registers.h)
  model::Counters counters; ///< of it
  /// Buffers whose sums stand in memory in the lowered kernel. `lowered` has the counts of that, if there are
  /// any.
  std::vector<std::string> sums_moved;
  std::optional<model::Counters> lowered;
  std::vector<TextLine> lines;             ///< of each access of `counters`, in the plan's CUDA text
  std::optional<KernelResources> compiled; ///< for the GPU's architecture; absent without NVRTC
  Occupancy occupancy;                     ///< where registers are not known, as if they were no limit
  /// This build has no calculator of occupancy: threads, blocks and shared memory alone limit it here.
  bool occupancy_assumed = false;
  Waves waves;
  model::TrafficResult memory;
  std::vector<Bound> bounds; ///< of each resource, the slowest first

  const model::Counters &exact() const { return lowered ? *lowered : counters; } ///< of the lowered kernel
  double flops() const; ///< executed: two of a multiply-add, one of other arithmetic on floating-point numbers
  /// Of the requests for global memory, both directions.
  std::uint64_t asked_bytes() const;
  const Bound &bound(Resource resource) const;
  double seconds() const { return bounds.front().seconds; }
  Resource limiter() const { return bounds.front().resource; }
  /// Active lanes of an executed warp instruction: 32 where nothing diverges.
  double active_lanes() const;
  /// How much more than its even share the SM with the most blocks has: 1 where all have as many.
  double imbalance(const Gpu &gpu) const;
};

struct PlanAnalysis {
  Gpu gpu;
  /// Of the computation, whatever the schedule: its operations, each operand and result moved once, and the
  /// multiply-adds of its sums (0 where it has none).
  double needed_flops = 0, needed_bytes = 0, needed_multiply_adds = 0;
  std::vector<KernelAnalysis> kernels; ///< run one after the other

  double flops() const;
  double asked_bytes() const;
  double dram_bytes() const;
  double multiply_adds() const; ///< executed
  /// FLOP/byte, of the operations that are needed: where each operand and result is moved once, as requests for
  /// global memory ask for bytes, and as DRAM moves them.
  double algorithm_intensity() const { return needed_flops / needed_bytes; }
  double asked_intensity() const { return needed_flops / asked_bytes(); }
  double dram_intensity() const { return needed_flops / dram_bytes(); }
  /// The roofline: FLOP/s, at most.
  double attainable(double intensity) const;
  /// The peak where multiply-adds are as large a share of the arithmetic as here: other operations count half.
  double peak_of_mix() const;

  double seconds() const;           ///< the least that all kernels take
  double seconds(Resource r) const; ///< the least that one resource takes, all kernels together
  const KernelAnalysis &slowest() const;
  Resource limiter() const { return slowest().limiter(); }
  /// All accesses of one memory and direction.
  model::RequestSums total(Scope scope, bool stores) const;
  bool sampled() const;
};

struct AnalysisOptions {
  std::uint64_t max_blocks = 64;          ///< to count; 0: all
  std::uint64_t max_requests = 5'000'000; ///< to follow through the caches
  unsigned host_threads = 0;
};

/// A 1 for each scalar of the kernel: what it is counted with.
std::vector<Scalar> ones(const kernel::Kernel &kernel);

/// `plan` is what `source` was lowered to, for one launch; all scalars are 1, so that a summand of C is read.
/// `compiled` holds what NVRTC made of each kernel, or nothing. Throws UserError(usage) where the arrays do not
/// fit into the GPU's memory, or an SM cannot hold a block.
PlanAnalysis analyse(const Program &source, const kernel::Plan &plan, const Gpu &gpu,
                     const std::vector<KernelResources> &compiled, const AnalysisOptions &options = {});

/// What threads, blocks and shared memory allow: for a build that has no calculator of occupancy.
Occupancy occupancy_without_registers(const Gpu &gpu, const LaunchResources &launch);

/// What a rung may take for granted when it is built for a GPU.
Target target_of(const Gpu &gpu);

} // namespace nestsmith
