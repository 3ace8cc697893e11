#pragma once
/// Analysis of a rung or a trace file for a GPU, which need not be present. The rung is scheduled, lowered,
/// compiled if NVRTC is available, and analysed.

#include "runtime/model/analysis.h"
#include "runtime/model/explain.h"
#include "tools/options/scheduled.h"
#include "tools/results/measured_times.h"
#include "tools/results/result_cache.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The option --gpu NAME. `otherwise` describes the default for the help text.
Option gpu_option(const std::string &otherwise = "the GPU of this machine, else A100");

/// The GPU that nestsmith assumes if no device is available. It is the GPU of the post about principles, and
/// its architecture sm_80 is the default of `Target`.
inline constexpr std::string_view assumed_gpu = "A100";

struct ChosenGpu {
  Gpu gpu;
  std::string why;      ///< reason for the choice if the user named none, such as "the GPU of this machine"
  bool assumed = false; ///< no GPU is named, and none that is listed is found
};
/// Chooses the GPU: by --gpu if it is given, otherwise by --arch if it is given, otherwise the device of this
/// machine if it is in the list of GPUs, otherwise `assumed_gpu`. Throws UserError (usage) if --gpu and --arch
/// contradict each other, or if no listed GPU has the architecture.
ChosenGpu choose_gpu(const Context &context);
/// The target of generated code: the GPU of --gpu, the architecture of --arch, the device of this machine, or
/// the default of `Target`.
Target chosen_target(const Context &context);

/// A rung or a trace file at --shape and --dtype, ready for analysis. Without --shape, the GPU shape of the
/// rung.
struct Prepared {
  Scheduled scheduled;
  kernel::Plan plan;
  std::vector<KernelResources> compiled;
  std::string note; ///< reason why registers are unknown, or empty
  MeasuredTimes measured = {};
};
Prepared prepare(const Context &context, ChosenRung choice, const Gpu &gpu);

struct Analysed {
  Scheduled scheduled;
  PlanAnalysis analysis; ///< with the measured time that decides comparisons
  std::string note;
  MeasuredTimes measured = {};
};
/// Reuses an analysis of `results`, if it is not null.
Analysed analyse(Prepared prepared, const Gpu &gpu, ResultCache *results = nullptr);
/// Analyses both concurrently.
std::pair<Analysed, Analysed> analyse(Prepared a, Prepared b, const Gpu &gpu);

/// The resources of the kernels as NVRTC compiles them for the GPU's architecture. If they cannot be compiled,
/// returns an empty vector and sets `note` to the reason.
std::vector<KernelResources> resources_if_possible(const kernel::Plan &plan, const Gpu &gpu, std::string &note);

/// The rung with which explanations compare this one: `Rung::against`, otherwise the previous rung of the same
/// tutorial. None if there is none or its number of extents differs.
std::optional<ChosenRung> rung_before(const std::vector<Rung> &rungs, const ChosenRung &choice);
/// Whether both compute the same workload at the same shape and dtype, so that their costs can be compared.
bool same_computation(const Scheduled &a, const Scheduled &b);
/// Whether an explanation compares them: both compute the same, or the second rung names the first one as
/// `Rung::against`, and the shape and the dtype are the same.
bool comparable(const std::vector<Rung> &rungs, const Scheduled &before, const Scheduled &after);
/// The rung of a choice; null for a trace file.
const Rung *rung_of(const std::vector<Rung> &rungs, const ChosenRung &choice);
/// As `choose_gpu`. If the command line names neither a GPU nor a shape, and the rung has a `Lesson`, its GPU,
/// and its shape as the default of `choice`.
ChosenGpu gpu_and_shape(const Context &context, ChosenRung &choice);
/// A sentence about the GPU and the shape at which the rung shows its effect, if these are others. Otherwise
/// empty.
std::string lesson_note(const std::vector<Rung> &rungs, const Scheduled &scheduled, const Gpu &gpu);

/// The baseline of an explanation, at the same shape: the rung of --against, or that of `rung_before`. None,
/// with the reason in `note`, if there is none or it cannot be analysed at this shape.
std::optional<Prepared> prepare_baseline(const Context &context, const Scheduled &scheduled, const Gpu &gpu,
                                         std::string &note);

} // namespace nestsmith::cli
