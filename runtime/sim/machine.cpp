#include "runtime/sim/machine.h"

#include "runtime/sim/copies.h"
#include "runtime/sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

namespace nestsmith::sim {

namespace {

constexpr std::size_t frame_alignment = 64;

std::size_t frame_stride(const DecodedKernel &decoded) {
  return (decoded.frame_bytes + frame_alignment - 1) / frame_alignment * frame_alignment;
}

void set_clock(Warp &w, const Clock &clock, std::uint32_t stamp) {
  w.entry = stamp << stamp_shift;
  w.floor_entry = clock.floor() << stamp_shift;
}

} // namespace

bool stops_part_of_warp(const Instr *ip, Warp &w) {
  if (w.active == w.live)
    return false;
  Machine &m = *w.machine;
  auto thread = [&](std::uint32_t mask) {
    return thread_text(m.decoded, w.index * warp_size + static_cast<std::uint32_t>(std::countr_zero(mask)));
  };
  auto site = static_cast<std::uint32_t>(ip->imm);
  m.report_barrier(ErrorKind::divergent_barrier, site,
                   fmt::format("{} of {} reaches {}, but {} of the same warp does not: every thread must reach "
                               "a barrier, so its condition must not differ between threads",
                               thread(w.active), block_text(m.decoded, m.block),
                               barrier_text(m.decoded.sites[site], m.iteration(w, site)),
                               thread(w.live & ~w.active)));
  w.state = Warp::State::failed;
  return true;
}

const Instr *check_whole_warp(const Instr *ip, Warp &w) {
  if (w.active == ~std::uint32_t{0})
    return ip + 1;
  Machine &m = *w.machine;
  auto site = static_cast<std::uint32_t>(ip->imm);
  m.report_barrier(
      ErrorKind::divergent_barrier, site,
      fmt::format("{} of {} executes {} with {} of 32 lanes: every lane must execute a call of its "
                  "warp, so its condition must not differ between lanes",
                  warp_text(m.decoded, w.index), block_text(m.decoded, m.block),
                  barrier_text(m.decoded.sites[site], m.iteration(w, site)), std::popcount(w.active)));
  w.state = Warp::State::failed;
  return nullptr;
}

const Instr *block_barrier(const Instr *ip, Warp &w) {
  if (stops_part_of_warp(ip, w))
    return nullptr;
  w.state = Warp::State::waiting;
  w.pc = ip;
  return nullptr;
}

const Instr *cluster_barrier(const Instr *ip, Warp &w) { return block_barrier(ip, w); }

const Instr *block_arrival(const Instr *ip, Warp &w) { return block_barrier(ip, w); }

const Instr *role_barrier(const Instr *ip, Warp &w) { return block_barrier(ip, w); }

const Instr *role_arrival(const Instr *ip, Warp &w) { return block_barrier(ip, w); }

const Instr *warp_barrier(const Instr *ip, Warp &w) {
  if (stops_part_of_warp(ip, w))
    return nullptr;
  w.entry = w.machine->clock.advance(w.agent) << stamp_shift;
  w.unfenced_at_barrier = w.unfenced;
  return ip + 1;
}

const Instr *note_tile(const Instr *ip, Warp &w) {
  w.unfenced |= bit_of(ip->c);
  return ip + 1;
}

const Instr *fence_tiles(const Instr *ip, Warp &w) {
  w.unfenced = w.unfenced_by_others = w.unfenced_reads = 0;
  return ip + 1;
}

const Instr *check_fenced(const Instr *ip, Warp &w) {
  w.machine->check_fenced(w, static_cast<std::uint32_t>(ip->imm), ip->c);
  return ip + 1;
}

void Machine::check_fenced(const Warp &warp, std::uint32_t site, std::uint32_t buffer) {
  if ((warp.unfenced_by_others & bit_of(buffer)) != 0) {
    const Buffer &tile = decoded.shared[buffer];
    report_units(
        ErrorKind::unfenced, site,
        fmt::format("the matrix units read {} for {} of {} in {}, but the warps of another role have written "
                    "to it, and no fence lies between the await of their writes and this call",
                    tile->name, warp_text(decoded, warp.index), block_text(decoded, block),
                    barrier_text(decoded.sites[site], iteration(warp, site))),
        {.kind = kernel::Hazard::Kind::read_after_write,
         .buffer = tile,
         .reader = kernel::written_by(decoded.sites[site].stmt)});
    return;
  }
  for (const Warp &writer : warps_)
    if ((writer.unfenced_at_barrier & bit_of(buffer)) != 0) {
      const Buffer &tile = decoded.shared[buffer];
      const bool stores_it = kernel::as<kernel::BulkCopy>(decoded.sites[site].stmt) != nullptr;
      report_units(ErrorKind::unfenced, site,
                   fmt::format("{} {} for {} of {} in {}, but {} has written to it without a fence before the "
                               "barrier: {} not see ordinary writes without one",
                               stores_it ? "a bulk store reads" : "the matrix units read", tile->name,
                               warp_text(decoded, warp.index), block_text(decoded, block),
                               barrier_text(decoded.sites[site], iteration(warp, site)),
                               warp_text(decoded, writer.index), stores_it ? "it does" : "they do"),
                   {.kind = kernel::Hazard::Kind::read_after_write,
                    .buffer = tile,
                    .reader = kernel::written_by(decoded.sites[site].stmt)});
      return;
    }
}

void Machine::report_units(ErrorKind kind, std::uint32_t site, std::string message, kernel::Hazard hazard) {
  if (!tracer && seen_.insert({kind, decoded.sites[site].source, false}).second)
    events.push_back({kind, site, 0, block, 0, {}, 0, std::move(message), std::move(hazard)});
}

const Instr *report_early(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  const auto site = static_cast<std::uint32_t>(ip->imm);
  const bool stores = !ip->access || ip->access->is_store;
  const Buffer &buffer =
      ip->access ? ip->access->buffer : kernel::as<kernel::Arrive>(m.decoded.sites[site].stmt)->counters;
  using Kind = kernel::Hazard::Kind;
  m.report_units(
      ErrorKind::race, site,
      fmt::format("{} of {} {} {} in {}, before it awaits the kernel before it, which may still {} it",
                  warp_text(m.decoded, w.index), block_text(m.decoded, m.block), stores ? "updates" : "loads",
                  buffer->name, barrier_text(m.decoded.sites[site], m.iteration(w, site)),
                  stores ? "use" : "write"),
      {.kind = stores ? Kind::write_after_write : Kind::read_after_write, .buffer = buffer});
  return ip + 1;
}

void Machine::report_lapped(const Warp &warp, std::uint32_t site) {
  report_barrier(
      ErrorKind::deadlock, site,
      fmt::format("{} of {} waits at {} for a phase that has ended, and another phase has ended since: the "
                  "parity of the phase would make it wait for a later one",
                  warp_text(decoded, warp.index), block_text(decoded, block),
                  barrier_text(decoded.sites[site], iteration(warp, site))));
}

void Machine::report_ended(const Warp &warp, std::uint32_t site, std::uint32_t channel) {
  const Machine &other = *warp.machine;
  const Buffer &tile = decoded.tiles_to_cluster[channel];
  report_units(
      ErrorKind::in_flight, site,
      fmt::format("{} of {} arrives in {} at an event of {}, which has ended: no barrier of the cluster "
                  "keeps its shared memory, with {}, until then",
                  warp_text(decoded, warp.index), block_text(decoded, other.block),
                  barrier_text(decoded.sites[site], other.iteration(warp, site)), block_text(decoded, block),
                  tile ? tile->name : "its events"),
      {.kind = kernel::Hazard::Kind::end_after_write, .buffer = tile});
}

std::uint32_t agents_of(const DecodedKernel &decoded) {
  return decoded.warps * static_cast<std::uint32_t>(decoded.cluster);
}

Machine::Machine(const DecodedKernel &p, std::vector<GlobalBuffer> &g, Tracer *t, Observation *o,
                 Machine *first)
    : decoded(p), globals(g), tracer(t), shared(static_cast<std::size_t>(p.shared_bytes) + 8 * warp_size),
      writes(static_cast<std::size_t>(p.shadow_units) + warp_size),
      reads(writes.size() * (p.channels.empty() ? 1 : p.warps)), owners(p.shares_memory ? writes.size() : 0),
      rows(writes.size() / warp_size + 1), clock(first ? first->clock : own_clock_), channels(p, agents_of(p)),
      flights(p.copies.empty() ? 0 : agents_of(p)), calls(p.sums.empty() ? 0 : p.warps),
      stores(p.stores_boxes ? p.warps : 0), executions(p), observation(o), is_first_(!first),
      frames_(frame_stride(p) * p.warps + frame_alignment), warps_(p.warps) {
  set_frames();
}

void Machine::set_frames() {
  auto address = reinterpret_cast<std::uintptr_t>(frames_.data());
  std::byte *frame = frames_.data() + (frame_alignment - address % frame_alignment) % frame_alignment;
  for (std::uint32_t index = 0; index < decoded.warps; ++index, frame += frame_stride(decoded)) {
    Warp &w = warps_[index];
    w.frame = frame;
    w.machine = this;
    w.index = index;
    w.live = live_lanes(decoded, index);
    w.full = tracer ? 0 : w.live;
    w.seen = channels.exist() ? channels.seen_by(index) : nullptr;
    for (const FrameInit &init : decoded.inits) {
      std::size_t at = init.content.size() == init.bytes ? 0 : std::size_t{index} * init.bytes;
      std::memcpy(frame + init.reg, init.content.data() + at, init.bytes);
    }
  }
}

void Machine::reset_block() {
  auto [x, y, z] = decoded.grid;
  auto linear = static_cast<std::int64_t>(block);
  block_index = {linear % x, linear / x % y, linear / (x * y)};
  std::memset(shared.data(), poison, shared.size());
  std::fill(writes.begin(), writes.end(), 0);
  std::fill(reads.begin(), reads.end(), 0);
  std::fill(rows.begin(), rows.end(), 0);
  std::fill(owners.begin(), owners.end(), 0);
  std::ranges::fill(flights, Flights{});
  std::ranges::fill(stores, BoxStores{});
  std::ranges::fill(calls, CallQueue{});
  if (is_first_)
    clock.start(agents_of(decoded));
  const std::uint32_t first_agent = rank() * decoded.warps;
  to_cluster.clear();
  channels.start_block();
  acquired_.clear();
  for (Warp &w : warps_) {
    w.block = block;
    w.agent = first_agent + w.index;
    std::memset(w.frame + decoded.locals_begin, poison, decoded.locals_end - decoded.locals_begin);
    std::memset(w.frame + decoded.written_begin, 0, decoded.written_end - decoded.written_begin);
    w.active = w.live;
    w.state = Warp::State::ready;
    w.unfenced = w.unfenced_at_barrier = w.unfenced_by_others = 0;
    w.unfenced_reads = w.unfenced_reads_by_others = 0;
    w.pc = decoded.code.data();
    executions.add(0, w, 1);
  }
  stamp_all();
  if (tracer && is_first_)
    tracer->start_block(clock);
}

void Machine::stamp_all() {
  for (Warp &w : warps_)
    set_clock(w, clock, clock.floor() + w.agent);
}

void Machine::start_block(std::uint64_t number) {
  block = number;
  reset_block();
}

bool Machine::run_ready(bool &between) {
  // The roles that fill tiles have the last warps. They run first, so that a read without an await meets a
  // tile.
  for (std::size_t n = 0; n < warps_.size(); ++n) {
    Warp &w = warps_[channels.exist() ? warps_.size() - 1 - n : n];
    if (w.state != Warp::State::ready)
      continue;
    for (const Instr *ip = w.pc; ip;)
      ip = ip->run(ip, w);
    if (w.state == Warp::State::failed)
      return false;
    between = between || w.state == Warp::State::ready;
  }
  return true;
}

bool Machine::round() {
  bool between = false;
  return run_ready(between) && (between || release());
}

bool Machine::pass_waits() {
  bool awaits = false;
  return pass_events(awaits) || pass_role_barriers();
}

bool Machine::is_finished() const {
  return std::ranges::all_of(warps_, [](const Warp &w) { return w.state == Warp::State::finished; });
}

bool Machine::is_at_cluster_barrier() const {
  return std::ranges::all_of(warps_, [&](const Warp &w) {
    return w.state == Warp::State::waiting && w.pc == warps_.front().pc && w.pc->run == cluster_barrier;
  });
}

void Machine::pass_cluster_barrier() {
  stamp_all();
  for (Warp &w : warps_) {
    w.state = Warp::State::ready;
    w.unfenced_at_barrier = w.unfenced;
    ++w.pc;
  }
}

void Machine::run_block(std::uint64_t number) {
  start_block(number);
  while (round()) {
  }
}

void Machine::report_deadlock() {
  std::string waits;
  std::uint32_t at = 0;
  for (const Machine *machine : cluster)
    for (const Warp &w : machine->warps_) {
      if (w.state != Warp::State::waiting)
        continue;
      const auto site = static_cast<std::uint32_t>(w.pc->imm);
      waits += (waits.empty() ? "" : "; ") +
               fmt::format("{}{} waits at {}", warp_text(decoded, w.index),
                           cluster.size() > 1 ? " of " + block_text(decoded, machine->block) : "",
                           barrier_text(decoded.sites[site], iteration(w, site)));
      at = site;
    }
  report_barrier(ErrorKind::deadlock, at,
                 fmt::format("{}{} is deadlocked: {}; no warp that could go on signals these events",
                             cluster.size() > 1 ? "the cluster of " : "", block_text(decoded, block), waits));
}

bool Machine::release() {
  bool awaits = false;
  if (pass_events(awaits) || pass_role_barriers())
    return true;
  if (awaits) {
    report_deadlock();
    return false;
  }
  const Warp *first = nullptr, *other = nullptr, *finished = nullptr;
  std::string waits;
  for (const Warp &w : warps_) {
    if (w.state == Warp::State::finished) {
      finished = &w;
      continue;
    }
    auto site = static_cast<std::uint32_t>(w.pc->imm);
    if (!first)
      first = &w;
    else if (w.pc != first->pc || !same_iteration(w, *first, site))
      other = &w;
  }
  if (!first) {
    report_at_exit();
    return false;
  }
  auto wait = [&](const Warp &w) {
    auto site = static_cast<std::uint32_t>(w.pc->imm);
    return fmt::format("{} waits at {}", warp_text(decoded, w.index),
                       barrier_text(decoded.sites[site], iteration(w, site)));
  };
  auto site = static_cast<std::uint32_t>(first->pc->imm);
  if (finished && !(other && waits_in_role(*first->pc))) {
    for (const Warp &w : warps_)
      waits += (waits.empty() ? "" : "; ") +
               (w.state == Warp::State::waiting ? wait(w) : warp_text(decoded, w.index) + " has finished");
    report_barrier(ErrorKind::deadlock, site,
                   fmt::format("{} is deadlocked: {}; threads that have finished never arrive",
                               block_text(decoded, block), waits));
    return false;
  }
  if (other) {
    report_barrier(ErrorKind::divergent_barrier, site,
                   fmt::format("the warps of {} meet different barriers: {}; {}", block_text(decoded, block),
                               wait(*first), wait(*other)));
    return false;
  }
  std::uint32_t earlier = clock.floor();
  clock.block_barrier(agents_of(decoded));
  stamp_all();
  if (first->pc->run == block_arrival)
    arrive(*first->pc, decoded.arrivals[first->pc->c].order.barrier ? clock.floor() : earlier);
  for (Warp &w : warps_) {
    w.state = Warp::State::ready;
    w.unfenced_at_barrier = w.unfenced;
    ++w.pc;
  }
  return true;
}

void Machine::report_at_exit() {
  report_calls_at_exit();
  report_stores_at_exit();
  for (const Flights &left : flights)
    for (const Flight &flight : left.list)
      if (flight.access->checked)
        report_in_flight(
            {InFlight::How::at_exit, {&flight, static_cast<std::uint32_t>(std::countr_zero(flight.lanes))}});
}

void Machine::report_calls_at_exit() {
  for (std::uint32_t warp = 0; warp < calls.size(); ++warp)
    for (const CallInFlight &call : calls[warp].list)
      report_units(
          ErrorKind::in_flight, call.site,
          fmt::format("the call of {} of {} in {} is in flight at the end of the kernel: no wait of this "
                      "warp covers it",
                      warp_text(decoded, warp), block_text(decoded, block),
                      barrier_text(decoded.sites[call.site], call.iteration)),
          {.kind = kernel::Hazard::Kind::end_after_write,
           .buffer = kernel::written_by(decoded.sites[call.site].stmt)});
}

void Machine::report_stores_at_exit() {
  for (std::uint32_t warp = 0; warp < stores.size(); ++warp)
    for (const StoreInFlight &store : stores[warp].list)
      report_units(
          ErrorKind::in_flight, store.access->site,
          fmt::format("a bulk store of {} in {} still reads {} at the end of the kernel: no wait of this "
                      "warp covers it",
                      warp_text(decoded, warp), block_text(decoded, block), store.access->buffer->name),
          {.kind = kernel::Hazard::Kind::end_after_write, .buffer = store.access->buffer});
}

void Machine::arrive(const Instr &instr, std::uint32_t ordered) {
  const Arrival &arrival = decoded.arrivals[instr.c];
  GlobalBuffer &counters = globals[arrival.counters];
  std::int64_t index = reg<std::int64_t>(warps_.front(), instr.a);
  auto most = static_cast<std::uint32_t>(reg<std::int64_t>(warps_.front(), instr.b)) - 1;
  bool last = false;
  if (index < 0 || index >= counters.elements) {
    auto site = static_cast<std::uint32_t>(instr.imm);
    report_barrier(ErrorKind::out_of_bounds, site,
                   fmt::format("{} makes the {} with index {}, but there are {} counters",
                               block_text(decoded, block), barrier_text(decoded.sites[site], {}), index,
                               counters.elements));
  } else {
    counters.written[static_cast<std::size_t>(index)] = 1;
    CounterArrivals &arrivals = counters.arrivals[index];
    auto raise = [](BlockTimes &times, std::uint64_t of, std::uint32_t stamp) {
      std::uint32_t &known = times[of];
      known = std::max(known, stamp);
    };
    arrivals.made.emplace_back(block, ordered);
    if (arrival.order.fence) {
      raise(arrivals.released, block, ordered);
      for (auto [other, stamp] : acquired_)
        raise(arrivals.released, other, stamp);
    }
    std::uint32_t &counter = reinterpret_cast<std::uint32_t *>(counters.data)[index];
    last = counter == most;
    counter = counter >= most ? 0 : counter + 1;
    if (last && arrival.order.fence)
      for (auto [other, stamp] : arrivals.released)
        raise(acquired_, other, stamp);
  }
  for (const Warp &w : warps_)
    reg<std::int64_t>(w, instr.dst) = last;
}

bool Machine::same_iteration(const Warp &a, const Warp &b, std::uint32_t site) const {
  for (const Site::Iteration &loop : decoded.sites[site].loops)
    if (reg<std::int64_t>(a, loop.reg) != reg<std::int64_t>(b, loop.reg))
      return false;
  return true;
}

void Machine::report(const Warp &warp, ErrorKind kind, std::uint32_t site, std::uint32_t lane,
                     std::int64_t element, std::uint64_t other_block) {
  if (tracer)
    return;
  bool between_blocks = kind == ErrorKind::race && other_block != block;
  if (seen_.insert({kind, decoded.sites[site].source, between_blocks}).second)
    events.push_back(
        {kind, site, element, block, warp.index * warp_size + lane, iteration(warp, site), other_block, {}});
}

void Machine::report_overwritten(const Warp &warp, const Access &access, std::uint32_t lane,
                                 std::int64_t element, std::uint32_t owner) {
  if (tracer || !seen_.insert({ErrorKind::unwritten_read, decoded.sites[access.site].source, false}).second)
    return;
  Event event{ErrorKind::unwritten_read,    access.site, element, block, warp.index * warp_size + lane,
              iteration(warp, access.site), block,       {}};
  describe_overwritten(decoded, access, decoded.shared[owner]->name, event);
  events.push_back(std::move(event));
}

void Machine::report_in_flight(const InFlight &error) {
  if (tracer)
    return;
  std::uint32_t site = (error.access ? error.access : error.copy.flight->access)->site;
  bool at_exit = error.how == InFlight::How::at_exit;
  if (!seen_.insert({ErrorKind::in_flight, decoded.sites[site].source, at_exit}).second)
    return;
  Event event{ErrorKind::in_flight, site, error.element, block, error.thread, error.iteration, block, {}};
  describe_in_flight(decoded, error, event);
  events.push_back(std::move(event));
}

void Machine::note_counter_access(const Warp &warp, const Access &access, std::uint32_t lane,
                                  std::int64_t element) {
  if (tracer)
    return;
  std::size_t ordered = 0;
  for (auto [other, stamp] : globals[access.storage.slot].arrivals[element].made)
    ordered += other != block && is_acquired(other, stamp - 1);
  auto [known, fresh] = seen_counters_.try_emplace(
      {decoded.sites[access.site].source, access.storage.slot, element}, counter_accesses.size());
  if (!fresh && counter_accesses[known->second].ordered <= ordered)
    return;
  CounterAccess found{{ErrorKind::race,
                       access.site,
                       element,
                       block,
                       warp.index * warp_size + lane,
                       iteration(warp, access.site),
                       unknown_block,
                       {}},
                      access.storage.slot,
                      ordered};
  describe_counter_access(decoded, access, found.event);
  if (fresh)
    counter_accesses.push_back(std::move(found));
  else
    counter_accesses[known->second] = std::move(found);
}

void Machine::report_barrier(ErrorKind kind, std::uint32_t site, std::string message) {
  if (tracer)
    return;
  if (seen_.insert({kind, decoded.sites[site].source, false}).second)
    events.push_back({kind, site, 0, block, 0, {}, 0, std::move(message)});
}

} // namespace nestsmith::sim
