#include "tools/results/setting.h"

#include "dsl/expr/error.h"

#include <fmt/format.h>

namespace nestsmith::cli {

std::string name(cuda::LaunchMode launch) {
  switch (launch) {
  case cuda::LaunchMode::single:
    return "single";
  case cuda::LaunchMode::back_to_back:
    return "back-to-back";
  case cuda::LaunchMode::graph:
    return "graph";
  }
  internal_error("a launch mode of the closed set");
}

cuda::LaunchMode launch_mode(const std::string &word) {
  for (auto launch : {cuda::LaunchMode::single, cuda::LaunchMode::back_to_back, cuda::LaunchMode::graph})
    if (name(launch) == word)
      return launch;
  internal_error("a launch mode of the closed set");
}

std::string to_text(const BenchSetting &setting) {
  std::string launch = setting.launch == cuda::LaunchMode::single         ? "single launches"
                       : setting.launch == cuda::LaunchMode::back_to_back ? "launches back to back"
                                                                          : "CUDA graphs";
  return fmt::format("{}, {} L2", launch, setting.cold_l2 ? "cold" : "warm");
}

} // namespace nestsmith::cli
