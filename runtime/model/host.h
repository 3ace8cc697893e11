#pragma once
/// The part of the host in the time of a plan with several kernels: it enqueues them one by one, or launches
/// one CUDA graph of them.
///
/// The host enqueues kernels while the GPU executes earlier ones, so the slower of both determines the time.
/// The constants are typical times of small kernels, not those of a machine: `bench RUNG --launch
/// back-to-back,graph` measures these. Source: the manual of CUDA.jl (docs/src/usage/graphs.md at commit
/// 3d702dc): 80 small kernels take 260 us one by one, and 70 us as a graph, for which the host takes 3.5 us. It
/// does not name its GPU.

#include "runtime/model/explain.h"
#include "runtime/model/words.h"

#include <optional>
#include <string>

namespace nestsmith {

inline constexpr double launch_seconds = 260e-6 / 80;      ///< of the host, to enqueue one kernel
inline constexpr double graph_launch_seconds = 3.5e-6;     ///< of the host, to launch a graph of any size
inline constexpr double graph_kernel_seconds = 70e-6 / 80; ///< at least, from a kernel of a graph to the next

struct HostTime {
  double enqueue = 0;    ///< of the host, for all kernels one by one
  double gpu = 0;        ///< the estimated time of all kernels
  double one_by_one = 0; ///< of the plan, with its kernels launched one by one
  double graph = 0;      ///< of the plan, as one CUDA graph
};

/// None if the plan has one kernel, or if its kernels take longer than the host: then the host is not the
/// limit.
std::optional<HostTime> host_limit(const PlanAnalysis &analysis);

/// The section "Host" of the report.
Section host_section(const HostTime &host, std::size_t kernels);
/// One sentence, with a space before it. Empty if the host is not the limit.
std::string host_in_words(const PlanAnalysis &analysis, Language language);
/// The same for a change of the number of kernels, if the host is the limit before or after it.
std::string host_in_words(const PlanAnalysis &before, const PlanAnalysis &after, Language language);

} // namespace nestsmith
