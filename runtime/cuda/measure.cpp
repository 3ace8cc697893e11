#include "runtime/cuda/measure.h"

#include "dsl/expr/error.h"
#include "runtime/cuda/event.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/nvml.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

namespace nestsmith::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// The driver queues about 1000 launches. With more, `enqueue` would wait for the GPU.
constexpr int most_launches = 200;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// One competitor with its state between the rounds.
class Contest {
public:
  Contest(const Device &device, const Competitor &competitor, const MeasureOptions &options,
          std::size_t &next_copy)
      : device_(device), competitor_(competitor), options_(options), next_copy_(next_copy), start_(device),
        stop_(device) {}

  /// Derives the number of launches of a sample, and makes the graph.
  void prepare() {
    launches(options_.warm_up);
    device_.synchronize(competitor_.name + " failed");
    if (options_.launch == LaunchMode::single)
      return;
    start_.record();
    launches(2);
    stop_.record();
    double one = stop_.milliseconds_since(start_) / 2;
    measured.launches = static_cast<int>(std::clamp(options_.sample_ms / one, 1.0, double{most_launches}));
    if (options_.launch != LaunchMode::graph)
      return;
    // A graph that is launched again begins with its first copy again, so it uses each copy equally often.
    int copies = static_cast<int>(options_.copies);
    measured.launches = (measured.launches + copies - 1) / copies * copies;
    graph_ = std::make_unique<Graph>(device_, [&] { launches(measured.launches); });
    graph_->launch(); // the first launch uploads the graph
    device_.synchronize(competitor_.name + " failed in a CUDA graph");
  }

  void sample(const Nvml *nvml) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.pause_ms));
    launches(options_.warm_up);
    start_.record();
    Clock::time_point begin = Clock::now();
    if (graph_)
      graph_->launch();
    else
      launches(measured.launches);
    measured.host_us.push_back(microseconds_since(begin) / measured.launches);
    stop_.record();
    if (std::optional<int> mhz = nvml ? nvml->sm_mhz() : std::nullopt)
      measured.sm_mhz.push_back(*mhz);
    measured.ms.push_back(stop_.milliseconds_since(start_) / measured.launches);
  }

  Measured measured;

private:
  void launches(int count) {
    for (int n = 0; n < count; ++n)
      competitor_.enqueue(next_copy_++ % options_.copies);
  }

  const Device &device_;
  const Competitor &competitor_;
  const MeasureOptions &options_;
  std::size_t &next_copy_;
  Event start_, stop_;
  std::unique_ptr<Graph> graph_;
};

} // namespace

std::size_t copies_for_cold_l2(const Device &device, std::size_t bytes) {
  std::size_t wanted = 2 * device.info().l2_bytes, one = std::max<std::size_t>(bytes, 1);
  return std::max<std::size_t>(2, (wanted + one - 1) / one);
}

std::vector<Measured> measure(const Device &device, const std::vector<Competitor> &competitors,
                              const MeasureOptions &options, const Nvml *nvml) {
  internal_check(options.rounds >= 1 && options.copies >= 1, "a measurement without rounds or buffers");
  std::size_t next_copy = 0;
  std::vector<std::unique_ptr<Contest>> contests;
  for (const Competitor &competitor : competitors) {
    contests.push_back(std::make_unique<Contest>(device, competitor, options, next_copy));
    contests.back()->prepare();
  }
  // Every second round runs in the opposite order, so that no competitor always follows the same one.
  for (int round = 0; round < options.rounds; ++round) {
    for (auto &contest : contests)
      contest->sample(nvml);
    std::reverse(contests.begin(), contests.end());
  }
  if (options.rounds % 2)
    std::reverse(contests.begin(), contests.end());
  std::vector<Measured> result;
  for (auto &contest : contests)
    result.push_back(std::move(contest->measured));
  return result;
}

std::optional<double> watts_of(const Device &device, const Competitor &competitor, const Nvml &nvml,
                               double seconds) {
  std::optional<double> last = nvml.joules();
  if (!last)
    return std::nullopt;
  struct Reading {
    Clock::time_point at;
    double joules;
  };
  std::optional<Reading> first, newest;
  Event start(device), stop(device);
  int launches = 1;
  auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  for (Clock::time_point begin = Clock::now(); since(begin) < seconds;) {
    start.record();
    for (int n = 0; n < launches; ++n)
      competitor.enqueue(0);
    stop.record();
    double ms = std::max(stop.milliseconds_since(start), 1e-4);
    launches = static_cast<int>(std::clamp(5 * launches / ms, 1.0, 200.0)); // 5 ms between two readings
    std::optional<double> joules = nvml.joules();
    // The counter changes in steps. The power is exact only between two changes.
    if (!joules || *joules == *last)
      continue;
    last = joules;
    newest = {Clock::now(), *joules};
    if (!first && since(begin) > 0.15 * seconds) // the clock and the power have settled
      first = newest;
  }
  if (!first || newest->at == first->at)
    return std::nullopt;
  return (newest->joules - first->joules) / std::chrono::duration<double>(newest->at - first->at).count();
}

Spread spread_of(std::vector<double> samples) {
  internal_check(!samples.empty(), "the distribution of no samples");
  std::ranges::sort(samples);
  auto quantile = [&](double share) {
    double place = share * static_cast<double>(samples.size() - 1), below = std::floor(place);
    auto index = static_cast<std::size_t>(below);
    double low = samples[index], high = samples[std::min(index + 1, samples.size() - 1)];
    return low + (place - below) * (high - low);
  };
  return {samples.front(), quantile(0.25), quantile(0.5), quantile(0.75), samples.back()};
}

} // namespace nestsmith::cuda
