#pragma once
/// Analysis of a choice for a GPU that need not be present: scheduled, lowered, compiled if possible, and
/// analysed.

#include "runtime/model/analysis.h"
#include "runtime/model/explain.h"
#include "tools/rung_choice.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The option --gpu NAME.
Option gpu_option();

/// The GPU that is assumed where no device is available. The post about principles uses it, and its sm_80 is
/// the default of `Target`.
inline constexpr std::string_view assumed_gpu = "A100";

struct ChosenGpu {
  Gpu gpu;
  std::string why; ///< reason for the choice if the user named none, such as "the device at hand"
};
/// Chooses by --gpu, else by --arch, else the device of this machine if its figures are listed, else
/// `assumed_gpu`. Throws UserError (usage) if --gpu and --arch contradict each other, or if no listed GPU has
/// the architecture.
ChosenGpu choose_gpu(const Context &context);

/// A choice at --shape and --dtype, ready for analysis. The default shape is the one for GPUs.
struct Prepared {
  Scheduled scheduled;
  kernel::Plan plan;
  std::vector<KernelResources> compiled;
  std::string note; ///< reason why registers are unknown, or empty
};
Prepared prepare(const Context &context, Choice choice, const Gpu &gpu);

struct Analysed {
  Scheduled scheduled;
  PlanAnalysis analysis;
  std::string note;
};
Analysed analyse(Prepared prepared, const Gpu &gpu);
/// Analyses both concurrently.
std::pair<Analysed, Analysed> analyse(Prepared a, Prepared b, const Gpu &gpu);

/// The resources of the kernels as NVRTC compiles them for the GPU's architecture. Empty, with the reason in
/// `note`, if that is not possible.
std::vector<KernelResources> resources_if_possible(const kernel::Plan &plan, const Gpu &gpu, std::string &note);

/// The previous rung of the same tutorial; none if there is none or its number of extents differs.
std::optional<Choice> rung_before(const std::vector<Rung> &rungs, const Choice &choice);
/// Whether both compute the same workload at the same shape and dtype, so that their costs can be compared.
bool same_computation(const Scheduled &a, const Scheduled &b);

} // namespace nestsmith::cli
