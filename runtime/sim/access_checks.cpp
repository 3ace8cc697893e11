#include "runtime/sim/access_checks.h"

namespace nestsmith::sim {

namespace {

void check_shared(const LaneAccess &s) {
  Machine &m = s.machine();
  Now now = s.now();
  const SharedStorage &shared = s.access.storage.shared();
  std::size_t first = shared.unit(s.at);
  for (std::size_t unit = first; unit < first + static_cast<std::size_t>(shared.units); ++unit) {
    std::uint32_t &write = m.writes[unit], &read = m.read_by(s.w.index, unit);
    if (write == in_flight) {
      meet_copy(s, unit);
      continue;
    }
    if (!s.access.is_store && write == 0)
      s.report(ErrorKind::unwritten_read);
    else if (!s.access.is_store && shared.overlaps && m.owners[unit] != s.access.storage.slot)
      m.report_overwritten(s.w, s.access, s.lane, s.at, m.owners[unit]);
    if (now.conflicts(write) || (s.access.is_store && m.read_conflicts(now, unit)))
      s.report(ErrorKind::race, m.block);
    if (s.access.is_store) {
      write = now.entry();
      m.rows[unit / warp_size] = 0;
      if (shared.overlaps)
        m.owners[unit] = s.access.storage.slot;
    } else {
      read = now.after_read(read);
    }
  }
}

/// Reports a race with the access that `entry` records. An access of another block conflicts unless arrivals
/// order it. An access of this block may conflict.
void check_global_entry(const LaneAccess &s, std::uint64_t entry) {
  std::uint64_t block = s.machine().block;
  bool many = (entry & many_blocks) != 0;
  if (entry == 0 || (!many && s.machine().happened_before(entry)))
    return;
  if (block_of(entry) != block)
    s.report(ErrorKind::race, block_of(entry));
  else if (many)
    s.report(ErrorKind::race, unknown_block);
  else if (s.now().conflicts(local_entry(entry)))
    s.report(ErrorKind::race, block);
}

/// The same for the reads or the atomic operations of an element. If several blocks make them, and arrivals may
/// order them, each counts.
void check_shared_accesses(const LaneAccess &s, const SharedAccesses &accesses) {
  if (accesses.entries.empty())
    return;
  std::uint64_t entry = accesses.entries[static_cast<std::size_t>(s.at)].load();
  auto each = (entry & many_blocks) != 0 ? accesses.of_blocks.find(s.at) : accesses.of_blocks.end();
  if (each == accesses.of_blocks.end())
    return check_global_entry(s, entry);
  check_global_entry(s, entry & ~many_blocks);
  for (auto [block, read] : each->second)
    check_global_entry(s, global_entry(block, read));
}

void note_shared_access(const LaneAccess &s, SharedAccesses &accesses) {
  auto at = static_cast<std::size_t>(s.at);
  std::uint64_t block = s.machine().block;
  Now now = s.now();
  std::uint64_t old = accesses.entries[at].load(), next = 0;
  do {
    if (old == 0)
      next = global_entry(block, now.entry());
    else if (block_of(old) != block || (old & many_blocks) != 0)
      next = old | many_blocks;
    else
      next = global_entry(block, now.after_read(local_entry(old)));
  } while (!accesses.entries[at].compare_exchange_weak(old, next));
  if ((next & many_blocks) == 0 || s.machine().decoded.arrivals.empty())
    return;
  std::uint32_t &own = accesses.of_blocks[s.at][block];
  own = now.after_read(own);
}

/// A store marks its write before it looks for reads, and a load marks its read before it looks for writes.
/// Both are sequentially consistent, so at least one of two conflicting blocks sees the other. Atomic
/// operations on one element do not conflict with each other, but with loads and other stores.
void check_global(const LaneAccess &s, GlobalBuffer &buffer) {
  auto at = static_cast<std::size_t>(s.at);
  if (buffer.counts_arrivals)
    s.machine().note_counter_access(s.w, s.access, s.lane, s.at);
  if (s.access.is_store) {
    if (FlightLane copy = copy_from(s.machine().flights, s.access.storage.slot, s.at); copy.flight)
      s.report_in_flight(InFlight::How::source, copy);
    if (s.access.atomic) {
      note_shared_access(s, buffer.updates);
      check_global_entry(s, buffer.writes[at].load());
    } else {
      check_global_entry(s, buffer.writes[at].exchange(global_entry(s.machine().block, s.now().entry())));
      check_shared_accesses(s, buffer.updates);
    }
    check_shared_accesses(s, buffer.reads);
    return;
  }
  note_shared_access(s, buffer.reads);
  check_global_entry(s, buffer.writes[at].load());
  check_shared_accesses(s, buffer.updates);
}

} // namespace

bool Machine::read_conflicts(const Now &now, std::size_t unit) {
  if (!channels.exist())
    return now.conflicts(reads[unit]);
  for (std::uint32_t warp = 0; warp < decoded.warps; ++warp)
    if (now.conflicts(read_by(warp, unit)))
      return true;
  return false;
}

bool Machine::orders_stores(const Warp &w, std::span<const std::size_t> first, std::size_t units) const {
  auto latest = [&](const std::uint32_t *entries) {
    std::uint32_t last = 0;
    for (std::size_t n = 0; n < units; ++n)
      for (std::size_t unit : first)
        last = std::max(last, entries[unit + n]);
    return last;
  };
  const std::uint32_t last_write = latest(writes.data());
  if (!channels.exist())
    return std::max(last_write, latest(reads.data())) < w.floor_entry;
  // Entries of one warp are ordered before the store exactly if they are less than this one.
  auto end_of = [&](std::uint32_t agent) {
    return agent == w.agent ? w.entry : std::max(w.seen[agent], clock.floor()) << stamp_shift;
  };
  std::uint32_t known = 0; // of the writers of one tile, most have one stamp
  for (std::size_t n = 0; last_write >= w.floor_entry && n < units; ++n)
    for (std::size_t unit : first) {
      const std::uint32_t write = writes[unit + n], stamp = write >> stamp_shift;
      if (write < w.floor_entry || stamp == known)
        continue;
      if (write == in_flight || write >= end_of(clock.warp_of(stamp)))
        return false;
      known = stamp;
    }
  const std::uint32_t first_agent = rank() * decoded.warps;
  for (std::uint32_t warp = 0; warp < decoded.warps; ++warp)
    if (latest(reads.data() + warp * writes.size()) >= end_of(first_agent + warp))
      return false;
  return true;
}

void LaneAccess::report_in_flight(InFlight::How how, FlightLane copy) const {
  machine().report_in_flight(
      {how, copy, &access, w.index * warp_size + lane, at, machine().iteration(w, access.site)});
}

bool in_bounds(const LaneAccess &s) {
  if (s.at >= 0 && s.at < s.access.storage.elements)
    return true;
  s.report(ErrorKind::out_of_bounds);
  return false;
}

void check_element(const LaneAccess &s) {
  if (!s.access.checked && s.access.buffer->scope != Scope::global)
    return;
  Machine &m = s.machine();
  switch (s.access.buffer->scope) {
  case Scope::shared:
    check_shared(s);
    break;
  case Scope::global: {
    GlobalBuffer &buffer = m.globals[s.access.storage.slot];
    auto at = static_cast<std::size_t>(s.at);
    bool reads = !s.access.is_store || s.access.atomic;
    if (s.access.checked && reads && !buffer.starts_written && buffer.written[at] == 0)
      s.report(ErrorKind::unwritten_read);
    if (!buffer.writes.empty())
      check_global(s, buffer);
    break;
  }
  case Scope::local:
  case Scope::warp: { // a kernel that runs has local buffers in place of fragments
    std::uint32_t &written = reg<std::uint32_t>(s.w, s.access.storage.local().written(s.at));
    std::uint32_t mine = std::uint32_t{1} << s.lane;
    if (!s.access.is_store && (written & mine) == 0)
      s.report(ErrorKind::unwritten_read);
    return;
  }
  }
  if (m.tracer && s.access.checked)
    m.tracer->note(s.w, s.access, s.lane, s.at);
}

void meet_copy(const LaneAccess &s, std::size_t unit) {
  FlightLane copy = copy_to(s.machine().flights, unit);
  if (!copy.flight)
    return;
  if (s.now().conflicts(copy.flight->entry + copy.lane))
    s.report(ErrorKind::race, s.machine().block);
  else
    s.report_in_flight(s.access.is_store ? InFlight::How::overwritten : InFlight::How::read, copy);
}

void read_until_now(const LaneAccess &source, const std::vector<std::int64_t> &iteration) {
  Machine &m = source.machine();
  GlobalBuffer &buffer = m.globals[source.access.storage.slot];
  if (!source.access.checked || source.at >= source.access.storage.elements)
    return;
  if (!buffer.reads.entries.empty())
    note_shared_access(source, buffer.reads);
  if (m.tracer)
    m.tracer->note(source.w, source.access, source.lane, source.at, &iteration);
}

} // namespace nestsmith::sim
