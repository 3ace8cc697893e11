#include "runtime/model/analysis.h"

#include "dsl/expr/error.h"
#include "dsl/ir/intrinsic.h"

#include <algorithm>
#include <functional>
#include <map>

namespace nestsmith {

namespace {

/// A smaller factor is within the error of the estimate.
constexpr double noticed_loss = 1.1;

template <class F> double sum_of(const std::vector<KernelAnalysis> &kernels, const F &figure) {
  double sum = 0;
  for (const KernelAnalysis &kernel : kernels)
    sum += static_cast<double>(std::invoke(figure, kernel));
  return sum;
}

} // namespace

std::string_view name(Resource resource) {
  switch (resource) {
  case Resource::issue:
    return "issue slots";
  case Resource::fp32:
    return "FP32 pipe";
  case Resource::fp64:
    return "FP64 pipe";
  case Resource::matrix:
    return "matrix units";
  case Resource::shared:
    return "shared memory";
  case Resource::l1:
    return "L1";
  case Resource::l2:
    return "L2";
  case Resource::dram:
    return "DRAM";
  }
  internal_error("unknown resource");
}

std::string_view source(Resource resource) {
  switch (resource) {
  case Resource::issue:
    return "one warp instruction per clock for each scheduler of the SM (CUDA C++ Programming Guide, \"Compute "
           "Capabilities\")";
  case Resource::fp32:
    return "32-bit multiply-adds per clock and SM (CUDA C++ Programming Guide, \"Arithmetic Instructions\")";
  case Resource::fp64:
    return "64-bit multiply-adds per clock and SM (CUDA C++ Programming Guide, \"Arithmetic Instructions\")";
  case Resource::matrix:
    return "multiply-adds of mma.sync per clock and SM, from the figures of the GPU";
  case Resource::shared:
    return "one wavefront per clock and SM: 32 banks of 4 bytes (CUDA C++ Programming Guide, \"Shared "
           "Memory\")";
  case Resource::l1:
    return "one line of 128 bytes per clock and SM for each request: 128 bytes per clock, as shared memory, "
           "whose "
           "array it is (Volta whitepaper); measured for requests with several lines (docs/counters.md)";
  case Resource::l2:
    return "bytes per clock of the chip, from the figures of the GPU";
  case Resource::dram:
    return "the peak, as the GPU's figures say";
  }
  internal_error("unknown resource");
}

bool of_sm(Resource resource) { return resource != Resource::l2 && resource != Resource::dram; }

double clocks(const model::AccessCounts &access) {
  return static_cast<double>(access.buffer->scope == Scope::shared ? access.merged.wavefronts
                                                                   : access.merged.lines);
}

double matrix_clocks(const model::Counters &counters, const Gpu &gpu) {
  double sum = 0;
  for (const auto &[intrinsic, calls] : counters.matrix)
    sum += static_cast<double>(calls.warps) * gpu.matrix_clocks(*intrinsic);
  return sum;
}

double KernelAnalysis::flops() const {
  return 2 * static_cast<double>(counters.multiply_adds.threads + counters.matrix_multiply_adds()) +
         static_cast<double>(counters.floating.threads);
}

std::uint64_t KernelAnalysis::asked_bytes() const {
  return counters.total(Scope::global, false).asked + counters.total(Scope::global, true).asked;
}

const Bound &KernelAnalysis::bound(Resource resource) const {
  static const Bound unused{Resource::fp64, 0, 0}; // only kernels that compute in f64 have this bound
  auto found = std::ranges::find(bounds, resource, &Bound::resource);
  internal_check(found != bounds.end() || resource == Resource::fp64, "each resource has a bound");
  return found != bounds.end() ? *found : unused;
}

double KernelAnalysis::active_lanes() const {
  model::OpCounts all = counters.instructions();
  return all.warps == 0 ? 0 : static_cast<double>(all.threads) / static_cast<double>(all.warps);
}

std::int64_t KernelAnalysis::warps_of_block() const {
  return (kernel.threads() + lanes_per_warp - 1) / lanes_per_warp;
}

std::int64_t KernelAnalysis::warps_of_main_role() const {
  return kernel.roles.empty() ? warps_of_block() : kernel.roles.front().warps;
}

std::int64_t KernelAnalysis::warps() const { return warps_of_block() * waves.blocks; }

double KernelAnalysis::barriers_of_warp() const {
  return static_cast<double>(counters.barriers.warps) / std::max<double>(1, static_cast<double>(warps()));
}

double KernelAnalysis::imbalance(const Gpu &gpu) const {
  constexpr double equal = 1.05; // blocks of partial tiles are a little smaller
  const double of_a_block = gpu.sms / static_cast<double>(std::max<std::int64_t>(waves.blocks, 1));
  if (counters.largest_block <= equal)
    return std::max(static_cast<double>(waves.busiest), counters.largest_block) * of_a_block;
  return std::max(1.0, counters.largest_block * of_a_block); // the order of the blocks decides the rest
}

std::optional<Loss> KernelAnalysis::largest_loss() const {
  Loss loss = losses.largest();
  return losses.of(loss) >= noticed_loss ? std::optional(loss) : std::nullopt;
}

double PlanAnalysis::flops() const { return sum_of(kernels, &KernelAnalysis::flops); }
double PlanAnalysis::asked_bytes() const { return sum_of(kernels, &KernelAnalysis::asked_bytes); }
double PlanAnalysis::dram_bytes() const {
  return sum_of(kernels, [](const KernelAnalysis &kernel) { return kernel.memory.traffic.dram_bytes(); });
}
double PlanAnalysis::multiply_adds() const {
  return sum_of(kernels, [](const KernelAnalysis &kernel) {
    return kernel.counters.multiply_adds.threads + kernel.counters.matrix_multiply_adds();
  });
}

std::optional<Feature> PlanAnalysis::matrix_feature() const {
  std::map<Feature, std::uint64_t> products;
  for (const KernelAnalysis &kernel : kernels)
    for (const auto &[intrinsic, calls] : kernel.counters.matrix)
      products[*intrinsic->feature] += calls.warps * multiply_adds_of(*intrinsic);
  auto most = std::ranges::max_element(products, {}, [](const auto &entry) { return entry.second; });
  return most == products.end() ? std::nullopt : std::optional(most->first);
}

bool PlanAnalysis::mostly_in_f64() const {
  return sum_of(kernels, [](const KernelAnalysis &kernel) {
           const model::Counters &counts = kernel.counters;
           auto all = static_cast<double>(counts.multiply_adds.threads + counts.floating.threads);
           return 2 * static_cast<double>(counts.in_f64.threads) - all;
         }) > 0;
}

double PlanAnalysis::peak_of_vectors() const { return mostly_in_f64() ? gpu.fp64_flops() : gpu.fp32_flops(); }

double PlanAnalysis::peak() const {
  std::optional<Feature> feature = matrix_feature();
  return feature ? gpu.matrix_flops(*feature) : peak_of_vectors();
}

double PlanAnalysis::attainable(double intensity) const {
  return std::min(peak(), intensity * gpu.dram_bytes_per_s);
}

double PlanAnalysis::peak_of_mix() const {
  double both =
      sum_of(kernels, [](const KernelAnalysis &kernel) { return kernel.counters.multiply_adds.threads; });
  double other = sum_of(kernels, [](const KernelAnalysis &kernel) { return kernel.counters.floating.threads; });
  return both + other == 0 ? peak_of_vectors() : peak_of_vectors() * (both + other / 2) / (both + other);
}

double KernelAnalysis::even_seconds(const Bound &bound, const Gpu &gpu) const {
  return of_sm(bound.resource) ? bound.seconds / std::max(1.0, imbalance(gpu)) : bound.seconds;
}

double PlanAnalysis::seconds() const {
  return in_groups([&](Group group) {
    double least = 0;
    for (Resource r : resources)
      least = std::max(least, seconds(group, r));
    return least;
  });
}
double PlanAnalysis::estimated_seconds() const {
  return in_groups([&](Group group) {
    double longest = 0, even = 0;
    for (const KernelAnalysis &kernel : group) {
      longest = std::max(longest, kernel.estimated_seconds);
      even += kernel.estimated_seconds / std::max(1.0, kernel.losses.imbalance);
    }
    return std::max(longest, even);
  });
}
double PlanAnalysis::seconds(Resource r) const {
  return in_groups([&](Group group) { return seconds(group, r); });
}

double PlanAnalysis::seconds(Group group, Resource r) const {
  double longest = 0, even = 0;
  for (const KernelAnalysis &kernel : group) {
    const Bound &bound = kernel.bound(r);
    longest = std::max(longest, bound.seconds);
    even += kernel.even_seconds(bound, gpu);
  }
  return group.size() == 1 ? longest : std::max(longest, even);
}

double PlanAnalysis::in_groups(FunctionRef<double(Group)> seconds) const {
  double sum = 0;
  for (std::size_t first = 0, end = 0; first < kernels.size(); first = end) {
    end = first + 1;
    while (end < kernels.size() && !kernels[end].kernel.awaited.empty())
      ++end;
    sum += seconds(Group(kernels).subspan(first, end - first));
  }
  return sum;
}

const KernelAnalysis &PlanAnalysis::slowest() const {
  return *std::ranges::max_element(kernels, {}, [](const KernelAnalysis &kernel) { return kernel.seconds(); });
}

model::RequestSums PlanAnalysis::total(Scope scope, bool stores) const {
  model::RequestSums total;
  for (const KernelAnalysis &kernel : kernels)
    total += kernel.counters.total(scope, stores);
  return total;
}

bool PlanAnalysis::sampled() const {
  return std::ranges::any_of(kernels, [](const KernelAnalysis &kernel) { return kernel.counters.sampled(); });
}

} // namespace nestsmith
