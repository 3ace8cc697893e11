#pragma once
/// What is counted and modelled, under the names of Nsight Compute.
///
/// The names are those of its metrics on the chips of runtime/model/gpus.h; docs/counters.md says what each is
/// and how it is counted. One that the profiler has no counter for begins with "nestsmith__".

#include "runtime/model/counters.h"
#include "runtime/model/gpus.h"
#include "runtime/model/occupancy.h"
#include "runtime/model/traffic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// How a figure is known.
///   exact          a property of the lowered kernel. The hardware counts the same where the compiler kept the
///                  operations
///   modelled       by what `Metric::note` says
///   not_available  because of what `Metric::note` says
enum class MetricKind : std::uint8_t { exact, modelled, not_available };
std::string_view name(MetricKind kind); ///< "exact", "modelled", "n/a"

/// Who knows a metric.
///   counter   the GPU's counters, and so CUPTI
///   profiler  Nsight Compute, from the launch
///   ours      nestsmith only
enum class MetricOrigin : std::uint8_t { counter, profiler, ours };

struct Metric {
  std::string name; ///< "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
  std::string unit; ///< "sector", "%", …; empty for a ratio
  MetricOrigin origin = MetricOrigin::counter;
  MetricKind kind = MetricKind::not_available;
  std::optional<double> value; ///< absent where it is not available
  std::string note;            ///< by what it is modelled, or why it is not available; else empty
};

/// What the figures of one launch are made of. Without a part, those that need it are not available.
struct Measured {
  const model::Counters &counters;
  const model::Traffic *traffic = nullptr;
  const Occupancy *occupancy = nullptr;
  const Gpu *gpu = nullptr; ///< null: the names of the chips before GB20x
};

/// All of them, in the order in which they are shown: global memory, shared memory, instructions, caches and
/// DRAM, launch, and what nobody can say without a GPU.
std::vector<Metric> metrics(const Measured &measured);
/// The one of this name, or null.
const Metric *find_metric(const std::vector<Metric> &metrics, std::string_view name);

} // namespace nestsmith
