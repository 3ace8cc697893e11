#pragma once
/// Measures several implementations beside each other: *competitors* take turns in rounds, so that a change of
/// the clock or of the temperature affects all of them alike.

#include "runtime/cuda/driver.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cuda {

class Nvml;

struct Competitor {
  std::string name;
  /// Enqueues one execution on the stream of the device. `copy` selects the buffers of this execution.
  std::function<void(std::size_t copy)> enqueue;
};

enum class LaunchMode {
  single,       ///< one launch between two events
  back_to_back, ///< many launches between two events
  graph         ///< the same launches, captured in a CUDA graph
};

struct MeasureOptions {
  LaunchMode launch = LaunchMode::back_to_back;
  int rounds = 15;
  int warm_up = 2; ///< launches before each sample that are not measured
  /// The duration of one sample, if the launch mode permits several launches: their number is derived from it.
  double sample_ms = 5;
  /// The device is idle for this time before each sample, so that it is cool and its clock is high. 0: it is
  /// busy all the time, and may run at its power limit.
  double pause_ms = 0;
  /// The number of copies of the buffers. Each launch uses the copy after that of the launch before it. With
  /// one copy, L2 is warm. With copies that are together larger than L2, L2 is cold.
  std::size_t copies = 1;
};

/// How `run` measures one kernel: with a warm L2.
inline constexpr MeasureOptions single_launches{.launch = LaunchMode::single, .rounds = 20, .warm_up = 1};

/// Copies for a cold L2: twice the size of L2, and at least two, if one copy has `bytes`.
std::size_t copies_for_cold_l2(const Device &device, std::size_t bytes);

struct Measured {
  /// The samples, one for each round: the time of one launch in ms, and the time of the host to enqueue it in
  /// us. A sample of several launches is divided by their number.
  std::vector<double> ms, host_us;
  std::vector<double> sm_mhz; ///< SM clocks, read while the samples ran; empty without NVML
  int launches = 1;           ///< launches of one sample
};

/// `nvml` may be null. Throws UserError as the driver
/// does (driver.h).
std::vector<Measured> measure(const Device &device, const std::vector<Competitor> &competitors,
                              const MeasureOptions &options, const Nvml *nvml = nullptr);

/// The average power in watts while `competitor` runs alone for about `seconds`. None if the energy counter is
/// missing, or is updated less than twice in this time.
std::optional<double> watts_of(const Device &device, const Competitor &competitor, const Nvml &nvml,
                               double seconds);

/// The distribution of samples.
struct Spread {
  double min = 0, lower_quartile = 0, median = 0, upper_quartile = 0, max = 0;
};
/// `samples` must not be empty. A quantile between two samples is interpolated.
Spread spread_of(std::vector<double> samples);

} // namespace nestsmith::cuda
