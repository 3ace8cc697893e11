/// The instructions by which warps of roles wait and arrive: at events of channels (channels.h), and at
/// barriers of a role.

#include "runtime/sim/copies.h"
#include "runtime/sim/machine.h"
#include "runtime/sim/report.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <span>

namespace nestsmith::sim {

namespace {

/// Accesses with stamps below the least one that the warp has seen of all others need no further check.
void set_stamps(Warp &w) {
  const Machine &m = *w.machine;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t other = 0; other < agents_of(m.decoded); ++other)
    if (other != w.agent)
      least = std::min(least, w.seen[other]);
  w.floor_entry = std::max(least, m.clock.floor()) << stamp_shift;
}

/// The stamps of another warp that are ordered before what this warp does after a barrier or a signal.
std::uint32_t ordered_after(const Warp &w, std::uint32_t other) {
  return other == w.agent ? (w.entry >> stamp_shift) + 1 : w.seen[other];
}

/// The number of phases after which the warp may go on: a slot is free before its first fill.
std::int64_t phases_before(const Instr &instr, const Warp &w) {
  const std::int64_t number = reg<std::int64_t>(w, instr.a);
  return floor_div(number, w.machine->channels.slots(instr.c)) + (instr.b != 0 ? 0 : 1);
}

/// The first warp of a role issues its bulk copies.
bool issues_copies(const Warp &w, std::uint32_t channel) {
  const DecodedKernel &decoded = w.machine->decoded;
  return w.index == decoded.roles[decoded.channels[channel].role].first_warp;
}

/// All that the warp has done and seen is ordered before what those do who await the phase.
void pass_on(const Warp &w, SlotEvent &event) {
  for (std::uint32_t other = 0; other < event.seen.size(); ++other)
    event.seen[other] = std::max(event.seen[other], ordered_after(w, other));
  event.unfenced |= w.unfenced;
  event.unfenced_reads |= w.unfenced_reads;
}

/// Ends the phase if its arrivals and its bytes are complete.
void end_phase(SlotEvent &event, std::int64_t needed) {
  if (event.arrived < needed || event.copied != event.announced)
    return;
  event.arrived = event.copied = event.announced = 0;
  event.ended.push_back({event.seen, event.unfenced, event.unfenced_reads});
  event.unfenced = event.unfenced_reads = 0;
}

/// The warp arrives `arrivals` times at the event.
void arrive(const Instr &instr, Warp &w, SlotEvent &event, std::int64_t arrivals, std::int64_t needed) {
  Machine &m = *w.machine;
  if (event.arrived + arrivals > needed) {
    const auto site = static_cast<std::uint32_t>(instr.imm);
    m.report_barrier(
        ErrorKind::deadlock, site,
        fmt::format("{} of {} arrives {} times in {}, but the phase needs {} more arrivals: the others "
                    "would count for the next phase",
                    warp_text(m.decoded, w.index), block_text(m.decoded, m.block), arrivals,
                    barrier_text(m.decoded.sites[site], m.iteration(w, site)), needed - event.arrived));
  }
  pass_on(w, event);
  event.arrived += arrivals;
  end_phase(event, needed);
}

/// Gives the warp a new stamp for its later accesses.
const Instr *after_arrival(const Instr *ip, Warp &w) {
  w.entry = w.machine->clock.advance(w.agent) << stamp_shift;
  return ip + 1;
}

} // namespace

bool waits_in_role(const Instr &instr) { return instr.run == role_barrier || instr.run == role_arrival; }

bool Machine::pass_events(bool &waits) {
  bool any = false;
  for (Warp &w : warps_)
    if (w.state == Warp::State::waiting && w.pc->run == await_event) {
      waits = true;
      if (may_go_on(w)) {
        w.state = Warp::State::ready;
        any = true;
      }
    }
  return any;
}

bool Machine::pass_role_barriers() {
  bool any = false;
  for (const kernel::RoleOfWarps &role : decoded.roles) {
    const std::span<Warp> members = std::span(warps_).subspan(static_cast<std::size_t>(role.first_warp),
                                                              static_cast<std::size_t>(role.warps));
    const Warp &first = members.front();
    if (!std::ranges::all_of(members, [&](const Warp &w) {
          return w.state == Warp::State::waiting && w.pc == first.pc && waits_in_role(*w.pc) &&
                 same_iteration(w, first, static_cast<std::uint32_t>(w.pc->imm));
        }))
      continue;
    std::vector<std::uint32_t> seen(agents_of(decoded));
    std::uint64_t unfenced = 0, unfenced_reads = 0;
    for (const Warp &w : members) {
      for (std::uint32_t other = 0; other < seen.size(); ++other)
        seen[other] = std::max(seen[other], ordered_after(w, other));
      unfenced |= w.unfenced_by_others;
      unfenced_reads |= w.unfenced_reads_by_others;
    }
    // The stamps of all warps grow together, and only the main role writes global memory.
    const std::uint32_t earlier = std::ranges::min_element(members, {}, &Warp::entry)->entry >> stamp_shift;
    for (Warp &w : members) {
      std::ranges::copy(seen, w.seen);
      w.unfenced_by_others = unfenced;
      w.unfenced_reads_by_others = unfenced_reads;
      w.unfenced_at_barrier = w.unfenced;
      w.entry = clock.advance(w.agent) << stamp_shift;
      set_stamps(w);
    }
    if (first.pc->run == role_arrival)
      arrive(*first.pc, decoded.arrivals[first.pc->c].order.barrier ? first.entry >> stamp_shift : earlier);
    for (Warp &w : members) {
      w.state = Warp::State::ready;
      ++w.pc;
    }
    any = true;
  }
  return any;
}

bool may_go_on(const Warp &w) {
  const Instr &instr = *w.pc;
  const SlotEvent &event = w.machine->channels.event(instr.c, instr.b != 0, reg<std::int64_t>(w, instr.a));
  return std::ssize(event.ended) >= phases_before(instr, w);
}

const Instr *await_event(const Instr *ip, Warp &w) {
  w.pc = ip;
  if (stops_part_of_warp(ip, w))
    return nullptr;
  if (!may_go_on(w)) {
    w.state = Warp::State::waiting;
    return nullptr;
  }
  Machine &m = *w.machine;
  const SlotEvent &event = m.channels.event(ip->c, ip->b != 0, reg<std::int64_t>(w, ip->a));
  const std::int64_t phases = phases_before(*ip, w);
  if (std::ssize(event.ended) > phases)
    m.report_lapped(w, static_cast<std::uint32_t>(ip->imm));
  if (phases > 0) {
    const SlotEvent::Phase &phase = event.ended[static_cast<std::size_t>(phases - 1)];
    for (std::uint32_t other = 0; other < phase.seen.size(); ++other)
      w.seen[other] = std::max(w.seen[other], phase.seen[other]);
    w.unfenced_by_others |= phase.unfenced;
    w.unfenced_reads_by_others |= phase.unfenced_reads;
  }
  set_stamps(w);
  return ip + 1;
}

const Instr *signal_filled(const Instr *ip, Warp &w) {
  if (stops_part_of_warp(ip, w))
    return nullptr;
  Machine &m = *w.machine;
  if (ip->dst != 0)
    land_copies(w, ip->imm);
  arrive(*ip, w, m.channels.event(ip->c, false, reg<std::int64_t>(w, ip->a)),
         std::int64_t{ip->b} * std::popcount(w.active), m.decoded.channels[ip->c].filled);
  return after_arrival(ip, w);
}

/// Reports a box whose tile warps have read without a fence.
static const Instr *check_reads_of_box(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  const std::uint64_t read = w.unfenced_reads_by_others & bit_of(ip->b);
  w.unfenced_reads_by_others &= ~bit_of(ip->b);
  if (read == 0)
    return ip + 1;
  const auto site = static_cast<std::uint32_t>(ip->imm);
  const Buffer &tile = m.decoded.shared[ip->b];
  m.report_units(
      ErrorKind::unfenced, site,
      fmt::format("a bulk copy of {} in {} overwrites {}, which warps of another role have read without a "
                  "fence before they freed it: it may overtake their reads",
                  block_text(m.decoded, m.block), barrier_text(m.decoded.sites[site], m.iteration(w, site)),
                  tile->name),
      {.kind = kernel::Hazard::Kind::write_after_read, .buffer = tile});
  return ip + 1;
}

const Instr *start_box(const Instr *ip, Warp &w) {
  if (!issues_copies(w, ip->c))
    return ip + 1;
  w.machine->channels.event(ip->c, false, reg<std::int64_t>(w, ip->a)).copied += ip->dst;
  return check_reads_of_box(ip, w);
}

const Instr *start_box_to_cluster(const Instr *ip, Warp &w) {
  if (!issues_copies(w, ip->c))
    return ip + 1;
  w.machine->to_cluster.push_back({ip->c, reg<std::int64_t>(w, ip->a), std::int64_t{ip->dst}});
  return check_reads_of_box(ip, w);
}

const Instr *note_tile_read(const Instr *ip, Warp &w) {
  w.unfenced_reads |= bit_of(ip->c);
  return ip + 1;
}

/// The bytes of the copies to all blocks of the cluster count in each of them.
static void bring_to_cluster(const Instr &instr, Warp &w, std::int64_t needed) {
  Machine &m = *w.machine;
  for (const Machine::BytesToCluster &box : m.to_cluster)
    if (box.channel == instr.c)
      for (Machine *other : m.cluster) {
        SlotEvent &event = other->channels.event(instr.c, false, box.number);
        event.copied += box.bytes * m.stands_for();
        pass_on(w, event);
        if (other == &m)
          continue; // the caller arrives
        if (other->is_finished())
          other->report_ended(w, static_cast<std::uint32_t>(instr.imm), instr.c);
        end_phase(event, needed);
      }
  std::erase_if(m.to_cluster, [&](const Machine::BytesToCluster &box) { return box.channel == instr.c; });
}

const Instr *signal_bulk(const Instr *ip, Warp &w) {
  if (stops_part_of_warp(ip, w))
    return nullptr;
  Machine &m = *w.machine;
  if (!issues_copies(w, ip->c))
    return ip + 1;
  land_copies(w, ip->imm);
  const std::int64_t needed = m.decoded.channels[ip->c].filled, number = reg<std::int64_t>(w, ip->a);
  SlotEvent &event = m.channels.event(ip->c, false, number);
  event.announced += ip->dst;
  bring_to_cluster(*ip, w, needed);
  const bool others = m.decoded.channels[ip->c].blocks > 1 && m.stands_for() == 1; // bring the rest
  if (others ? event.copied > event.announced : event.copied != event.announced) {
    const auto site = static_cast<std::uint32_t>(ip->imm);
    m.report_barrier(
        ErrorKind::deadlock, site,
        fmt::format("{} of {} announces {} bytes in {}, but its bulk copies bring {} bytes for this "
                    "phase: the phase {}",
                    warp_text(m.decoded, w.index), block_text(m.decoded, m.block), ip->dst,
                    barrier_text(m.decoded.sites[site], m.iteration(w, site)), event.copied,
                    event.copied < ip->dst ? "never ends" : "ends before they have arrived"));
  }
  if (!others)
    event.copied = event.announced;
  arrive(*ip, w, event, 1, needed);
  const Instr *next = after_arrival(ip, w);
  if (m.cluster.size() == 1)
    return next;
  w.pc = next; // the other blocks bring their parts before this one goes on
  return nullptr;
}

const Instr *signal_freed(const Instr *ip, Warp &w) {
  if (stops_part_of_warp(ip, w))
    return nullptr;
  Machine &m = *w.machine;
  const kernel::Channel &channel = m.decoded.channels[ip->c];
  const std::int64_t number = reg<std::int64_t>(w, ip->a);
  if (channel.blocks == 1 || m.stands_for() > 1) {
    arrive(*ip, w, m.channels.event(ip->c, true, number), channel.blocks, channel.freed);
    return after_arrival(ip, w);
  }
  for (Machine *other : m.cluster) {
    if (other->is_finished())
      other->report_ended(w, static_cast<std::uint32_t>(ip->imm), ip->c);
    arrive(*ip, w, other->channels.event(ip->c, true, number), 1, channel.freed);
  }
  return after_arrival(ip, w);
}

} // namespace nestsmith::sim
