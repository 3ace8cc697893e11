#include "runtime/sim/memory.h"

#include "dsl/expr/numbers.h"
#include "runtime/sim/access_checks.h"
#include "runtime/sim/report.h"

#include <bit>
#include <cstring>

namespace nestsmith::sim {

namespace {

using Mask = std::uint32_t;

/// The element, in shared or global memory.
std::byte *memory(const LaneAccess &s) {
  const Storage &storage = s.access.storage;
  std::int64_t byte = s.at * byte_size(s.access.buffer->dtype);
  if (s.access.buffer->scope == Scope::shared)
    return s.machine().shared.data() + storage.shared().byte_offset + byte;
  return s.machine().globals[storage.slot].data + byte;
}

std::uint64_t load_element(const LaneAccess &s) {
  DType dtype = s.access.buffer->dtype;
  if (s.access.buffer->scope == Scope::local)
    return get_lane(s.w, dtype, {.at = s.access.storage.local().element(s.at)}, s.lane);
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory(s), static_cast<std::size_t>(byte_size(dtype)));
  return dtype == DType::boolean ? bits != 0 : bits;
}

void store_element(const LaneAccess &s, std::uint64_t bits) {
  DType dtype = s.access.buffer->dtype;
  if (s.access.buffer->scope == Scope::local) {
    const LocalStorage &local = s.access.storage.local();
    reg<Mask>(s.w, local.written(s.at)) |= Mask{1} << s.lane;
    set_lane(s.w, dtype, local.element(s.at), s.lane, bits);
    return;
  }
  std::memcpy(memory(s), &bits, static_cast<std::size_t>(byte_size(dtype)));
  if (s.access.buffer->scope == Scope::global)
    s.machine().globals[s.access.storage.slot].written[static_cast<std::size_t>(s.at)] = 1;
}

void count(const Access &access, Machine &m, Mask mask) {
  auto threads = static_cast<std::uint64_t>(std::popcount(mask));
  if (access.buffer->scope == Scope::global)
    (access.is_store ? m.masked.stores_global : m.masked.loads_global) += threads;
  else if (access.buffer->scope == Scope::shared)
    (access.is_store ? m.masked.stores_shared : m.masked.loads_shared) += threads;
}

} // namespace

const Instr *check_aligned(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  // Buffers start at multiples of 16 bytes, except in the arena of shared memory.
  std::int64_t width = access.vector.lanes,
               shift = access.storage.byte_offset() / byte_size(access.buffer->dtype);
  std::int64_t base = reg<std::int64_t>(w, access.address.base) + access.address.constant + shift;
  if (access.vector.aligned && base % width == 0)
    return ip + 1;
  Mask mask = w.active & reg<Mask>(w, access.mask);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    std::int64_t at = address(access, w, lane);
    if ((at + shift) % width != 0)
      w.machine->report(w, ErrorKind::misaligned, access.site, lane, at);
  }
  return ip + 1;
}

/// Elements that nothing has written, or that are in flight, are errors of the lane that supplies the address.
const Instr *receive_rows(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  Machine &m = *w.machine;
  const Receivers &receivers = m.decoded.receivers[static_cast<std::size_t>(ip->imm)];
  Mask mask = w.active & reg<Mask>(w, access.mask);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    std::int64_t at = address(access, w, lane);
    if ((mask >> lane & 1) == 0 || at < 0 || at >= access.storage.elements)
      continue;
    std::size_t first = access.storage.shared().unit(at);
    for (Mask others = receivers[lane] & ~(Mask{1} << lane); others != 0; others &= others - 1) {
      LaneAccess s{access, w, static_cast<std::uint32_t>(std::countr_zero(others)), at};
      Now now = s.now();
      for (std::size_t unit = first; unit < first + static_cast<std::size_t>(access.storage.shared().units);
           ++unit) {
        std::uint32_t write = m.writes[unit];
        if (write == 0 || write == in_flight)
          continue;
        if (now.conflicts(write))
          s.report(ErrorKind::race, m.block);
        std::uint32_t &last = m.read_by(w.index, unit);
        last = now.after_read(last);
      }
      if (m.tracer && m.writes[first] != 0 && m.writes[first] != in_flight)
        m.tracer->note(w, access, s.lane, at);
    }
  }
  return ip + 1;
}

const Instr *store_rows(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  Machine &m = *w.machine;
  const Receivers &holders = m.decoded.receivers[static_cast<std::size_t>(ip->imm)];
  const Mask mask = w.active & reg<Mask>(w, access.mask);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    const std::int64_t at = address(access, w, lane);
    Mask others = holders[lane] & ~(Mask{1} << lane);
    if ((mask >> lane & 1) == 0 || others == 0 || at < 0 || at >= access.storage.elements)
      continue;
    const std::size_t first = access.storage.shared().unit(at);
    for (std::size_t unit = first; unit < first + static_cast<std::size_t>(access.storage.shared().units);
         ++unit)
      if (std::uint32_t &write = m.writes[unit]; write != in_flight)
        write |= many_lanes;
    for (; m.tracer && others != 0; others &= others - 1)
      m.tracer->note(w, access, static_cast<std::uint32_t>(std::countr_zero(others)), at);
  }
  return ip + 1;
}

const Instr *check_replicas(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  const ElementCopies &copies = m.decoded.replicas[static_cast<std::size_t>(ip->imm)];
  if (copies.written != 0 && (copies.lanes & ~reg<Mask>(w, copies.written)) != 0)
    return ip + 1; // an unwritten read
  auto width = static_cast<std::size_t>(byte_size(copies.access->buffer->dtype));
  for (std::uint32_t at : copies.at)
    if (std::memcmp(w.frame + copies.at.front(), w.frame + at, width) != 0) {
      std::uint32_t site = copies.access->site;
      m.report_barrier(ErrorKind::replicas_differ, site,
                       replicas_text(m.decoded, m.block, w, *copies.access, copies.lanes));
      break;
    }
  return ip + 1;
}

const Instr *check_apart(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  const SharedRegisters &both = m.decoded.shared_registers[static_cast<std::size_t>(ip->imm)];
  for (Mask left = w.active; left != 0; left &= left - 1) {
    auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    std::int64_t distance = address(*both.operand, w, lane) - address(*both.result, w, lane);
    if (distance >= both.results || distance <= -both.operands)
      continue;
    m.report_barrier(ErrorKind::operands_overlap, both.operand->site,
                     overlap_text(m.decoded, m.block, w, both, lane));
    break;
  }
  return ip + 1;
}

const Instr *slow_load(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  DType dtype = access.buffer->dtype;
  Mask mask = w.active & reg<Mask>(w, access.mask);
  if (access.counted)
    count(access, *w.machine, mask);
  std::uint64_t last = get_lane(w, dtype, access.fill, 0);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    std::uint64_t bits = 0;
    if (mask >> lane & 1) {
      LaneAccess s{access, w, lane, address(access, w, lane)};
      if (in_bounds(s)) {
        check_element(s);
        bits = load_element(s);
      }
      last = bits;
    } else {
      bits = get_lane(w, dtype, access.fill, lane);
    }
    if (!access.value.uniform)
      set_lane(w, dtype, access.value.at, lane, bits);
  }
  if (access.value.uniform)
    reg<std::uint64_t>(w, access.value.at) =
        static_cast<std::uint64_t>(wrapped(dtype, static_cast<std::int64_t>(last)));
  return ip + 1;
}

const Instr *slow_store(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    LaneAccess s{access, w, lane, address(access, w, lane)};
    if (!in_bounds(s))
      continue;
    check_element(s);
    store_element(s, get_lane(w, access.buffer->dtype, access.value, lane));
  }
  return ip + 1;
}

const Instr *update(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  const Instr *combine = ip + 1;
  DType dtype = access.buffer->dtype;
  auto set = [&](std::uint32_t at, std::uint64_t bits) {
    reg<std::uint64_t>(w, at) = static_cast<std::uint64_t>(wrapped(dtype, static_cast<std::int64_t>(bits)));
  };
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    LaneAccess s{access, w, lane, address(access, w, lane)};
    if (!in_bounds(s))
      continue;
    check_element(s);
    set(combine->a, load_element(s));
    set(combine->b, get_lane(w, dtype, access.value, lane));
    combine->run(combine, w);
    store_element(s, reg<std::uint64_t>(w, combine->dst));
  }
  return ip + 2;
}

} // namespace nestsmith::sim
