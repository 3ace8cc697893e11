#pragma once
/// The conditions of a measurement: how kernels are launched, and the state of L2.

#include "runtime/cuda/measure.h"

#include <string>

namespace nestsmith::cli {

/// The conditions of one table.
struct BenchSetting {
  cuda::LaunchMode launch = cuda::LaunchMode::back_to_back;
  bool cold_l2 = false;
};

/// The words of the option --launch: "single", "back-to-back", "graph".
std::string name(cuda::LaunchMode launch);
/// The mode that has this name, which must be one of them.
cuda::LaunchMode launch_mode(const std::string &name);
/// "launches back to back, warm L2".
std::string to_text(const BenchSetting &setting);

} // namespace nestsmith::cli
