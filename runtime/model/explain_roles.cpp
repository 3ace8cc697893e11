#include "runtime/model/explain_roles.h"

#include "lowering/arena.h"
#include "lowering/hazards.h"
#include "lowering/notes.h"
#include "runtime/model/slots.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace nestsmith {

namespace {

using kernel::as;
using kernel::Kernel;

std::string role_name(std::size_t role) { return role == 0 ? "Main role" : fmt::format("Role {}", role); }

/// "4 warps of 40 registers; one thread starts bulk copies to A_shared, B_shared"
std::string role_text(const Kernel &kernel, std::size_t role) {
  const kernel::RoleOfWarps &stated = kernel.roles[role];
  std::string text = fmt::format("{} warps", stated.warps);
  if (stated.registers != 0)
    text += fmt::format(" of {} registers", stated.registers);
  if (role == 0)
    return text;
  std::vector<Buffer> tiles;
  const std::set<Buffer> of_boxes = kernel::bulk_tiles(kernel);
  for (const kernel::Channel &channel : kernel.channels)
    if (channel.role == role)
      tiles.insert(tiles.end(), channel.tiles.begin(), channel.tiles.end());
  const kernel::OfProgram of_program(kernel);
  const bool bulk = std::ranges::any_of(
      of_boxes, [&](const Buffer &tile) { return std::ranges::find(tiles, of_program(tile)) != tiles.end(); });
  return text +
         (kernel.is_of_one_thread(role) ? "; one thread starts bulk copies to "
          : bulk                        ? "; they copy, and one thread starts bulk copies, to "
                                        : "; they copy to ") +
         kernel::names_of(tiles);
}

/// The bytes of one slot of the tiles.
std::int64_t bytes_of_slot(const Kernel &kernel, const kernel::Channel &channel) {
  std::int64_t bytes = 0;
  for (const kernel::Allocation &array : kernel.shared)
    for (const Buffer &tile : channel.tiles)
      if (array.origin && std::ranges::find(*array.origin, OriginPart(tile)) != array.origin->end())
        bytes += bytes_of(array) / array.slots;
  return bytes;
}

/// The least clocks of an SM for a fill, and the resource that takes them.
struct Clocks {
  double clocks = 0;
  Resource resource = Resource::issue;

  void add(double other, Resource of) {
    if (other > clocks)
      *this = {other, of};
  }
  std::string text() const { return fmt::format("{} clocks, by {}", number_text(clocks), name(resource)); }
};

/// Of the requests to global memory, the part that copies make.
double part_of_copies(const model::Counters &counts) {
  const auto all = static_cast<double>(counts.total(Scope::global, false).sectors +
                                       counts.total(Scope::global, true).sectors);
  return all == 0 ? 0 : static_cast<double>(counts.copied(Scope::global).sectors) / all;
}

void add_clocks(Section &section, const KernelAnalysis &analysis, const Gpu &gpu, std::size_t channel) {
  const auto of_block = model::fills_of_block(analysis.kernel, channel);
  if (!of_block || *of_block == 0)
    return;
  const double fills = *of_block * static_cast<double>(analysis.waves.busiest);
  Clocks fill, use;
  for (Resource resource : {Resource::l1, Resource::l2, Resource::dram})
    fill.add(analysis.bound(resource).seconds * gpu.clock_hz * part_of_copies(analysis.counters) / fills,
             resource);
  for (Resource resource :
       {Resource::issue, Resource::fp32, Resource::fp64, Resource::matrix, Resource::shared})
    use.add(analysis.bound(resource).seconds * gpu.clock_hz / fills, resource);
  section.facts.push_back({"Fills of a block", count_text(*of_block)});
  section.facts.push_back({"To fill a slot", fill.text(), Quality::bound});
  section.facts.push_back({"To use it", use.text(), Quality::bound});
  bool late = false;
  if (const auto trips = model::slot_trips(analysis.kernel, channel, analysis.memory.traffic.l2_hit_rate())) {
    // The blocks of a multiprocessor wait at the same time.
    const auto resident = std::min<std::int64_t>(analysis.occupancy.blocks, analysis.waves.busiest);
    const double every = trips->clocks_of_fill() / static_cast<double>(std::max<std::int64_t>(1, resident));
    late = every > std::max(fill.clocks, use.clocks);
    section.facts.push_back(
        {"Memory answers",
         fmt::format("after {} clocks; with {} of {} slots on their way, every {} clocks",
                     number_text(trips->latency), trips->on_their_way(), trips->slots, number_text(every)),
         Quality::modelled});
  }
  const char *const who =
      fill.clocks > use.clocks ? "the main role, for tiles" : "the role that fills, for free slots";
  section.facts.push_back({"Who waits",
                           late ? "the main role, for the answers of memory: more slots would help"
                                : fmt::format("{}: a fill takes {} of the clocks of a use", who,
                                              percent_text(use.clocks > 0 ? fill.clocks / use.clocks : 0)),
                           Quality::modelled});
}

} // namespace

std::optional<Section> roles_section(const KernelAnalysis &analysis, const Gpu &gpu) {
  const Kernel &kernel = analysis.kernel;
  if (kernel.roles.empty())
    return std::nullopt;
  Section section{"Roles of Warps", {}};
  for (std::size_t role = 0; role < kernel.roles.size(); ++role)
    section.facts.push_back({role_name(role), role_text(kernel, role)});
  std::set<std::pair<std::string, std::string>> stated;
  for (std::size_t n = 0; n < kernel.channels.size(); ++n) {
    const kernel::Channel &channel = kernel.channels[n];
    section.facts.push_back({"Slots", fmt::format("{} of {} bytes, of role {}", channel.slots,
                                                  bytes_of_slot(kernel, channel), channel.role)});
    if (channel.blocks > 1)
      section.facts.push_back(
          {"Cluster", fmt::format("{} blocks; each copies a part of {} for all of them", channel.blocks,
                                  kernel::names_of(kernel::tiles_to_cluster(kernel, n)))});
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      const auto *await = as<kernel::Await>(stmt);
      if (!await || await->channel != n)
        return;
      const std::size_t waiting = await->event == kernel::Event::filled ? 0 : channel.role;
      if (std::string note = note_of(stmt); stated.emplace(role_name(waiting), note).second)
        section.facts.push_back({role_name(waiting) + " awaits", std::move(note)});
    });
    add_clocks(section, analysis, gpu, n);
  }
  return section;
}

} // namespace nestsmith
