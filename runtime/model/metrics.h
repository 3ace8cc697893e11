#pragma once
/// Counted and modelled figures with the names of Nsight Compute metrics.
///
/// The names are those that Nsight Compute uses for the chips in dsl/hardware/gpus.h. docs/counters.md defines
/// each metric and describes how nestsmith counts it. If the profiler has no counter for a metric, the name of
/// the metric begins with "nestsmith__".

#include "dsl/hardware/gpus.h"
#include "runtime/model/counters.h"
#include "runtime/model/occupancy.h"
#include "runtime/model/quality.h"
#include "runtime/model/traffic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The provider of a metric:
///   counter   a counter of the GPU, which CUPTI can read
///   profiler  Nsight Compute, from the launch
///   ours      nestsmith only
enum class MetricOrigin : std::uint8_t { counter, profiler, ours };

struct Metric {
  std::string name; ///< "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
  std::string unit; ///< "sector", "%", …; empty for a ratio
  MetricOrigin origin = MetricOrigin::counter;
  Quality quality = Quality::unknown;
  std::optional<double> value; ///< none if unknown
  std::string note;            ///< modelled: the name of the model; unknown: the reason; otherwise empty
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
