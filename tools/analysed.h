#pragma once
/// A choice on a GPU that need not be at hand: scheduled and lowered for it, compiled where that can be, and
/// analysed.

#include "runtime/model/analysis.h"
#include "runtime/model/explain.h"
#include "tools/rung_choice.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// --gpu NAME.
Option gpu_option();

/// What is assumed where no device is at hand. The post of principles reasons about it, and its sm_80 is
/// `Target`'s default.
inline constexpr std::string_view assumed_gpu = "A100";

struct ChosenGpu {
  Gpu gpu;
  std::string why; ///< where the user named none: "the device at hand", or that there is none we know
};
/// By --gpu, else by --arch, else the device at hand where it is one of the list, else A100. Throws UserError
/// (usage) where --gpu and --arch contradict each other.
ChosenGpu choose_gpu(const Context &context);

/// A choice at --shape and --dtype, or at the shape that a GPU climbs by default: ready to be analysed.
struct Prepared {
  Scheduled scheduled;
  kernel::Plan plan;
  std::vector<KernelResources> compiled;
  std::string note; ///< why registers are not known, or empty
};
Prepared prepare(const Context &context, Choice choice, const Gpu &gpu);

struct Analysed {
  Scheduled scheduled;
  PlanAnalysis analysis;
  std::string note;
};
Analysed analyse(Prepared prepared, const Gpu &gpu);
/// Both, side by side on two cores.
std::pair<Analysed, Analysed> analyse(Prepared a, Prepared b, const Gpu &gpu);

/// What NVRTC makes of the kernels for the GPU's architecture; nothing, and the reason in `note`, where it
/// cannot.
std::vector<KernelResources> resources_if_possible(const kernel::Plan &plan, const Gpu &gpu, std::string &note);

/// The rung before this one in its tutorial, where it is for as many extents.
std::optional<Choice> rung_before(const std::vector<Rung> &rungs, const Choice &choice);
/// Whether both compute the same, so that one is a step from the other.
bool same_computation(const Scheduled &a, const Scheduled &b);

} // namespace nestsmith::cli
