#include "runtime/model/analyse.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/ir/workload_info.h"
#include "runtime/model/count.h"
#include "runtime/model/estimate.h"
#include "runtime/model/sums_in_registers.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace nestsmith {

namespace {

std::int64_t bytes_of(const Buffer &buffer) { return kernel::element_count(buffer) * byte_size(buffer->dtype); }

/// The clocks that L1 needs for all accesses to global memory.
double l1_clocks(const model::Counters &counters) {
  double sum = 0;
  for (const model::AccessCounts &access : counters.accesses)
    if (access.buffer->scope == Scope::global)
      sum += clocks(access);
  return sum;
}

double requests_of(const model::Counters &counters) {
  double requests = 0;
  for (const model::AccessCounts &access : counters.accesses)
    requests += static_cast<double>(access.merged.requests);
  return requests;
}

std::vector<Bound> bounds_of(const KernelAnalysis &analysis, const Gpu &gpu) {
  const model::Counters &counts = analysis.counters;
  double arithmetic = static_cast<double>(counts.multiply_adds.warps + counts.floating.warps),
         in_f64 = static_cast<double>(counts.in_f64.warps);
  // Count loads of shared memory after merging by the compiler. Otherwise the result would not be a lower
  // bound.
  double wavefronts = static_cast<double>(counts.merged(Scope::shared, false).wavefronts +
                                          counts.merged(Scope::shared, true).wavefronts);
  // The share of the busiest SM in the work of all.
  const double share = analysis.imbalance(gpu) / gpu.sms;
  auto of_an_sm = [&](Resource resource, double clocks) {
    return Bound{resource, clocks * share, clocks * share / gpu.clock_hz};
  };
  const model::Traffic &moved = analysis.memory.traffic;
  double l2_bytes = static_cast<double>(moved.l2_bytes()), dram_bytes = static_cast<double>(moved.dram_bytes());
  double instructions = requests_of(counts) + arithmetic +
                        static_cast<double>(counts.matrix_calls().warps + counts.barriers.warps);
  std::vector<Bound> bounds = {
      of_an_sm(Resource::issue, instructions / gpu.schedulers),
      of_an_sm(Resource::fp32, (arithmetic - in_f64) * 32 / gpu.fp32_lanes),
      of_an_sm(Resource::matrix, matrix_clocks(counts, gpu)),
      of_an_sm(Resource::shared, wavefronts),
      of_an_sm(Resource::l1, l1_clocks(counts)),
      {Resource::l2, l2_bytes, l2_bytes / (gpu.l2_bytes_per_clock * gpu.clock_hz)},
      {Resource::dram, dram_bytes, dram_bytes / gpu.dram_bytes_per_s},
  };
  if (in_f64 > 0)
    bounds.push_back(of_an_sm(Resource::fp64, in_f64 * 32 / gpu.fp64_lanes));
  std::ranges::stable_sort(bounds, std::greater<>{}, &Bound::seconds);
  return bounds;
}

void check_fits(const kernel::Plan &plan, const Gpu &gpu) {
  double bytes = static_cast<double>(kernel::workspace_bytes(plan));
  for (const Buffer &param : plan.params)
    bytes += static_cast<double>(bytes_of(param));
  if (bytes > static_cast<double>(gpu.dram_bytes))
    throw UserError(ExitCode::usage,
                    fmt::format("the arrays need {:.4g} GiB, but {} has {:.4g}; use a smaller shape, or name a "
                                "larger GPU with --gpu",
                                bytes / 0x1p30, gpu.product, static_cast<double>(gpu.dram_bytes) / 0x1p30));
}

void set_occupancy(KernelAnalysis &analysis, const Gpu &gpu) {
  LaunchResources launch = launch_of(analysis.kernel, analysis.compiled ? analysis.compiled->registers : 0);
  analysis.occupancy_assumed = !occupancy_calculator();
  analysis.occupancy =
      analysis.occupancy_assumed ? occupancy_without_registers(gpu, launch) : occupancy(gpu, launch);
  if (analysis.occupancy.blocks == 0)
    throw UserError(ExitCode::usage,
                    fmt::format("an SM of {} cannot hold a block of the kernel {}: the block has {} threads of "
                                "{} registers each, and {} bytes of shared memory",
                                gpu.product, analysis.kernel.name, launch.threads, launch.registers,
                                analysis.kernel.shared_bytes));
}

/// The counts, with the sums in registers, and the line of each access.
void set_counters(KernelAnalysis &analysis, const CudaText &cuda, const std::vector<Scalar> &scalars,
                  const AnalysisOptions &options, const KernelFigures *known) {
  auto count = [&](const model::Counters *before) {
    if (before) // figures from a file may be of another kernel
      if (auto counters = model::counted_before(analysis.kernel, scalars, *before))
        return *std::move(counters);
    return model::count(analysis.kernel, scalars, {options.max_blocks, options.host_threads});
  };
  SumsInRegisters sums = sums_in_registers(analysis.kernel);
  if (!sums.buffers.empty()) {
    analysis.lowered = count(known && known->lowered ? &*known->lowered : nullptr);
    analysis.kernel = std::move(sums.kernel);
    analysis.sums_moved = std::move(sums.buffers);
  }
  analysis.counters = count(known ? &known->counters : nullptr);
  for (const model::AccessCounts &access : analysis.counters.accesses) {
    auto from = sums.origin.find(access.stmt.get());
    analysis.lines.push_back(cuda.line(from == sums.origin.end() ? access.stmt : from->second));
  }
}

/// The bytes of the operands and the result, each moved once.
double needed_bytes(const Program &source) {
  double bytes = 0;
  for (const Buffer &param : source.params)
    bytes += static_cast<double>(bytes_of(param)) * (param->role == Role::inout ? 2 : 1);
  return bytes;
}

bool has_sums(const Program &source) {
  bool found = false;
  walk(source.body, [&](const Stmt &stmt) {
    if (const Block *block = as<Block>(stmt))
      for (const IterVar &iter : block->iters)
        found |= iter.kind == IterKind::reduction;
    return true;
  });
  return found;
}

} // namespace

std::vector<Scalar> ones(const kernel::Kernel &kernel) {
  std::vector<Scalar> values;
  for (const Var &scalar : kernel.scalars)
    values.push_back(Scalar::from_double(scalar->dtype, 1));
  return values;
}

PlanAnalysis analyse(const Program &source, const kernel::Plan &plan, const Gpu &gpu,
                     const std::vector<KernelResources> &compiled, const AnalysisOptions &options) {
  kernel::Plan constant = kernel::specialise(plan);
  check_fits(constant, gpu);
  CudaText cuda = cuda_text(constant);
  PlanAnalysis result;
  result.gpu = gpu;
  result.needed_flops = operation_count(source);
  result.needed_bytes = needed_bytes(source);
  result.needed_multiply_adds = has_sums(source) ? result.needed_flops / 2 : 0;
  for (std::size_t n = 0; n < constant.kernels.size(); ++n) {
    KernelAnalysis analysis;
    analysis.kernel = constant.kernels[n];
    if (n < compiled.size())
      analysis.compiled = compiled[n];
    set_occupancy(analysis, gpu);
    const KernelFigures *known = n < options.known.size() ? &options.known[n] : nullptr;
    std::vector<Scalar> scalars = ones(analysis.kernel);
    set_counters(analysis, cuda, scalars, options, known);
    analysis.waves = waves(gpu, analysis.occupancy, static_cast<std::int64_t>(analysis.counters.blocks));
    model::MemorySystem system{gpu.sms, analysis.occupancy.blocks, l1_bytes_left(gpu, analysis.occupancy),
                               gpu.l2_bytes, gpu.l2_partitions};
    if (known && known->memory.accesses.size() != analysis.counters.accesses.size())
      known = nullptr;
    analysis.memory =
        known ? known->memory
              : model::traffic(analysis.kernel, scalars, analysis.counters, system, {options.max_requests});
    analysis.bounds = bounds_of(analysis, gpu);
    model::Estimate estimate =
        known ? model::Estimate{known->estimated_seconds, known->losses} : model::estimate(analysis, gpu);
    analysis.estimated_seconds = estimate.seconds;
    analysis.losses = estimate.losses;
    result.kernels.push_back(std::move(analysis));
  }
  return result;
}

LaunchResources launch_of(const kernel::Kernel &kernel, int registers) {
  std::int64_t dynamic = kernel.dynamic_shared_bytes();
  return {.threads = kernel.threads(),
          .registers = registers,
          .static_shared = kernel.shared_bytes - dynamic,
          .dynamic_shared = dynamic};
}

std::vector<KernelFigures> figures_of(const PlanAnalysis &analysis) {
  std::vector<KernelFigures> figures;
  for (const KernelAnalysis &kernel : analysis.kernels)
    figures.push_back(
        {kernel.counters, kernel.lowered, kernel.memory, kernel.estimated_seconds, kernel.losses});
  return figures;
}

} // namespace nestsmith
