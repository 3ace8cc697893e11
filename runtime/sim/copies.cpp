#include "runtime/sim/copies.h"

#include "runtime/sim/access_checks.h"
#include "runtime/sim/report.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace nestsmith::sim {

namespace {

using Mask = std::uint32_t;

/// Sets the elements of the lanes in the tile: to `bits`, or to poison if that is null.
template <std::size_t width>
void set(std::byte *tile, const Flight &flight, Mask lanes, const std::uint64_t *bits) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
    std::byte *to = tile + flight.element[lane] * static_cast<std::int64_t>(width);
    if (bits)
      std::memcpy(to, bits + lane, width);
    else
      std::memset(to, poison, width);
  }
}

void set(Machine &m, const Flight &flight, Mask lanes, const std::uint64_t *bits) {
  const Access &access = *flight.access;
  std::byte *tile = m.shared.data() + access.storage.shared().byte_offset;
  switch (byte_size(access.buffer->dtype)) {
  case 1:
    return set<1>(tile, flight, lanes, bits);
  case 2:
    return set<2>(tile, flight, lanes, bits);
  case 4:
    return set<4>(tile, flight, lanes, bits);
  default:
    return set<8>(tile, flight, lanes, bits);
  }
}

/// Whether all active lanes copy to elements of the tile that no other access can meet.
bool starts_alone(const Warp &w, const Machine &m, const Flight &flight) {
  const Access &access = *flight.access;
  const SharedStorage &shared = access.storage.shared();
  std::array<std::size_t, warp_size> first{};
  std::size_t count = 0;
  for (Mask left = w.active; left != 0; left &= left - 1) {
    const std::int64_t at = flight.element[static_cast<std::size_t>(std::countr_zero(left))];
    if (at < 0 || at >= access.storage.elements)
      return false;
    first[count++] = shared.unit(at);
  }
  return !access.checked || m.orders_stores(w, {first.data(), count}, static_cast<std::size_t>(shared.units));
}

/// Reports the accesses that the copy of one lane meets, and marks its destination as in flight.
void check_start(const LaneAccess &s) {
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
  }
}

/// Marks the destinations as in flight.
void start(Warp &w, Machine &m, Flight &flight, Mask lanes) {
  const Access &access = *flight.access;
  const SharedStorage &shared = access.storage.shared();
  for (Mask left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::size_t first = shared.unit(flight.element[lane]),
                      end = first + static_cast<std::size_t>(shared.units);
    flight.first_unit = std::min(flight.first_unit, first);
    flight.end_unit = std::max(flight.end_unit, end);
    for (std::size_t unit = first; access.checked && unit < end; ++unit) {
      m.writes[unit] = in_flight;
      m.rows[unit / warp_size] = 0;
      if (shared.overlaps)
        m.owners[unit] = access.storage.slot;
    }
    if (m.tracer && access.checked)
      m.tracer->note(w, access, lane, flight.element[lane], nullptr, m.block);
  }
  set(m, flight, lanes, nullptr);
}

/// The data of the lanes arrive in the memory of the machine `m`.
void land(Warp &w, Machine &m, const Flight &flight, Mask lanes, const Access *landing) {
  const Access &access = *flight.access;
  const SharedStorage &shared = access.storage.shared();
  for (Mask left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::size_t first = shared.unit(flight.element[lane]);
    for (std::size_t n = 0; access.checked && n < static_cast<std::size_t>(shared.units); ++n)
      m.writes[first + n] = w.entry + lane;
    if (m.tracer && landing && access.checked)
      m.tracer->note(w, *landing, lane, flight.element[lane], nullptr, m.block);
    if (flight.source && flight.from[lane] >= 0)
      read_until_now({*flight.source, w, lane, flight.from[lane]}, flight.iteration);
  }
  if (shared.of_units && !shared.of_bulk)
    w.unfenced |= bit_of(access.storage.slot);
  set(m, flight, lanes, flight.bits.data());
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
  Flights &flights = m.flights[w.agent];
  Flight &flight = flights.list.emplace_back(); // of no lane yet, so that no access meets it
  flight.access = &access;
  flight.source = source;
  flight.warp = w.index;
  flight.entry = w.entry;
  flight.iteration = m.iteration(w, access.site);
  addresses(access, w, flight.element);
  lane_values(w, access.buffer->dtype, access.value, flight.bits);
  flight.group = flights.commits;
  if (source) {
    addresses(*source, w, flight.from);
    for (Mask left = ~reg<Mask>(w, source->mask); left != 0; left &= left - 1)
      flight.from[static_cast<std::size_t>(std::countr_zero(left))] = -1;
  }
  Mask lanes = w.active;
  if (!starts_alone(w, m, flight))
    for (Mask left = w.active; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      const LaneAccess s{access, w, lane, flight.element[lane], &m};
      if (in_bounds(s))
        check_start(s);
      else
        lanes ^= Mask{1} << lane;
    }
  flight.lanes = lanes;
  start(w, m, flight, lanes);
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
    Mask arrived = 0;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      arrived |= Mask{flight.group[lane] + pending < flights.commits[lane]} << lane;
    arrived &= flight.lanes & w.active;
    land(w, m, flight, arrived, landing);
    flight.lanes &= ~arrived;
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
