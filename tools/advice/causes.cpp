#include "tools/advice/causes.h"

#include "runtime/model/explain.h"
#include "runtime/model/explain_factors.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace nestsmith::cli {

namespace {

/// The way in which a directive saves time.
struct Effect {
  const char *directive, *text;
};
constexpr Effect effects[] = {
    {"join_pipelines",
     "the loads of the first operands of a tile are executed while the last ones of the tile before "
     "are used, so that the pipeline does not drain between tiles"},
    {"snake",
     "every second row of products runs backwards, so that its first operands are those that were used last"},
    {"swizzle", "the words of the tiles are permuted over the banks"},
    {"storage_align", "the rows of the tiles are padded, which moves their columns to other banks"},
    {"async_copy", "copies to shared memory need no registers, and are in flight while the warps compute"},
    {"double_buffer", "the next tiles are fetched while these are used"},
    {"pipeline", "the next iteration is fetched while this one is computed"},
    {"vectorize", "one access moves several elements"},
    {"launch_bounds", "the compiler limits the registers, so that more blocks are resident"},
    {"last_block", "the last block adds the partial sums"},
    {"rfactor", "several blocks share a sum"},
};

std::size_t uses(const Schedule &schedule, const char *directive) {
  return static_cast<std::size_t>(std::ranges::count(schedule.trace(), directive, &Directive::op));
}

/// Per warp and multiply-add, so that kernels with different tiles can be compared.
double barriers(const KernelAnalysis &kernel) {
  double work = static_cast<double>(kernel.counters.multiply_adds.warps) +
                static_cast<double>(kernel.counters.matrix_multiply_adds()) / lanes_per_warp;
  return work == 0 ? 0 : static_cast<double>(kernel.counters.barriers.warps) / work;
}

/// Bytes of shared memory that the warps load and store.
double shared_bytes(const KernelAnalysis &kernel) {
  return static_cast<double>(kernel.counters.merged(Scope::shared, false).asked +
                             kernel.counters.merged(Scope::shared, true).asked);
}

double requests_to_global(const KernelAnalysis &kernel) {
  return static_cast<double>(kernel.counters.merged(Scope::global, false).requests +
                             kernel.counters.merged(Scope::global, true).requests);
}

/// An amount of which less is faster, with its effect.
struct Amount {
  double before, after;
  std::string text;

  bool helps(bool faster) const {
    return before > 0 && after > 0 && differs(before, after) && (after < before) == faster;
  }
};

std::vector<Amount> amounts_of(const PlanAnalysis &b, const PlanAnalysis &a) {
  const KernelAnalysis &was = b.slowest(), &is = a.slowest();
  auto times = [](double before, double after) {
    return after < before ? fmt::format("{} times fewer", number_text(before / after))
                          : fmt::format("{} times more", number_text(after / before));
  };
  double blocks_was = static_cast<double>(was.waves.blocks), blocks_is = static_cast<double>(is.waves.blocks);
  double idle_was = 1.0 / std::max(1, was.occupancy.warps), idle_is = 1.0 / std::max(1, is.occupancy.warps);
  return {
      {requests_to_global(was), requests_to_global(is),
       fmt::format("{} requests to global memory", times(requests_to_global(was), requests_to_global(is)))},
      {shared_bytes(was), shared_bytes(is),
       fmt::format("{} bytes between shared memory and registers", times(shared_bytes(was), shared_bytes(is)))},
      {barriers(was), barriers(is),
       fmt::format("{} barriers for the same work", times(barriers(was), barriers(is)))},
      {was.imbalance(b.gpu), is.imbalance(a.gpu),
       fmt::format("the busiest SM has {} instead of {} times the mean work", number_text(is.imbalance(a.gpu)),
                   number_text(was.imbalance(b.gpu)))},
      {idle_was, idle_is,
       fmt::format("{} instead of {} warps are resident on an SM", is.occupancy.warps, was.occupancy.warps)},
      {blocks_was, blocks_is,
       fmt::format("a block computes {} times {} results",
                   number_text(std::max(blocks_was / blocks_is, blocks_is / blocks_was)),
                   blocks_is < blocks_was ? "more" : "fewer")},
  };
}

} // namespace

std::string causes(const Analysed &before, const Analysed &after) {
  const PlanAnalysis &b = before.analysis, &a = after.analysis;
  if (!differs(b.estimated_seconds(), a.estimated_seconds()))
    return "";
  bool faster = a.estimated_seconds() < b.estimated_seconds();
  std::vector<std::string> parts;
  const Schedule &was = before.scheduled.schedule, &is = after.scheduled.schedule;
  for (const Effect &effect : effects)
    if (faster && uses(was, effect.directive) == 0 && uses(is, effect.directive) > 0)
      parts.push_back(fmt::format("{} ({})", effect.text, effect.directive));
  if (same_computation(before.scheduled, after.scheduled))
    for (const Amount &amount : amounts_of(b, a))
      if (amount.helps(faster))
        parts.push_back(amount.text);
  return parts.empty() ? "" : fmt::format(" In the schedule and the kernel: {}.", fmt::join(parts, "; "));
}

} // namespace nestsmith::cli
