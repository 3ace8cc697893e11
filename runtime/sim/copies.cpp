#include "runtime/sim/copies.h"

#include "runtime/sim/access_checks.h"
#include "runtime/sim/report.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace nestsmith::sim {

namespace {

using Mask = std::uint32_t;

std::byte *memory(Machine &m, const Access &access, std::int64_t element) {
  return m.shared.data() + access.storage.shared().byte_offset + element * byte_size(access.buffer->dtype);
}

/// Marks the destination of one lane as in flight.
void start(const LaneAccess &s) {
  Machine &m = s.machine();
  const SharedStorage &shared = s.access.storage.shared();
  Now now = s.now();
  for (std::size_t unit = shared.unit(s.at), end = unit + static_cast<std::size_t>(shared.units);
       s.access.checked && unit < end; ++unit) {
    if (m.writes[unit] == in_flight)
      meet_copy(s, unit);
    else if (now.conflicts(m.writes[unit]) || m.read_conflicts(now, unit))
      s.report(ErrorKind::race, m.block);
    m.writes[unit] = in_flight;
    if (shared.overlaps)
      m.owners[unit] = s.access.storage.slot;
    m.rows[unit / warp_size] = 0;
  }
  if (m.tracer && s.access.checked)
    m.tracer->note(s.w, s.access, s.lane, s.at, nullptr, m.block);
  std::memset(memory(m, s.access, s.at), poison, static_cast<std::size_t>(byte_size(s.access.buffer->dtype)));
}

/// The data of one lane arrives in the memory of the machine `m`.
void land(Warp &w, Machine &m, const Flight &flight, std::uint32_t lane, const Access *landing) {
  const Access &access = *flight.access;
  std::int64_t element = flight.element[lane];
  std::size_t unit = access.storage.shared().unit(element);
  for (std::int64_t n = 0; access.checked && n < access.storage.shared().units; ++n)
    m.writes[unit + static_cast<std::size_t>(n)] = w.entry + lane;
  if (m.tracer && landing && access.checked)
    m.tracer->note(w, *landing, lane, element, nullptr, m.block);
  if (access.storage.shared().of_units && !access.storage.shared().of_bulk)
    w.unfenced |= bit_of(access.storage.slot);
  if (flight.source && flight.from[lane] >= 0)
    read_until_now({*flight.source, w, lane, flight.from[lane]}, flight.iteration);
  std::memcpy(memory(m, access, element), &flight.bits[lane],
              static_cast<std::size_t>(byte_size(access.buffer->dtype)));
}

/// The access at the site of the wait, for the explanation of a race.
const Access *landing_access(const DecodedKernel &decoded, const Access &access, std::int64_t site) {
  for (const auto &candidate : decoded.accesses)
    if (candidate->site == static_cast<std::uint32_t>(site) && candidate->buffer == access.buffer)
      return candidate.get();
  return nullptr;
}

} // namespace

/// Starts the copies of the active lanes to the shared memory of the machine `m`.
static void issue_to(const Instr *ip, Warp &w, Machine &m) {
  const Access &access = *ip->access;
  const Access *source = m.decoded.copies[ip->c];
  Flight flight{.access = &access,
                .source = source,
                .warp = w.index,
                .lanes = 0,
                .entry = w.entry,
                .first_unit = std::numeric_limits<std::size_t>::max(),
                .end_unit = 0,
                .group = {},
                .element = {},
                .from = {},
                .bits = {},
                .iteration = m.iteration(w, access.site)};
  Flights &flights = m.flights[w.agent];
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    LaneAccess s{access, w, lane, address(access, w, lane), &m};
    if (!in_bounds(s))
      continue;
    start(s);
    flight.lanes |= Mask{1} << lane;
    flight.group[lane] = flights.commits[lane];
    flight.element[lane] = s.at;
    const SharedStorage &shared = access.storage.shared();
    flight.first_unit = std::min(flight.first_unit, shared.unit(s.at));
    flight.end_unit = std::max(flight.end_unit, shared.unit(s.at) + static_cast<std::size_t>(shared.units));
    flight.bits[lane] = get_lane(w, access.buffer->dtype, access.value, lane);
    bool reads = source && (reg<Mask>(w, source->mask) >> lane & 1);
    flight.from[lane] = reads ? address(*source, w, lane) : -1;
  }
  flights.list.push_back(std::move(flight));
}

const Instr *issue_copy(const Instr *ip, Warp &w) {
  issue_to(ip, w, *w.machine);
  return ip + 1;
}

const Instr *issue_copy_to_cluster(const Instr *ip, Warp &w) {
  for (Machine *m : w.machine->cluster)
    issue_to(ip, w, *m);
  return ip + 1;
}

const Instr *commit_copies(const Instr *ip, Warp &w) {
  if (w.machine->flights.empty()) // the kernel has no copies
    return ip + 1;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane)
    w.machine->flights[w.agent].commits[lane] += w.active >> lane & 1;
  return ip + 1;
}

/// The copies of the active lanes to the memory of the machine `m` arrive, but for those of their latest
/// groups.
static void land_groups(Warp &w, Machine &m, std::int64_t site, std::uint32_t pending) {
  Flights &flights = m.flights[w.agent];
  for (Flight &flight : flights.list) {
    const Access *landing = m.tracer ? landing_access(m.decoded, *flight.access, site) : nullptr;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      if ((flight.lanes & w.active) >> lane & 1 && flight.group[lane] + pending < flights.commits[lane]) {
        land(w, m, flight, lane, landing);
        flight.lanes &= ~(Mask{1} << lane);
      }
  }
  std::erase_if(flights.list, [](const Flight &flight) { return flight.lanes == 0; });
}

const Instr *wait_copies(const Instr *ip, Warp &w) {
  if (!w.machine->flights.empty())
    land_groups(w, *w.machine, ip->imm, ip->c);
  return ip + 1;
}

void land_copies(Warp &w, std::int64_t site) {
  if (w.machine->flights.empty())
    return;
  for (Machine *m : w.machine->cluster) {
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      m->flights[w.agent].commits[lane] += w.active >> lane & 1;
    land_groups(w, *m, site, 0);
  }
}

const Instr *start_store(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  BoxStores &stores = m.stores[w.index];
  for (std::uint32_t lane = 0; lane < warp_size; ++lane)
    if (w.active >> lane & 1) {
      const std::int64_t element = address(*ip->access, w, lane);
      if (element >= 0 && element < ip->access->storage.elements)
        stores.list.push_back(
            {ip->access, element, lane, stores.commits, m.writes[ip->access->storage.shared().unit(element)]});
    }
  return ip + 1;
}

const Instr *commit_stores(const Instr *ip, Warp &w) {
  ++w.machine->stores[w.index].commits;
  return ip + 1;
}

/// Reports a tile that was overwritten before the wait.
static void report_overwritten(const StoreInFlight &store, const Warp &w, std::uint32_t site) {
  Machine &m = *w.machine;
  const Buffer &tile = store.access->buffer;
  m.report_units(ErrorKind::in_flight, site,
                 fmt::format("{}[{}] in {} is overwritten while a bulk store of {} reads it, before {}",
                             tile->name, store.element, block_text(m.decoded, m.block),
                             warp_text(m.decoded, w.index),
                             barrier_text(m.decoded.sites[site], m.iteration(w, site))),
                 {.kind = kernel::Hazard::Kind::write_after_read,
                  .buffer = tile,
                  .reader = kernel::written_by(m.decoded.sites[store.access->site].stmt)});
}

const Instr *wait_stores(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  BoxStores &stores = m.stores[w.index];
  std::erase_if(stores.list, [&](const StoreInFlight &store) {
    if (store.access->buffer != ip->access->buffer || store.group + ip->c >= stores.commits)
      return false;
    if (!store.access->checked)
      return true;
    if (m.writes[store.access->storage.shared().unit(store.element)] != store.written) {
      report_overwritten(store, w, static_cast<std::uint32_t>(ip->imm));
      return true;
    }
    check_element({*ip->access, w, store.lane, store.element});
    if (m.tracer)
      m.tracer->note(w, *ip->access, store.lane, store.element);
    return true;
  });
  return ip + 1;
}

} // namespace nestsmith::sim
