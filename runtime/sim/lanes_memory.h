// Part of lanes_impl.h: the fast paths of loads and stores. What they cannot do goes to slow_load and
// slow_store, lane by lane.

/// Records a read by one lane, or by several where `many`. False: the slow path must look.
NESTSMITH_LANES bool note_read(Machine &m, const Warp &w, std::int64_t unit, std::uint32_t lane, bool many) {
  std::uint32_t write = m.writes[static_cast<std::size_t>(unit)];
  if (write == 0 || write >= w.floor_entry)
    return false;
  std::uint32_t &read = m.reads[static_cast<std::size_t>(unit)];
  std::uint32_t mine = (w.entry + lane) | (many ? many_lanes : 0);
  if (read < w.floor_entry) {
    read = mine;
  } else if (read != mine && !(read & many_warps)) {
    Now now{m.clock, w.index, w.entry >> stamp_shift, lane};
    read = now.after_read(read);
    if (many && !(read & many_warps))
      read |= many_lanes;
  }
  return true;
}

/// The same for 32 elements side by side, one for each lane.
NESTSMITH_LANES bool note_contiguous_read(Machine &m, const Warp &w, std::int64_t unit) {
  // What a row's note says stays true until a store to it or a block barrier: most reads end here.
  std::uint32_t &row = m.rows[static_cast<std::size_t>(unit) / warp_size];
  bool aligned = unit % warp_size == 0;
  if (aligned && (row == w.entry || row == (w.floor_entry | many_warps)))
    return true;
  const auto *writes = reinterpret_cast<const std::int32_t *>(m.writes.data()) + unit;
  auto *reads = reinterpret_cast<std::int32_t *>(m.reads.data()) + unit;
  const auto floor = static_cast<std::int32_t>(w.floor_entry), mine = static_cast<std::int32_t>(w.entry);
  const auto many = static_cast<std::int32_t>(many_warps);
  alignas(64) std::int32_t next[warp_size];
  std::int32_t unordered = 0, others = 0, few = 0;
  NESTSMITH_EACH_LANE(l) {
    std::int32_t write = writes[l], read = reads[l];
    unordered |= (write <= 0) | (write >= floor);
    bool stale = read < floor;
    others |= !stale & (read != mine + static_cast<std::int32_t>(l)) & ((read & many) == 0);
    next[l] = stale ? mine + static_cast<std::int32_t>(l) : read;
    few |= stale | ((read & many) == 0);
  }
  if (unordered) [[unlikely]]
    return false;
  move<sizeof(next)>(reads, next);
  if (others) [[unlikely]] {
    few = 0;
    for (std::uint32_t l = 0; l < warp_size; ++l) {
      auto read = static_cast<std::uint32_t>(reads[l]);
      read = Now{m.clock, w.index, w.entry >> stamp_shift, l}.after_read(read);
      reads[l] = static_cast<std::int32_t>(read);
      few |= (read & many_warps) == 0;
    }
  }
  if (aligned && (!few || !others))
    row = few ? w.entry : w.floor_entry | many_warps;
  return true;
}

NESTSMITH_LANES std::int64_t uniform_address(const Access &access, const Warp &w) {
  std::int64_t address = reg<Uniform>(w, access.base) + access.constant;
  return access.wraps ? static_cast<std::int32_t>(address) : address;
}

template <DType dtype> struct Lane;
template <> struct Lane<DType::i32> { using type = std::int32_t; };
template <> struct Lane<DType::i64> { using type = std::int64_t; };
template <> struct Lane<DType::u32> { using type = std::uint32_t; };
template <> struct Lane<DType::f32> { using type = float; };
template <DType dtype> using LaneType = typename Lane<dtype>::type;

template <bool shared> NESTSMITH_LANES const std::byte *memory(const Access &access, const Warp &w) {
  if constexpr (shared)
    return w.machine->shared.data() + access.byte_offset;
  else
    return w.machine->globals[access.slot].data;
}

/// One element for the whole warp.
template <DType dtype, bool shared, bool checked>
NESTSMITH_LANES const Instr *load_uniform(const Instr *ip, Warp &w) {
  using T = LaneType<dtype>;
  const Access &access = *ip->access;
  Mask mask = w.active & reg<Mask>(w, access.mask);
  std::int64_t at = uniform_address(access, w);
  if (w.full == 0 || mask == 0 || at < 0 || at >= access.elements) [[unlikely]]
    return slow_load(ip, w);
  if constexpr (shared && checked)
    if (!note_read(*w.machine, w, access.shadow_offset + at, static_cast<std::uint32_t>(std::countr_zero(mask)),
                   (mask & (mask - 1)) != 0)) [[unlikely]]
      return slow_load(ip, w);
  if (access.counted)
    (shared ? w.machine->masked.loads_shared : w.machine->masked.loads_global) +=
        static_cast<std::uint64_t>(std::popcount(mask));
  T value;
  std::memcpy(&value, memory<shared>(access, w) + at * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  set_scalar<T>(w, access.value, value);
  return ip + 1;
}

/// Addresses that are a uniform part plus a pattern of the thread, by all live lanes.
template <class T, bool shared, bool checked>
NESTSMITH_LANES const Instr *load_pattern(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  const Pattern &pattern = access.patterns[w.index];
  std::int64_t base = reg<Uniform>(w, access.base) + access.constant;
  Mask mask = w.active & reg<Mask>(w, access.mask);
  if (mask != w.full || base + pattern.low < 0 || base + pattern.high >= access.elements) [[unlikely]]
    return slow_load(ip, w);
  if constexpr (shared && checked) {
    std::int64_t unit = access.shadow_offset + base;
    if (pattern.contiguous) {
      if (!note_contiguous_read(*w.machine, w, unit + pattern.offset[0])) [[unlikely]]
        return slow_load(ip, w);
    } else {
      for (int g = 0; g < pattern.groups; ++g) {
        std::uint32_t lane = pattern.lane[static_cast<std::size_t>(g)];
        if (!note_read(*w.machine, w, unit + pattern.offset[lane], lane,
                       pattern.shared_by_many[static_cast<std::size_t>(g)])) [[unlikely]]
          return slow_load(ip, w);
      }
    }
  }
  if (access.counted)
    (shared ? w.machine->masked.loads_shared : w.machine->masked.loads_global) +=
        static_cast<std::uint64_t>(std::popcount(mask));
  const T *src = reinterpret_cast<const T *>(memory<shared>(access, w)) + base;
  T *dst = lanes<T>(w, access.value);
  if (pattern.contiguous)
    move<warp_size * sizeof(T)>(dst, src + pattern.offset[0]);
  else
    NESTSMITH_EACH_LANE(l)
  dst[l] = src[pattern.offset[l]];
  return ip + 1;
}

/// Distinct elements of shared memory, by all live lanes.
template <class T, bool checked> NESTSMITH_LANES const Instr *store_shared(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  const Pattern &pattern = access.patterns[w.index];
  Machine &m = *w.machine;
  std::int64_t base = reg<Uniform>(w, access.base) + access.constant;
  if (w.active != w.full || w.full != ~Mask{0} || !pattern.distinct || base + pattern.low < 0 ||
      base + pattern.high >= access.elements) [[unlikely]]
    return slow_store(ip, w);
  if constexpr (checked) {
    std::uint32_t *writes = m.writes.data() + access.shadow_offset + base;
    const std::uint32_t *reads = m.reads.data() + access.shadow_offset + base;
    std::uint32_t last = 0;
    NESTSMITH_EACH_LANE(l)
    last = std::max(last, std::max(writes[pattern.offset[l]], reads[pattern.offset[l]]));
    if (last >= w.floor_entry) [[unlikely]]
      return slow_store(ip, w);
    NESTSMITH_EACH_LANE(l)
    writes[pattern.offset[l]] = w.entry + static_cast<std::uint32_t>(l);
    m.forget_rows(access.shadow_offset + base + pattern.low, access.shadow_offset + base + pattern.high);
  }
  T *dst = reinterpret_cast<T *>(m.shared.data() + access.byte_offset) + base;
  const T *src = lanes<T>(w, access.value);
  if (pattern.contiguous)
    move<warp_size * sizeof(T)>(dst + pattern.offset[0], src);
  else
    NESTSMITH_EACH_LANE(l)
  dst[pattern.offset[l]] = src[l];
  return ip + 1;
}

/// Global memory without a shadow to look at.
template <class T> NESTSMITH_LANES const Instr *store_global(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  const Pattern &pattern = access.patterns[w.index];
  GlobalBuffer &buffer = w.machine->globals[access.slot];
  std::int64_t base = reg<Uniform>(w, access.base) + access.constant;
  if (w.active != w.full || !pattern.contiguous || base + pattern.low < 0 ||
      base + pattern.high >= access.elements) [[unlikely]]
    return slow_store(ip, w);
  base += pattern.offset[0];
  move<warp_size * sizeof(T)>(buffer.data + base * static_cast<std::int64_t>(sizeof(T)),
                              lanes<T>(w, access.value));
  std::memset(buffer.written.data() + base, 1, warp_size);
  return ip + 1;
}

/// Registers: an element that all lanes name alike.
template <class T> NESTSMITH_LANES const Instr *store_local(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  std::int64_t at = uniform_address(access, w);
  if (at < 0 || at >= access.elements) [[unlikely]]
    return slow_store(ip, w);
  auto element = static_cast<std::uint32_t>(at);
  reg<Mask>(w, access.first_written + 4 * element) |= w.active;
  T *dst = lanes<T>(w, access.first + access.stride * element);
  if (access.value_uniform) {
    T value = scalar<T>(w, access.value);
    NESTSMITH_EACH_LANE(l)
    dst[l] = (w.active >> l & 1) ? value : dst[l];
  } else if (w.active == w.live) {
    move<warp_size * sizeof(T)>(dst, lanes<T>(w, access.value));
  } else {
    const T *src = lanes<T>(w, access.value);
    NESTSMITH_EACH_LANE(l)
    dst[l] = (w.active >> l & 1) ? src[l] : dst[l];
  }
  return ip + 1;
}

NESTSMITH_LANES bool all_written(const Access &access, const Warp &w, std::uint32_t element, Mask mask) {
  return !access.checked || (mask & ~reg<Mask>(w, access.first_written + 4 * element)) == 0;
}

template <class T> NESTSMITH_LANES const Instr *load_local(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  std::int64_t at = uniform_address(access, w);
  Mask mask = w.active & reg<Mask>(w, access.mask);
  if (mask != w.active || at < 0 || at >= access.elements ||
      !all_written(access, w, static_cast<std::uint32_t>(at), mask)) [[unlikely]]
    return slow_load(ip, w);
  move<warp_size * sizeof(T)>(w.frame + access.value,
                              w.frame + access.first + access.stride * static_cast<std::uint32_t>(at));
  return ip + 1;
}

NESTSMITH_LANES const Instr *check_written(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  auto element = static_cast<std::uint32_t>(access.constant);
  if (!all_written(access, w, element, w.active)) [[unlikely]] {
    Mask missing = w.active & ~reg<Mask>(w, access.first_written + 4 * element);
    w.machine->report(w, ErrorKind::unwritten_read, access.site,
                      static_cast<std::uint32_t>(std::countr_zero(missing)), access.constant);
  }
  return ip + 1;
}

NESTSMITH_LANES const Instr *mark_written(const Instr *ip, Warp &w) {
  const Access &access = *ip->access;
  reg<Mask>(w, access.first_written + 4 * static_cast<std::uint32_t>(access.constant)) |= w.active;
  return ip + 1;
}
