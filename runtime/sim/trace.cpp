#include "runtime/sim/trace.h"

#include <algorithm>
#include <ranges>
#include <tuple>

namespace nestsmith::sim {

namespace {

/// 0: the same warp. 1: two warps of one block. 2: two blocks.
int distance(const Trace &a, const Trace &b) { return a.block != b.block ? 2 : a.agent != b.agent ? 1 : 0; }

/// Whether the clock of a block, or of its cluster, orders the accesses.
bool have_one_clock(const Trace &a, const Trace &b) {
  return a.block == b.block ||
         (a.access->buffer->scope == Scope::shared && b.access->buffer->scope == Scope::shared);
}

/// Whether `b` would come first if one thread executed both accesses.
bool swapped(const DecodedKernel &decoded, const Trace &a, const Trace &b) {
  Dependence apart = dependence(decoded, {a.access, a.iteration}, {b.access, b.iteration});
  // Roles have no order in the text: in one iteration, a tile is filled before it is read.
  if (apart.distance == 0 && a.access->is_store != b.access->is_store &&
      decoded.role_of(a.thread) != decoded.role_of(b.thread))
    return b.access->is_store;
  return apart.distance != 0 ? apart.distance < 0
                             : decoded.sites[b.access->site].source < decoded.sites[a.access->site].source;
}

/// A smaller value shows the hazard better. Threads that are far from each other show which kind of barrier is
/// missing, and close iterations are easier to understand.
auto obscurity(const DecodedKernel &decoded, const Trace &first, const Trace &second) {
  Dependence apart = dependence(decoded, {first.access, first.iteration}, {second.access, second.iteration});
  return std::tuple(-distance(first, second), -static_cast<std::int64_t>(apart.depth), apart.distance);
}

/// The accesses of a thread from one source position that are kept: the first ones, and the last one.
constexpr int kept = 4;

} // namespace

Dependence dependence(const DecodedKernel &decoded, const Accessed &a, const Accessed &b) {
  const Site &at_a = decoded.sites[a.access->site], &at_b = decoded.sites[b.access->site];
  std::size_t n = 0;
  for (; n < std::min(at_a.loops.size(), at_b.loops.size()); ++n) {
    if (at_a.loops[n].common() != at_b.loops[n].common())
      break;
    if (a.iteration[n] != b.iteration[n])
      return {n, b.iteration[n] - a.iteration[n]};
  }
  return {n, 0};
}

void Tracer::start_block(const Clock &clock) {
  clock_ = &clock;
  shared_.clear();
  // Stamps restart in each block. So an access by the same thread number in another block is not a repetition.
  for (auto &[slot, elements] : global_)
    for (auto &[at, element] : elements)
      element.last.clear();
}

void Tracer::compare(const std::vector<Trace> &earlier, const Trace &now, const std::uint32_t *seen) {
  auto source = [&](const Trace &t) { return decoded_.sites[t.access->site].source; };
  for (const Trace &before : earlier) {
    if (before.access == now.access && before.agent == now.agent && before.stamp == now.stamp &&
        kernel::as<kernel::Call>(decoded_.sites[now.access->site].stmt))
      continue; // the lanes of one call
    const bool one_clock = have_one_clock(before, now);
    if (one_clock) {
      bool same_warp = before.agent == now.agent;
      if ((same_warp && before.thread == now.thread) || before.stamp < clock_->floor() ||
          (same_warp && before.stamp != now.stamp) || (seen && before.stamp < seen[before.agent]))
        continue;
    }
    bool turn = one_clock && swapped(decoded_, before, now);
    const Trace &first = turn ? now : before, &second = turn ? before : now;
    auto [known, fresh] = seen_.try_emplace({source(first), source(second)}, pairs_.size());
    if (fresh)
      pairs_.push_back({first, second});
    else if (RacePair &pair = pairs_[known->second];
             obscurity(decoded_, first, second) < obscurity(decoded_, pair.first, pair.second))
      pair = {first, second};
  }
}

void Tracer::note(const Warp &w, const Access &access, std::uint32_t lane, std::int64_t element,
                  const std::vector<std::int64_t> *iteration, std::optional<std::uint64_t> owner) {
  const std::uint64_t block = w.block;
  std::uint32_t thread = w.index * warp_size + lane, stamp = w.entry >> stamp_shift;
  auto source = static_cast<std::uint64_t>(decoded_.sites[access.site].source);
  bool in_shared = access.buffer->scope == Scope::shared;
  std::int64_t first = in_shared ? static_cast<std::int64_t>(access.storage.shared().unit(element)) : element;
  for (std::int64_t unit = first; unit < first + (in_shared ? access.storage.shared().units : 1); ++unit) {
    Element &all = in_shared ? shared_[owner.value_or(block)][unit] : global_[access.storage.slot][unit];
    LastAccess met{stamp, all.others(access)};
    auto [known, fresh] = all.last.try_emplace(source << 32 | (w.agent * warp_size + lane), met);
    if (!fresh && known->second.stamp == stamp && known->second.others == met.others)
      continue;
    Trace now{&access,
              block,
              thread,
              w.agent,
              stamp,
              element,
              iteration ? *iteration : iteration_of(decoded_, w, access.site)};
    compare(all.writes, now, w.seen);
    if (access.is_store)
      compare(all.reads, now, w.seen);
    if (!access.atomic)
      compare(all.updates, now, w.seen);
    // Drop accesses to shared memory before the last block barrier, because they can no longer race. If enough
    // accesses of this thread at this source are kept, `now` replaces the previous one.
    std::vector<Trace> &own = all.same(access);
    std::erase_if(own, [&](const Trace &t) { return in_shared && t.stamp < clock_->floor(); });
    auto again = [&](const Trace &t) {
      return t.block == block && t.thread == thread &&
             static_cast<std::uint64_t>(decoded_.sites[t.access->site].source) == source;
    };
    if (std::ranges::count_if(own, again) == kept)
      own.erase(std::ranges::find_if(own | std::views::reverse, again).base() - 1);
    own.push_back(std::move(now));
    ++(access.atomic ? all.noted_updates : access.is_store ? all.noted_writes : all.noted_reads);
    known->second = {stamp, all.others(access)};
  }
}

} // namespace nestsmith::sim
