#include "dsl/error.h"
#include "runtime/cuda/event.h"

#include <algorithm>
#include <memory>

namespace nestsmith::cuda {
Timing time_runs(const Device &device, const std::function<void()> &enqueue, const TimingOptions &options) {
  internal_check(options.runs >= 1 && options.warm_up >= 0, "a timing without runs");
  std::unique_ptr<Memory> flush;
  if (options.cold_l2) // twice the size flushes all data of the last run, whatever the L2 replaces first
    flush = std::make_unique<Memory>(device, 2 * device.info().l2_bytes);
  for (int i = 0; i < options.warm_up; ++i)
    enqueue();
  device.synchronize("a run before the timing failed");

  std::vector<std::unique_ptr<Event>> starts, stops;
  for (int i = 0; i < options.runs; ++i) {
    starts.push_back(std::make_unique<Event>(device));
    stops.push_back(std::make_unique<Event>(device));
  }
  // Queue all runs before waiting for the first result, so that the host launches a run while the run before it
  // executes.
  for (int i = 0; i < options.runs; ++i) {
    if (flush)
      flush->fill(static_cast<std::uint32_t>(i));
    starts[static_cast<std::size_t>(i)]->record();
    enqueue();
    stops[static_cast<std::size_t>(i)]->record();
  }
  std::vector<double> ms;
  for (int i = 0; i < options.runs; ++i)
    ms.push_back(stops[static_cast<std::size_t>(i)]->milliseconds_since(*starts[static_cast<std::size_t>(i)]));
  std::sort(ms.begin(), ms.end());
  std::size_t half = ms.size() / 2;
  double median = ms.size() % 2 ? ms[half] : (ms[half - 1] + ms[half]) / 2;
  return {median, ms.front(), ms.back(), options.runs, options.cold_l2};
}

} // namespace nestsmith::cuda
