#include "runtime/sim/copies.h"

#include "runtime/sim/machine.h"
#include "runtime/sim/report.h"
#include "runtime/sim/trace.h"

#include <cstring>
#include <fmt/format.h>

namespace nestsmith::sim {

namespace {

using Mask = std::uint32_t;

std::size_t first_unit(const Access &access, std::int64_t element) {
  return static_cast<std::size_t>(access.shadow_offset + element * access.units);
}

std::byte *memory(Machine &m, const Access &access, std::int64_t element) {
  return m.shared.data() + access.byte_offset + element * byte_size(access.buffer->dtype);
}

std::uint64_t value_of(const Access &access, const Warp &w, std::uint32_t lane) {
  std::uint64_t bits = 0;
  auto width = static_cast<std::size_t>(byte_size(access.buffer->dtype));
  std::size_t at = access.value_uniform ? 0 : lane * width;
  std::memcpy(&bits, w.frame + access.value + at, width);
  return bits;
}

/// Marks the destination of one lane as in flight.
void start(Warp &w, const Access &access, std::uint32_t lane, std::int64_t element) {
  Machine &m = *w.machine;
  Now now{m.clock, w.index, w.entry >> stamp_shift, lane};
  for (std::size_t unit = first_unit(access, element), end = unit + static_cast<std::size_t>(access.units);
       access.checked && unit < end; ++unit) {
    if (m.writes[unit] == in_flight)
      meet_copy(w, access, lane, element, unit);
    else if (now.conflicts(m.writes[unit]) || now.conflicts(m.reads[unit]))
      m.report(w, ErrorKind::race, access.site, lane, element, m.block);
    m.writes[unit] = in_flight;
    if (access.overlaps)
      m.owners[unit] = access.slot;
    m.rows[unit / warp_size] = 0;
  }
  if (m.tracer && access.checked)
    m.tracer->note(w, access, lane, element);
  std::memset(memory(m, access, element), poison, static_cast<std::size_t>(byte_size(access.buffer->dtype)));
}

/// The data of one lane arrives.
void land(Warp &w, const Flight &flight, std::uint32_t lane, const Access *landing) {
  Machine &m = *w.machine;
  const Access &access = *flight.access;
  std::int64_t element = flight.element[lane];
  std::size_t unit = first_unit(access, element);
  for (std::int64_t n = 0; access.checked && n < access.units; ++n)
    m.writes[unit + static_cast<std::size_t>(n)] = w.entry + lane;
  if (m.tracer && landing && access.checked)
    m.tracer->note(w, *landing, lane, element);
  if (flight.source && flight.from[lane] >= 0)
    read_until_now(w, *flight.source, lane, flight.from[lane], flight.iteration);
  std::memcpy(memory(m, access, element), &flight.bits[lane],
              static_cast<std::size_t>(byte_size(access.buffer->dtype)));
}

/// The access at the site of the wait, for the explanation of a race.
const Access *landing_access(const Program &program, const Access &access, std::int64_t site) {
  for (const auto &candidate : program.accesses)
    if (candidate->site == static_cast<std::uint32_t>(site) && candidate->buffer == access.buffer)
      return candidate.get();
  return nullptr;
}

} // namespace

const Instr *issue_copy(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  Machine &m = *w.machine;
  const Access *source = m.program.copies[ip->c];
  Flight flight{.access = &access,
                .source = source,
                .warp = w.index,
                .lanes = 0,
                .entry = w.entry,
                .group = {},
                .element = {},
                .from = {},
                .bits = {},
                .iteration = m.iteration(w, access.site)};
  Flights &flights = m.flights[w.index];
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    std::int64_t element = address(access, w, lane);
    if (element < 0 || element >= access.elements) {
      m.report(w, ErrorKind::out_of_bounds, access.site, lane, element);
      continue;
    }
    start(w, access, lane, element);
    flight.lanes |= Mask{1} << lane;
    flight.group[lane] = flights.commits[lane];
    flight.element[lane] = element;
    flight.bits[lane] = value_of(access, w, lane);
    bool reads = source && (reg<Mask>(w, source->mask) >> lane & 1);
    flight.from[lane] = reads ? address(*source, w, lane) : -1;
  }
  flights.list.push_back(std::move(flight));
  return ip + 1;
}

const Instr *commit_copies(const Instr *ip, Warp &w) {
  if (w.machine->flights.empty()) // the kernel has no copies
    return ip + 1;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane)
    w.machine->flights[w.index].commits[lane] += w.active >> lane & 1;
  return ip + 1;
}

const Instr *wait_copies(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  if (m.flights.empty())
    return ip + 1;
  Flights &flights = m.flights[w.index];
  for (Flight &flight : flights.list) {
    const Access *landing = m.tracer ? landing_access(m.program, *flight.access, ip->imm) : nullptr;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      if ((flight.lanes & w.active) >> lane & 1 && flight.group[lane] + ip->c < flights.commits[lane]) {
        land(w, flight, lane, landing);
        flight.lanes &= ~(Mask{1} << lane);
      }
  }
  std::erase_if(flights.list, [](const Flight &flight) { return flight.lanes == 0; });
  return ip + 1;
}

void meet_copy(Warp &w, const Access &access, std::uint32_t lane, std::int64_t element, std::size_t unit) {
  Machine &m = *w.machine;
  Now now{m.clock, w.index, w.entry >> stamp_shift, lane};
  for (const Flights &flights : m.flights)
    for (const Flight &flight : flights.list)
      for (std::uint32_t other = 0; other < warp_size; ++other) {
        std::size_t first = first_unit(*flight.access, flight.element[other]);
        bool covers = flight.lanes >> other & 1 && first <= unit &&
                      unit < first + static_cast<std::size_t>(flight.access->units);
        if (!covers)
          continue;
        if (now.conflicts(flight.entry + other))
          m.report(w, ErrorKind::race, access.site, lane, element, m.block);
        else
          m.report_in_flight({access.is_store ? InFlight::How::overwritten : InFlight::How::read, &flight,
                              other, &access, w.index * warp_size + lane, element,
                              m.iteration(w, access.site)});
        return;
      }
}

void overwrite_source(Warp &w, const Access &access, std::uint32_t lane, std::int64_t element) {
  Machine &m = *w.machine;
  for (const Flights &flights : m.flights)
    for (const Flight &flight : flights.list)
      for (std::uint32_t other = 0; other < warp_size; ++other)
        if (flight.source && flight.source->slot == access.slot && flight.lanes >> other & 1 &&
            flight.from[other] == element)
          return m.report_in_flight({InFlight::How::source, &flight, other, &access, w.index * warp_size + lane,
                                     element, m.iteration(w, access.site)});
}

} // namespace nestsmith::sim
