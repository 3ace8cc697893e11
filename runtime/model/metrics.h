#pragma once
/// Counted and modelled figures with the names of Nsight Compute metrics.
///
/// The names are those that Nsight Compute uses for the chips in runtime/model/gpus.h. docs/counters.md defines
/// each metric and describes how nestsmith counts it. If the profiler has no counter for a metric, the name of
/// the metric begins with "nestsmith__".

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

/// The quality of a metric:
///   exact          a property of the lowered kernel; the hardware counter has the same value if the compiler
///                  keeps all operations
///   modelled       the result of the model that `Metric::note` names
///   not_available  `Metric::note` states the reason
enum class MetricKind : std::uint8_t { exact, modelled, not_available };
std::string_view name(MetricKind kind); ///< "exact", "modelled", "n/a"

/// The provider of a metric:
///   counter   a counter of the GPU, which CUPTI can read
///   profiler  Nsight Compute, from the launch
///   ours      nestsmith only
enum class MetricOrigin : std::uint8_t { counter, profiler, ours };

struct Metric {
  std::string name; ///< "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
  std::string unit; ///< "sector", "%", …; empty for a ratio
  MetricOrigin origin = MetricOrigin::counter;
  MetricKind kind = MetricKind::not_available;
  std::optional<double> value; ///< none if not available
  std::string note;            ///< modelled: the name of the model; not available: the reason; otherwise empty
};

/// The inputs from which the metrics of one launch are computed. If a pointer is null, the metrics that need it
/// are not available.
struct MetricInputs {
  const model::Counters &counters;
  const model::Traffic *traffic = nullptr;
  const Occupancy *occupancy = nullptr;
  const Gpu *gpu = nullptr; ///< null: metric names of chips before GB20x
};

/// All metrics in display order: global memory, shared memory, instructions, caches and DRAM, launch, and
/// metrics that need a GPU.
std::vector<Metric> metrics(const MetricInputs &inputs);

} // namespace nestsmith
