#include "tools/pages/pictures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

/// A resource of an SM that the resident blocks share.
struct Shared {
  OccupancyLimit limit;
  Label label;
  std::int64_t of_block = 0, of_sm = 0;
};

std::vector<Shared> resources_of(const KernelAnalysis &kernel, const Gpu &gpu) {
  const Occupancy &occupancy = kernel.occupancy;
  std::int64_t warps = kernel.warps_of_block();
  std::vector<Shared> all = {
      {OccupancyLimit::registers, Label::registers, occupancy.registers_per_thread * warps * lanes_per_warp,
       gpu.registers_per_sm},
      {OccupancyLimit::shared_memory, Label::shared_memory, occupancy.shared_per_block, gpu.shared_per_sm},
      {OccupancyLimit::warps, Label::warps, warps, occupancy.max_warps},
      {OccupancyLimit::blocks, Label::blocks, 1, gpu.blocks_per_sm}};
  std::erase_if(all, [](const Shared &it) { return it.of_block == 0 || it.of_sm == 0; });
  return all;
}

/// A segment for each block.
Html bar(const Shared &it, const KernelAnalysis &kernel, Language language) {
  const Occupancy &occupancy = kernel.occupancy;
  double part = static_cast<double>(it.of_block) / static_cast<double>(it.of_sm);
  Html segments = element("rect", {{"class", "track"}, {"width", "100%"}, {"height", "22"}});
  for (int block = 0; block < occupancy.blocks; ++block) {
    segments += element("rect", {{"class", "resident"},
                                 {"x", percent(part * block)},
                                 {"width", percent(part * 0.97)},
                                 {"height", "22"}});
    if (part > 0.08)
      segments +=
          element("text", {{"x", percent(part * (block + 0.485))}, {"y", "16"}, {"text-anchor", "middle"}},
                  {fmt::format("{}", block + 1)});
  }
  bool limits = std::ranges::find(occupancy.limits, it.limit) != occupancy.limits.end();
  auto most = occupancy.bound.find(it.limit);
  std::string name(say(it.label, language));
  std::string value = fmt::format("{} x {} / {}", occupancy.blocks, it.of_block, it.of_sm);
  std::string room =
      most == occupancy.bound.end() ? "" : say(Label::of_most, language, std::to_string(most->second));
  return element(
      "li", {{"class", limits ? "bar limit" : "bar"}},
      {element("span", {name, limits ? element("b", {" · ", say(Label::is_limit, language)}) : Html()}),
       element("svg", {{"width", "100%"}, {"height", "22"}, {"role", "img"}},
               {element("title", {fmt::format("{}: {}; {}", name, value, room)}), segments}),
       element("span", {{"class", "value"}}, {element("span", {value}), element("span", {room})})});
}

/// The blocks of each SM in a wave: a column for each SM.
Html wave(const std::string &name, std::int64_t blocks, int most, int sms) {
  std::string path;
  for (int sm = 0; sm < sms; ++sm)
    if (std::int64_t height = blocks / sms + (sm < blocks % sms ? 1 : 0); height > 0)
      path += fmt::format("M{} {}v-{}h.8v{}z", sm, most, height, height);
  std::string size = fmt::format("0 0 {} {}", sms, most);
  return element(
      "li",
      {element("span", {name}),
       element("svg",
               {{"class", "wave"},
                {"viewBox", size},
                {"preserveAspectRatio", "none"},
                {"width", "100%"},
                {"height", "36"},
                {"role", "img"}},
               {element("title", {name}),
                element("rect",
                        {{"class", "track"}, {"width", std::to_string(sms)}, {"height", std::to_string(most)}}),
                element("path", {{"class", "resident"}, {"d", path}})})});
}

Html waves_of(const KernelAnalysis &kernel, const Gpu &gpu, Language language) {
  const Waves &waves = kernel.waves;
  std::int64_t full = waves.full, last = waves.blocks - full * waves.in_wave;
  int most = kernel.occupancy.blocks;
  Html rows;
  if (full > 0)
    rows += wave(say(Label::full_waves, language, std::to_string(full)), waves.in_wave, most, gpu.sms);
  if (last > 0)
    rows +=
        wave(say(Label::last_wave, language, fmt::format("{} / {}", last, waves.in_wave)), last, most, gpu.sms);
  return element("h5",
                 {say(Label::waves, language,
                      fmt::format("{} ({} / {})", number_text(waves.waves), waves.blocks, waves.in_wave))}) +=
         element("p", {{"class", "quiet"}}, {say(Label::waves_text, language)}) +=
         element("ul", {{"class", "waves"}}, {rows});
}

} // namespace

Html occupancy_picture(const PicturedKernel &kernel) {
  const KernelAnalysis &analysis = kernel.kernel();
  const Occupancy &occupancy = analysis.occupancy;
  if (occupancy.blocks == 0)
    return {};
  const Gpu &gpu = kernel.model.analysis.gpu;
  Html bars;
  for (const Shared &it : resources_of(analysis, gpu))
    bars += bar(it, analysis, kernel.language);
  std::string resident = fmt::format("{} / {} ({})", occupancy.warps, occupancy.max_warps,
                                     percent(std::round(1000 * occupancy.ratio()) / 1000));
  return element("div", {{"class", "occupancy"}},
                 {element("h4", {say(Label::occupancy, kernel.language)}),
                  element("p", {say(Label::occupancy_text, kernel.language, resident)}),
                  element("ul", {{"class", "bars"}}, {bars}), waves_of(analysis, gpu, kernel.language)});
}

} // namespace nestsmith::cli::report
