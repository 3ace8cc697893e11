#pragma once
/// Records of scheduled rungs: the fields that are known before a measurement.

#include "runtime/records/record.h"
#include "tools/options/scheduled.h"
#include "tools/results/setting.h"

#include <string>

namespace nestsmith::cli {

/// The GPU of a measurement and its software.
struct MeasuringMachine {
  std::string gpu = {}, driver = {}, nvrtc = {}; ///< "NVIDIA H200", "13.0", "13.0"
};

/// The field `code` of a record: identifies the CUDA text of the plan at its shape.
std::string code_of(const kernel::Plan &plan, const Shape &shape);
/// The record of the rung before its measurement, without its trace.
records::Record point_of(const Scheduled &scheduled, const kernel::Plan &plan, const BenchSetting &setting,
                         const MeasuringMachine &machine);
/// The time now in UTC, as in `Record::measured_at`.
std::string now_text();
/// The version of this program: "0.2.0".
std::string version_text();

} // namespace nestsmith::cli
