#include "runtime/sim/calls.h"

#include "runtime/sim/access_checks.h"
#include "runtime/sim/report.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::sim {

namespace {

CallQueue &queue_of(const Warp &w) { return w.machine->calls[w.index]; }

std::string at(const Warp &w, std::uint32_t site, const std::vector<std::int64_t> &iteration) {
  return barrier_text(w.machine->decoded.sites[site], iteration);
}

std::string who(const Warp &w) {
  const Machine &m = *w.machine;
  return fmt::format("{} of {}", warp_text(m.decoded, w.index), block_text(m.decoded, m.block));
}

/// The units read a tile of this call until now. Reports what has changed since its start.
void settle(Warp &w, const CallInFlight &call, const TileReads &reads) {
  Machine &m = *w.machine;
  const Access &access = *reads.access;
  const std::size_t units = reads.writes.size() / warp_size;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    const LaneAccess read{access, w, lane, reads.element[lane]};
    const Now now = read.now();
    const std::size_t first = access.storage.shared().unit(read.at);
    m.forget_rows(static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + units - 1));
    for (std::size_t n = 0; n < units; ++n) {
      const std::uint32_t write = m.writes[first + n];
      std::uint32_t &last = m.read_by(w.index, first + n);
      last = now.after_read(last);
      if (write == reads.writes[lane * units + n])
        continue;
      if (write != in_flight && now.conflicts(write)) {
        read.report(ErrorKind::race, m.block);
        continue;
      }
      const kernel::Hazard hazard{.kind = kernel::Hazard::Kind::write_after_read,
                                  .buffer = access.buffer,
                                  .reader = kernel::written_by(m.decoded.sites[call.site].stmt)};
      m.report_units(
          ErrorKind::in_flight, access.site,
          fmt::format("the matrix units read {}[{}] (shared) for {} in {}, but it is overwritten while "
                      "this call is in flight: no wait of this warp lies between them",
                      access.buffer->name, read.at, who(w), at(w, call.site, call.iteration)),
          hazard);
    }
    if (m.tracer)
      for (std::size_t n = 0; n < units / static_cast<std::size_t>(access.storage.shared().units); ++n)
        m.tracer->note(w, access, lane, read.at + static_cast<std::int64_t>(n), &call.iteration);
  }
}

} // namespace

const Instr *begin_calls(const Instr *ip, Warp &w) {
  queue_of(w).accessed = 0;
  return ip + 1;
}

const Instr *start_call(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  CallQueue &queue = queue_of(w);
  const auto site = static_cast<std::uint32_t>(ip->imm);
  if ((queue.accessed & bit_of(ip->c)) != 0) {
    const Buffer &sums = kernel::written_by(m.decoded.sites[site].stmt);
    m.report_units(
        ErrorKind::unfenced, site,
        fmt::format("{} starts {}, but it has accessed {} since its last fence for calls: the matrix "
                    "units may see other values in these registers",
                    who(w), at(w, site, m.iteration(w, site)), sums->name),
        {.kind = kernel::Hazard::Kind::read_after_write, .buffer = sums, .reader = sums});
  }
  queue.in_flight |= bit_of(ip->c);
  queue.list.push_back({ip->c, site, queue.commits, m.iteration(w, site)});
  return ip + 1;
}

const Instr *read_tile(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  TileReads reads{ip->access, {}, {}};
  const std::size_t units = ip->c;
  reads.writes.reserve(units * warp_size);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    reads.element[lane] = address(*ip->access, w, lane);
    const std::int64_t end = static_cast<std::int64_t>(units) / ip->access->storage.shared().units;
    if (reads.element[lane] < 0 || reads.element[lane] + end > ip->access->storage.elements)
      return ip + 1; // the loads report it
    const std::size_t first = ip->access->storage.shared().unit(reads.element[lane]);
    for (std::size_t n = 0; n < units; ++n)
      reads.writes.push_back(m.writes[first + n]);
  }
  queue_of(w).list.back().reads.push_back(std::move(reads));
  return ip + 1;
}

const Instr *commit_calls(const Instr *ip, Warp &w) {
  ++queue_of(w).commits;
  return ip + 1;
}

const Instr *wait_calls(const Instr *ip, Warp &w) {
  CallQueue &queue = queue_of(w);
  std::uint64_t left = 0;
  for (const CallInFlight &call : queue.list)
    if (call.group + ip->c < queue.commits) {
      for (const TileReads &reads : call.reads)
        settle(w, call, reads);
    } else {
      left |= bit_of(call.sums);
    }
  std::erase_if(queue.list, [&](const CallInFlight &call) { return call.group + ip->c < queue.commits; });
  queue.in_flight &= left | ~static_cast<std::uint64_t>(ip->imm);
  return ip + 1;
}

const Instr *access_sums(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  CallQueue &queue = queue_of(w);
  queue.accessed |= bit_of(ip->c);
  if ((queue.in_flight & bit_of(ip->c)) == 0)
    return ip + 1;
  const auto site = static_cast<std::uint32_t>(ip->imm);
  const Buffer &sums = m.decoded.local[m.decoded.sums[ip->c]];
  m.report_units(
      ErrorKind::in_flight, site,
      fmt::format("{} accesses {} (registers) in {}, but calls of matrix units that add to it are in "
                  "flight: no wait of this warp lies between them",
                  who(w), sums->name, at(w, site, m.iteration(w, site))),
      {.kind = kernel::Hazard::Kind::read_after_write,
       .buffer = sums,
       .reader = kernel::written_by(m.decoded.sites[site].stmt)});
  return ip + 1;
}

} // namespace nestsmith::sim
