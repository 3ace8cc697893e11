#include "runtime/sim/machine.h"
#include "runtime/sim/report.h"
#include "runtime/sim/trace.h"

#include <bit>
#include <cstring>

namespace nestsmith::sim {

namespace {

using Mask = std::uint32_t;

/// One lane's access to one element.
struct Single {
  const Access &access;
  Warp &w;
  std::uint32_t lane;
  std::int64_t at;

  Machine &machine() const { return *w.machine; }
  Now now() const { return {machine().clock, w.index, w.entry >> stamp_shift, lane}; }
  void report(ErrorKind kind, std::uint64_t other_block = 0) const {
    machine().report(w, kind, access.site, lane, at, other_block);
  }
};

void check_shared(const Single &s) {
  Machine &m = s.machine();
  Now now = s.now();
  auto first = static_cast<std::size_t>(s.access.shadow_offset + s.at * s.access.units);
  for (std::size_t unit = first; unit < first + static_cast<std::size_t>(s.access.units); ++unit) {
    std::uint32_t &write = m.writes[unit], &read = m.reads[unit];
    if (write == in_flight) {
      meet_copy(s.w, s.access, s.lane, s.at, unit);
      continue;
    }
    if (!s.access.is_store && write == 0)
      s.report(ErrorKind::unwritten_read);
    else if (!s.access.is_store && s.access.overlaps && m.owners[unit] != s.access.slot)
      m.report_overwritten(s.w, s.access, s.lane, s.at, m.owners[unit]);
    if (now.conflicts(write) || (s.access.is_store && now.conflicts(read)))
      s.report(ErrorKind::race, m.block);
    if (s.access.is_store) {
      write = now.entry();
      m.rows[unit / warp_size] = 0;
      if (s.access.overlaps)
        m.owners[unit] = s.access.slot;
    } else {
      read = now.after_read(read);
    }
  }
}

/// Reports a race with the access that `entry` records. An access of another block conflicts unless arrivals
/// order it. An access of this block may conflict.
void check_global_entry(const Single &s, std::uint64_t entry) {
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

/// The same for the reads of an element. If several blocks read it, and arrivals may order them, each counts.
void check_reads(const Single &s, const GlobalBuffer &buffer, std::uint64_t entry) {
  auto each = (entry & many_blocks) != 0 ? buffer.block_reads.find(s.at) : buffer.block_reads.end();
  if (each == buffer.block_reads.end())
    return check_global_entry(s, entry);
  check_global_entry(s, entry & ~many_blocks);
  for (auto [block, read] : each->second)
    check_global_entry(s, global_entry(block, read));
}

void note_global_read(const Single &s, GlobalBuffer &buffer) {
  auto at = static_cast<std::size_t>(s.at);
  std::uint64_t block = s.machine().block;
  Now now = s.now();
  std::uint64_t old = buffer.reads[at].load(), next = 0;
  do {
    if (old == 0)
      next = global_entry(block, now.entry());
    else if (block_of(old) != block || (old & many_blocks) != 0)
      next = old | many_blocks;
    else
      next = global_entry(block, now.after_read(local_entry(old)));
  } while (!buffer.reads[at].compare_exchange_weak(old, next));
  if ((next & many_blocks) == 0 || s.machine().program.arrivals.empty())
    return;
  std::uint32_t &own = buffer.block_reads[s.at][block];
  own = now.after_read(own);
}

/// A store marks its write before it looks for reads, and a load marks its read before it looks for writes.
/// Both are sequentially consistent, so at least one of two conflicting blocks sees the other.
void check_global(const Single &s, GlobalBuffer &buffer) {
  auto at = static_cast<std::size_t>(s.at);
  if (buffer.counts_arrivals)
    s.machine().note_counter_access(s.w, s.access, s.lane, s.at);
  if (s.access.is_store) {
    if (!s.machine().flights.empty())
      overwrite_source(s.w, s.access, s.lane, s.at);
    check_global_entry(s, buffer.writes[at].exchange(global_entry(s.machine().block, s.now().entry())));
    if (!buffer.reads.empty())
      check_reads(s, buffer, buffer.reads[at].load());
    return;
  }
  note_global_read(s, buffer);
  check_global_entry(s, buffer.writes[at].load());
}

/// Checks everything except the bounds.
void check(const Single &s) {
  if (!s.access.checked && s.access.buffer->scope != Scope::global)
    return;
  Machine &m = s.machine();
  switch (s.access.buffer->scope) {
  case Scope::shared:
    check_shared(s);
    break;
  case Scope::global: {
    GlobalBuffer &buffer = m.globals[s.access.slot];
    auto at = static_cast<std::size_t>(s.at);
    if (s.access.checked && !s.access.is_store && !buffer.starts_written && buffer.written[at] == 0)
      s.report(ErrorKind::unwritten_read);
    if (!buffer.writes.empty())
      check_global(s, buffer);
    break;
  }
  case Scope::local:
  case Scope::warp: { // a kernel that runs has local buffers in place of fragments
    Mask &written = reg<Mask>(s.w, s.access.first_written + 4 * static_cast<std::uint32_t>(s.at));
    Mask mine = Mask{1} << s.lane;
    if (!s.access.is_store && (written & mine) == 0)
      s.report(ErrorKind::unwritten_read);
    return;
  }
  }
  if (m.tracer && s.access.checked)
    m.tracer->note(s.w, s.access, s.lane, s.at);
}

/// The address of the element. For a local boolean, the address of the mask that holds the elements of all
/// lanes.
std::byte *memory(const Single &s) {
  auto width = static_cast<std::int64_t>(byte_size(s.access.buffer->dtype));
  switch (s.access.buffer->scope) {
  case Scope::shared:
    return s.machine().shared.data() + s.access.byte_offset + s.at * width;
  case Scope::global:
    return s.machine().globals[s.access.slot].data + s.at * width;
  case Scope::local:
  case Scope::warp:
    break;
  }
  std::byte *element = s.w.frame + s.access.first + s.access.stride * static_cast<std::uint32_t>(s.at);
  return s.access.buffer->dtype == DType::boolean ? element : element + s.lane * width;
}

void set_bit(Mask &mask, std::uint32_t lane, bool value) {
  mask = value ? mask | Mask{1} << lane : mask & ~(Mask{1} << lane);
}

std::uint64_t load_element(const Single &s) {
  DType dtype = s.access.buffer->dtype;
  std::uint64_t bits = 0;
  if (dtype == DType::boolean && s.access.buffer->scope == Scope::local) {
    Mask mask = 0;
    std::memcpy(&mask, memory(s), sizeof(mask));
    return mask >> s.lane & 1;
  }
  std::memcpy(&bits, memory(s), static_cast<std::size_t>(byte_size(dtype)));
  return dtype == DType::boolean ? bits != 0 : bits;
}

void store_element(const Single &s, std::uint64_t bits) {
  DType dtype = s.access.buffer->dtype;
  if (s.access.buffer->scope == Scope::local) {
    reg<Mask>(s.w, s.access.first_written + 4 * static_cast<std::uint32_t>(s.at)) |= Mask{1} << s.lane;
    if (dtype == DType::boolean) {
      set_bit(reg<Mask>(s.w, static_cast<std::uint32_t>(memory(s) - s.w.frame)), s.lane, bits != 0);
      return;
    }
  }
  std::memcpy(memory(s), &bits, static_cast<std::size_t>(byte_size(dtype)));
  if (s.access.buffer->scope == Scope::global)
    s.machine().globals[s.access.slot].written[static_cast<std::size_t>(s.at)] = 1;
}

/// The bits of one lane of a register.
std::uint64_t get_lane(const Warp &w, DType dtype, std::uint32_t offset, bool uniform, std::uint32_t lane) {
  if (uniform)
    return reg<std::uint64_t>(w, offset);
  if (dtype == DType::boolean)
    return reg<Mask>(w, offset) >> lane & 1;
  std::uint64_t bits = 0;
  auto width = static_cast<std::size_t>(byte_size(dtype));
  std::memcpy(&bits, w.frame + offset + lane * width, width);
  return bits;
}

void set_lane(const Warp &w, DType dtype, std::uint32_t offset, std::uint32_t lane, std::uint64_t bits) {
  if (dtype == DType::boolean)
    set_bit(reg<Mask>(w, offset), lane, bits != 0);
  else
    std::memcpy(w.frame + offset + lane * static_cast<std::size_t>(byte_size(dtype)), &bits,
                static_cast<std::size_t>(byte_size(dtype)));
}

void count(const Access &access, Machine &m, Mask mask) {
  auto threads = static_cast<std::uint64_t>(std::popcount(mask));
  if (access.buffer->scope == Scope::global)
    (access.is_store ? m.masked.stores_global : m.masked.loads_global) += threads;
  else if (access.buffer->scope == Scope::shared)
    (access.is_store ? m.masked.stores_shared : m.masked.loads_shared) += threads;
}

bool in_bounds(const Single &s) {
  if (s.at >= 0 && s.at < s.access.elements)
    return true;
  s.report(ErrorKind::out_of_bounds);
  return false;
}

/// The bits as a uniform register holds them: signed integers are sign-extended.
std::uint64_t sign_extended(DType dtype, std::uint64_t bits) {
  if (dtype == DType::i8)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(bits)));
  if (dtype == DType::i32)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
  return bits;
}

} // namespace

std::int64_t address(const Access &access, const Warp &w, std::uint32_t lane) {
  std::int64_t at = reg<std::int64_t>(w, access.base) + access.constant;
  if (access.kind == AddressKind::pattern)
    at += access.patterns[w.index].offset[lane];
  else if (access.kind == AddressKind::lanes)
    at += access.lanes_wide ? lanes<std::int64_t>(w, access.lanes)[lane]
                            : lanes<std::int32_t>(w, access.lanes)[lane];
  return access.wraps ? static_cast<std::int32_t>(at) : at;
}

const Instr *check_aligned(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  // Buffers start at multiples of 16 bytes, except in the arena of shared memory.
  std::int64_t width = access.vector_lanes, shift = access.byte_offset / byte_size(access.buffer->dtype);
  std::int64_t base = reg<std::int64_t>(w, access.base) + access.constant + shift;
  if (access.lanes_aligned && base % width == 0)
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

void read_until_now(Warp &w, const Access &source, std::uint32_t lane, std::int64_t element,
                    const std::vector<std::int64_t> &iteration) {
  Machine &m = *w.machine;
  GlobalBuffer &buffer = m.globals[source.slot];
  if (!source.checked || element >= source.elements)
    return;
  if (!buffer.reads.empty())
    note_global_read({source, w, lane, element}, buffer);
  if (m.tracer)
    m.tracer->note(w, source, lane, element, &iteration);
}

/// Elements that nothing has written, or that are in flight, are errors of the lane that supplies the address.
const Instr *receive_rows(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  Machine &m = *w.machine;
  const Receivers &receivers = m.program.receivers[static_cast<std::size_t>(ip->imm)];
  Mask mask = w.active & reg<Mask>(w, access.mask);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    std::int64_t at = address(access, w, lane);
    if ((mask >> lane & 1) == 0 || at < 0 || at >= access.elements)
      continue;
    auto first = static_cast<std::size_t>(access.shadow_offset + at * access.units);
    for (Mask others = receivers[lane] & ~(Mask{1} << lane); others != 0; others &= others - 1) {
      Single s{access, w, static_cast<std::uint32_t>(std::countr_zero(others)), at};
      Now now = s.now();
      for (std::size_t unit = first; unit < first + static_cast<std::size_t>(access.units); ++unit) {
        std::uint32_t write = m.writes[unit];
        if (write == 0 || write == in_flight)
          continue;
        if (now.conflicts(write))
          s.report(ErrorKind::race, m.block);
        m.reads[unit] = now.after_read(m.reads[unit]);
      }
      if (m.tracer && m.writes[first] != 0 && m.writes[first] != in_flight)
        m.tracer->note(w, access, s.lane, at);
    }
  }
  return ip + 1;
}

const Instr *check_replicas(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  const ElementCopies &copies = m.program.replicas[static_cast<std::size_t>(ip->imm)];
  if (copies.written != 0 && (copies.lanes & ~reg<Mask>(w, copies.written)) != 0)
    return ip + 1; // an unwritten read
  auto width = static_cast<std::size_t>(byte_size(copies.access->buffer->dtype));
  for (std::uint32_t at : copies.at)
    if (std::memcmp(w.frame + copies.at.front(), w.frame + at, width) != 0) {
      std::uint32_t site = copies.access->site;
      m.report_barrier(ErrorKind::replicas_differ, site, replicas_text(m, w, *copies.access, copies.lanes));
      break;
    }
  return ip + 1;
}

const Instr *check_apart(const Instr *ip, Warp &w) {
  Machine &m = *w.machine;
  const SharedRegisters &both = m.program.shared_registers[static_cast<std::size_t>(ip->imm)];
  for (Mask left = w.active; left != 0; left &= left - 1) {
    auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    std::int64_t distance = address(*both.operand, w, lane) - address(*both.result, w, lane);
    if (distance >= both.results || distance <= -both.operands)
      continue;
    m.report_barrier(ErrorKind::operands_overlap, both.operand->site, overlap_text(m, w, both, lane));
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
  std::uint64_t last = get_lane(w, dtype, access.fill, access.fill_uniform, 0);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    std::uint64_t bits = 0;
    if (mask >> lane & 1) {
      Single s{access, w, lane, address(access, w, lane)};
      if (in_bounds(s)) {
        check(s);
        bits = load_element(s);
      }
      last = bits;
    } else {
      bits = get_lane(w, dtype, access.fill, access.fill_uniform, lane);
    }
    if (!access.value_uniform)
      set_lane(w, dtype, access.value, lane, bits);
  }
  if (access.value_uniform)
    reg<std::uint64_t>(w, access.value) = sign_extended(dtype, last);
  return ip + 1;
}

const Instr *slow_store(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    if (!(w.active >> lane & 1))
      continue;
    Single s{access, w, lane, address(access, w, lane)};
    if (!in_bounds(s))
      continue;
    check(s);
    store_element(s, get_lane(w, access.buffer->dtype, access.value, access.value_uniform, lane));
  }
  return ip + 1;
}

} // namespace nestsmith::sim
