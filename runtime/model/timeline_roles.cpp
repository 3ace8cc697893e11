#include "runtime/model/timeline_roles.h"

#include "lowering/notes.h"
#include "runtime/model/slots.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace nestsmith::model {

namespace {

using kernel::Kernel;

/// "warp 8, role 1: fills A_shared, B_shared".
std::string name_of_warp(const Kernel &kernel, std::size_t role, std::int64_t warp) {
  std::vector<Buffer> tiles;
  for (const kernel::Channel &channel : kernel.channels)
    if (channel.role == role)
      tiles.insert(tiles.end(), channel.tiles.begin(), channel.tiles.end());
  const bool fills = warp == 0 || !kernel.is_of_one_thread(role); // otherwise one thread of the first warp does
  return fmt::format("warp {}, role {}: {}", kernel.roles[role].first_warp + warp, role,
                     fills ? "fills " + kernel::names_of(tiles) : "no work");
}

struct Fill {
  double from = 0, to = 0; ///< from its begin to the arrival of its tiles
  std::string name;
};

/// The fills of a channel that the time line contains, in order.
std::vector<Fill> fills_of(const KernelAnalysis &analysis, std::size_t channel, const MainLoop &main,
                           const std::vector<double> &ends) {
  const std::optional<SlotTrips> trips =
      slot_trips(analysis.kernel, channel, analysis.memory.traffic.l2_hit_rate());
  if (!trips)
    return {};
  // The compiler may have unrolled the loop. Fills outside of it belong to code of its own before or after it.
  const auto of_iteration = std::max<std::int64_t>(
      1, std::llround(static_cast<double>(trips->iterations) / std::max(main.wanted, 1.0)));
  const auto outside = std::max<std::int64_t>(0, std::llround(trips->fills / static_cast<double>(main.tiles)) -
                                                     trips->iterations);
  const std::int64_t of_tile = main.executed * of_iteration + outside;
  std::vector<Fill> fills;
  // The role is ahead: at the end of the part that the main role executes, it fills the slots that are free.
  for (std::int64_t n = 0; n < std::llround(trips->fills); ++n) {
    double from = 0;
    if (const std::int64_t before = n - trips->slots; before >= 0) { // the fill of this slot before
      const std::int64_t tile = std::min(before / std::max<std::int64_t>(of_tile, 1), main.tiles - 1);
      const std::int64_t iteration = (before - tile * of_tile + trips->freed_later) / of_iteration;
      if (main.executed == 0 || (n >= main.tiles * of_tile && iteration >= main.executed))
        break;
      const auto end = static_cast<std::size_t>(tile * main.executed +
                                                std::clamp<std::int64_t>(iteration, 0, main.executed - 1));
      if (end >= ends.size())
        break;
      from = ends[end];
    }
    fills.push_back({from, from + trips->latency,
                     fmt::format("fill {} in slot {}: {}", n, n % trips->slots,
                                 kernel::names_of(analysis.kernel.channels[channel].tiles))});
  }
  return fills;
}

} // namespace

std::string name_of_warp(const Kernel &kernel, int warp) {
  return kernel.roles.empty() ? fmt::format("warp {}", warp)
                              : fmt::format("warp {}, main role", kernel.roles[0].first_warp + warp);
}

void add_roles(Timeline &line, const KernelAnalysis &analysis, const MainLoop &main) {
  const Kernel &kernel = analysis.kernel;
  for (std::size_t block = 0; block < main.ends.size(); ++block) {
    int row = line.warps;
    for (std::size_t role = 1; role < kernel.roles.size(); ++role) {
      std::vector<Fill> fills;
      for (std::size_t channel = 0; channel < kernel.channels.size(); ++channel)
        if (kernel.channels[channel].role == role)
          for (Fill &fill : fills_of(analysis, channel, main, main.ends[block]))
            if (fill.from < line.recorded)
              fills.push_back(std::move(fill));
      std::ranges::stable_sort(fills, {}, &Fill::from);
      for (std::int64_t warp = 0; warp < kernel.roles[role].warps; ++warp) {
        const std::size_t track = line.tracks.size();
        line.tracks.push_back({static_cast<int>(block) + 1, row++, name_of_warp(kernel, role, warp)});
        if (warp > 0 && kernel.is_of_one_thread(role))
          continue;
        double before = 0;
        for (const Fill &fill : fills) {
          if (fill.from > before)
            line.events.push_back({TimelineKind::stall, track, before, fill.from, "wait: free slot", {}, 0, 0});
          before = fill.from;
          line.events.push_back(
              {TimelineKind::flight, track, fill.from, std::min(fill.to, line.recorded), fill.name, {}, 0, 0});
        }
      }
      if (block == 0)
        line.other_warps += static_cast<int>(kernel.roles[role].warps);
    }
  }
}

} // namespace nestsmith::model
