// The bodies of the handlers. Included once for each instruction set, which NESTSMITH_LANES names as a
// function attribute and NESTSMITH_LANES_TABLE as a table. No include guard, and no lambdas: a lambda
// does not inherit the attribute.

#include "dsl/ops.h"
#include "runtime/sim/convert.h"
#include "runtime/sim/lanes.h"
#include "runtime/sim/machine.h"

#include <bit>
#include <cstring>

/// A loop over the lanes whose iterations touch no common memory: registers overlap wholly or not at all.
#undef NESTSMITH_EACH_LANE
#if defined(__clang__)
#define NESTSMITH_EACH_LANE(l)                                                                                 \
  _Pragma("clang loop vectorize(assume_safety)") for (std::size_t l = 0; l < std::size_t{warp_size}; ++l)
#else
#define NESTSMITH_EACH_LANE(l) _Pragma("GCC ivdep") for (std::size_t l = 0; l < std::size_t{warp_size}; ++l)
#endif

namespace nestsmith::sim {
namespace {

using Mask = std::uint32_t;
using Uniform = std::int64_t;

template <class T> NESTSMITH_LANES T scalar(const Warp &w, std::uint32_t offset) { return reg<T>(w, offset); }

/// Sets a uniform register: i32 sign-extended, the other types zero-extended.
template <class T> NESTSMITH_LANES void set_scalar(const Warp &w, std::uint32_t offset, T value) {
  if constexpr (std::is_same_v<T, float>) {
    reg<std::uint64_t>(w, offset) = std::bit_cast<std::uint32_t>(value);
  } else {
    reg<Uniform>(w, offset) = static_cast<Uniform>(value);
  }
}

NESTSMITH_LANES Mask pack(const std::int32_t *bits) {
  Mask mask = 0;
  NESTSMITH_EACH_LANE(l)
  mask |= static_cast<Mask>(bits[l]) << l;
  return mask;
}

/// A copy in pieces of 32 bytes. The narrower pieces of memcpy would keep the next handler, which loads 32
/// bytes at once, waiting for the stores to reach the cache.
template <std::size_t bytes> NESTSMITH_LANES void move(void *to, const void *from) {
  typedef std::uint32_t Piece __attribute__((vector_size(32), aligned(4), may_alias)); // at any element
  static_assert(bytes % 128 == 0);
  Piece *dst = static_cast<Piece *>(to); // `auto` would drop the alignment
  const Piece *src = static_cast<const Piece *>(from);
  for (std::size_t n = 0; n < bytes / sizeof(Piece); n += 4) {
    Piece a = src[n], b = src[n + 1], c = src[n + 2], d = src[n + 3];
    dst[n] = a;
    dst[n + 1] = b;
    dst[n + 2] = c;
    dst[n + 3] = d;
  }
}

// ---- arithmetic ----------------------------------------------------------------------------------

template <BinaryOp op, class T, bool uniform> NESTSMITH_LANES const Instr *binary(const Instr *ip, Warp &w) {
  if constexpr (uniform) {
    T a = scalar<T>(w, ip->a), b = scalar<T>(w, ip->b);
    if constexpr (is_comparison(op))
      reg<Uniform>(w, ip->dst) = compare<op>(a, b);
    else
      set_scalar<T>(w, ip->dst, arithmetic<op>(a, b));
  } else {
    const T *a = lanes<T>(w, ip->a), *b = lanes<T>(w, ip->b);
    if constexpr (is_comparison(op)) {
      alignas(64) std::int32_t bits[warp_size];
      NESTSMITH_EACH_LANE(l)
      bits[l] = compare<op>(a[l], b[l]);
      reg<Mask>(w, ip->dst) = pack(bits);
    } else {
      T *dst = lanes<T>(w, ip->dst);
      NESTSMITH_EACH_LANE(l)
      dst[l] = arithmetic<op>(a[l], b[l]);
    }
  }
  return ip + 1;
}

template <BinaryOp op, bool uniform> NESTSMITH_LANES const Instr *logical(const Instr *ip, Warp &w) {
  using T = std::conditional_t<uniform, Uniform, Mask>;
  T a = reg<T>(w, ip->a), b = reg<T>(w, ip->b), all = uniform ? T{1} : static_cast<T>(~T{0});
  T result = 0;
  if constexpr (op == BinaryOp::logical_and)
    result = a & b;
  else if constexpr (op == BinaryOp::logical_or)
    result = a | b;
  else if constexpr (op == BinaryOp::ne)
    result = a ^ b;
  else
    result = (a ^ b) ^ all;
  reg<T>(w, ip->dst) = result;
  return ip + 1;
}

template <bool uniform> NESTSMITH_LANES const Instr *complement(const Instr *ip, Warp &w) {
  if constexpr (uniform)
    reg<Uniform>(w, ip->dst) = reg<Uniform>(w, ip->a) ^ 1;
  else
    reg<Mask>(w, ip->dst) = ~reg<Mask>(w, ip->a);
  return ip + 1;
}

template <class T> NESTSMITH_LANES const Instr *select_lanes(const Instr *ip, Warp &w) {
  Mask mask = reg<Mask>(w, ip->a);
  const T *b = lanes<T>(w, ip->b), *c = lanes<T>(w, ip->c);
  T *dst = lanes<T>(w, ip->dst);
  NESTSMITH_EACH_LANE(l)
  dst[l] = (mask >> l & 1) ? b[l] : c[l];
  return ip + 1;
}

NESTSMITH_LANES const Instr *select_mask(const Instr *ip, Warp &w) {
  Mask mask = reg<Mask>(w, ip->a);
  reg<Mask>(w, ip->dst) = (reg<Mask>(w, ip->b) & mask) | (reg<Mask>(w, ip->c) & ~mask);
  return ip + 1;
}

NESTSMITH_LANES const Instr *select_uniform(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) = reg<Uniform>(w, reg<Uniform>(w, ip->a) ? ip->b : ip->c);
  return ip + 1;
}

/// `bool` stands for masks.
template <class To, class From, bool uniform> NESTSMITH_LANES const Instr *cast(const Instr *ip, Warp &w) {
  if constexpr (uniform && std::is_same_v<To, bool>) {
    reg<Uniform>(w, ip->dst) = scalar<From>(w, ip->a) != From{};
  } else if constexpr (uniform && std::is_same_v<From, bool>) {
    set_scalar<To>(w, ip->dst, convert<To>(reg<Uniform>(w, ip->a)));
  } else if constexpr (uniform) {
    set_scalar<To>(w, ip->dst, convert<To>(scalar<From>(w, ip->a)));
  } else if constexpr (std::is_same_v<To, bool>) {
    const From *a = lanes<From>(w, ip->a);
    alignas(64) std::int32_t bits[warp_size];
    NESTSMITH_EACH_LANE(l)
    bits[l] = a[l] != From{};
    reg<Mask>(w, ip->dst) = pack(bits);
  } else if constexpr (std::is_same_v<From, bool>) {
    Mask mask = reg<Mask>(w, ip->a);
    To *dst = lanes<To>(w, ip->dst);
    NESTSMITH_EACH_LANE(l)
    dst[l] = static_cast<To>(mask >> l & 1);
  } else {
    const From *a = lanes<From>(w, ip->a);
    To *dst = lanes<To>(w, ip->dst);
    NESTSMITH_EACH_LANE(l)
    dst[l] = convert<To>(a[l]);
  }
  return ip + 1;
}

template <class T> NESTSMITH_LANES const Instr *splat(const Instr *ip, Warp &w) {
  T value = scalar<T>(w, ip->a);
  T *dst = lanes<T>(w, ip->dst);
  NESTSMITH_EACH_LANE(l)
  dst[l] = value;
  return ip + 1;
}

NESTSMITH_LANES const Instr *splat_mask(const Instr *ip, Warp &w) {
  reg<Mask>(w, ip->dst) = reg<Uniform>(w, ip->a) ? ~Mask{0} : 0;
  return ip + 1;
}

template <std::size_t bytes> NESTSMITH_LANES const Instr *copy(const Instr *ip, Warp &w) {
  if constexpr (bytes % 128 == 0)
    move<bytes>(w.frame + ip->dst, w.frame + ip->a);
  else
    std::memcpy(w.frame + ip->dst, w.frame + ip->a, bytes);
  return ip + 1;
}

template <class T, bool a_uniform> NESTSMITH_LANES const Instr *multiply_add(const Instr *ip, Warp &w) {
  T *dst = lanes<T>(w, ip->dst);
  const T *b = lanes<T>(w, ip->b), *c = lanes<T>(w, ip->c);
  if constexpr (a_uniform) {
    T a = scalar<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = c[l] + a * b[l];
  } else {
    const T *a = lanes<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = c[l] + a[l] * b[l];
  }
  return ip + 1;
}

template <class T, bool a_uniform> NESTSMITH_LANES const Instr *accumulate(const Instr *ip, Warp &w) {
  T *dst = lanes<T>(w, ip->dst);
  const T *b = lanes<T>(w, ip->b);
  if (w.active != w.live) [[unlikely]] {
    const T *a = &reg<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    if (w.active >> l & 1)
      dst[l] = dst[l] + a[a_uniform ? 0 : l] * b[l];
  } else if constexpr (a_uniform) {
    T a = scalar<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = dst[l] + a * b[l];
  } else {
    const T *a = lanes<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = dst[l] + a[l] * b[l];
  }
  return ip + 1;
}

// ---- memory --------------------------------------------------------------------------------------

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

// ---- control -------------------------------------------------------------------------------------

NESTSMITH_LANES void enter(const Warp &w, std::uint32_t region) {
  w.machine->region_threads[region] += static_cast<std::uint64_t>(std::popcount(w.active));
  ++w.machine->region_warps[region];
}

NESTSMITH_LANES const Instr *block_index(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) = w.machine->block_index[static_cast<std::size_t>(ip->imm)];
  return ip + 1;
}

NESTSMITH_LANES const Instr *loop_begin(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) = 0;
  if (reg<Uniform>(w, ip->a) <= 0)
    return ip + ip->imm;
  enter(w, ip->b);
  return ip + 1;
}

NESTSMITH_LANES const Instr *loop_next(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) += ip->c;
  if (reg<Uniform>(w, ip->dst) >= reg<Uniform>(w, ip->a))
    return ip + 1;
  enter(w, ip->b);
  return ip + ip->imm;
}

NESTSMITH_LANES const Instr *if_lanes(const Instr *ip, Warp &w) {
  Mask mask = w.active & reg<Mask>(w, ip->a);
  if (mask == 0)
    return ip + ip->imm;
  reg<Mask>(w, ip->dst) = w.active;
  w.active = mask;
  enter(w, ip->b);
  return ip + 1;
}

NESTSMITH_LANES const Instr *if_uniform(const Instr *ip, Warp &w) {
  if (reg<Uniform>(w, ip->a) == 0)
    return ip + ip->imm;
  enter(w, ip->b);
  return ip + 1;
}

NESTSMITH_LANES const Instr *end_if(const Instr *ip, Warp &w) {
  w.active = reg<Mask>(w, ip->a);
  return ip + 1;
}

NESTSMITH_LANES const Instr *end(const Instr *, Warp &w) {
  w.state = Warp::State::finished;
  return nullptr;
}

// ---- the choice of a handler: plain code -----------------------------------------------------------

Handler find_logical(BinaryOp op, bool uniform) {
  switch (op) {
  case BinaryOp::logical_and:
    return uniform ? logical<BinaryOp::logical_and, true> : logical<BinaryOp::logical_and, false>;
  case BinaryOp::logical_or:
    return uniform ? logical<BinaryOp::logical_or, true> : logical<BinaryOp::logical_or, false>;
  case BinaryOp::eq:
    return uniform ? logical<BinaryOp::eq, true> : logical<BinaryOp::eq, false>;
  case BinaryOp::ne:
    return uniform ? logical<BinaryOp::ne, true> : logical<BinaryOp::ne, false>;
  default:
    internal_error("an arithmetic operator on booleans");
  }
}

Handler find_binary(BinaryOp op, DType dtype, bool uniform) {
  if (dtype == DType::boolean)
    return find_logical(op, uniform);
  return with_op(op, [&]<BinaryOp o>() -> Handler {
    if constexpr (is_logical(o)) {
      internal_error("a logical operator on numbers");
    } else {
      switch (dtype) {
      case DType::i32:
        return uniform ? binary<o, std::int32_t, true> : binary<o, std::int32_t, false>;
      case DType::i64:
        return uniform ? binary<o, std::int64_t, true> : binary<o, std::int64_t, false>;
      case DType::u32:
        return uniform ? binary<o, std::uint32_t, true> : binary<o, std::uint32_t, false>;
      case DType::f32:
        return uniform ? binary<o, float, true> : binary<o, float, false>;
      case DType::boolean:
        break;
      }
      internal_error("no such dtype");
    }
  });
}

Handler find_complement(bool uniform) { return uniform ? complement<true> : complement<false>; }

Handler find_select(DType dtype, bool uniform) {
  if (uniform)
    return select_uniform;
  if (dtype == DType::boolean)
    return select_mask;
  return byte_size(dtype) == 8 ? select_lanes<std::uint64_t> : select_lanes<std::uint32_t>;
}

template <class To, class From> Handler cast_shape(bool uniform) {
  return uniform ? cast<To, From, true> : cast<To, From, false>;
}

template <class To> Handler cast_from(DType from, bool uniform) {
  switch (from) {
  case DType::boolean:
    if constexpr (!std::is_same_v<To, bool>)
      return cast_shape<To, bool>(uniform);
    break;
  case DType::i32:
    return cast_shape<To, std::int32_t>(uniform);
  case DType::i64:
    return cast_shape<To, std::int64_t>(uniform);
  case DType::u32:
    return cast_shape<To, std::uint32_t>(uniform);
  case DType::f32:
    return cast_shape<To, float>(uniform);
  }
  internal_error("a cast of booleans to booleans");
}

Handler find_cast(DType from, DType to, bool uniform) {
  switch (to) {
  case DType::boolean:
    return cast_from<bool>(from, uniform);
  case DType::i32:
    return cast_from<std::int32_t>(from, uniform);
  case DType::i64:
    return cast_from<std::int64_t>(from, uniform);
  case DType::u32:
    return cast_from<std::uint32_t>(from, uniform);
  case DType::f32:
    return cast_from<float>(from, uniform);
  }
  internal_error("no such dtype");
}

Handler find_splat(DType dtype) {
  if (dtype == DType::boolean)
    return splat_mask;
  return byte_size(dtype) == 8 ? splat<std::uint64_t> : splat<std::uint32_t>;
}

Handler find_copy(DType dtype) {
  if (dtype == DType::boolean)
    return copy<sizeof(Mask)>;
  return byte_size(dtype) == 8 ? copy<8 * warp_size> : copy<4 * warp_size>;
}

Handler find_multiply_add(DType dtype, bool a_uniform) {
  if (is_float(dtype))
    return a_uniform ? multiply_add<float, true> : multiply_add<float, false>;
  return a_uniform ? multiply_add<std::uint32_t, true> : multiply_add<std::uint32_t, false>;
}

Handler find_accumulate(DType dtype, bool a_uniform) {
  if (is_float(dtype))
    return a_uniform ? accumulate<float, true> : accumulate<float, false>;
  return a_uniform ? accumulate<std::uint32_t, true> : accumulate<std::uint32_t, false>;
}

template <DType dtype> Handler load_uniform_of(bool shared, bool checked) {
  if (shared)
    return checked ? load_uniform<dtype, true, true> : load_uniform<dtype, true, false>;
  return load_uniform<dtype, false, false>;
}

Handler find_load_uniform(DType dtype, bool shared, bool checked) {
  switch (dtype) {
  case DType::i32:
    return load_uniform_of<DType::i32>(shared, checked);
  case DType::i64:
    return load_uniform_of<DType::i64>(shared, checked);
  case DType::u32:
    return load_uniform_of<DType::u32>(shared, checked);
  case DType::f32:
    return load_uniform_of<DType::f32>(shared, checked);
  case DType::boolean:
    break;
  }
  return slow_load;
}

template <class T> Handler load_pattern_of(bool shared, bool checked) {
  if (shared)
    return checked ? load_pattern<T, true, true> : load_pattern<T, true, false>;
  return load_pattern<T, false, false>;
}

/// Shadowed global memory, elements of several shadow units, booleans and addresses that are not known
/// to be uniform or a pattern go lane by lane.
Handler find_load(const Access &access) {
  DType dtype = access.buffer->dtype;
  bool shared = access.buffer->scope == Scope::shared, wide = byte_size(dtype) == 8;
  if (dtype == DType::boolean || access.kind == AddressKind::lanes)
    return slow_load;
  if (access.buffer->scope == Scope::local) {
    if (access.kind != AddressKind::uniform)
      return slow_load;
    return wide ? load_local<std::uint64_t> : load_local<std::uint32_t>;
  }
  if (access.checked && (shared ? access.units != 1 : true))
    return slow_load;
  if (access.kind == AddressKind::uniform)
    return access.value_uniform ? find_load_uniform(dtype, shared, access.checked) : slow_load;
  return wide ? load_pattern_of<std::uint64_t>(shared, access.checked)
              : load_pattern_of<std::uint32_t>(shared, access.checked);
}

Handler find_store(const Access &access) {
  DType dtype = access.buffer->dtype;
  bool wide = byte_size(dtype) == 8;
  if (dtype == DType::boolean || access.kind == AddressKind::lanes)
    return slow_store;
  if (access.buffer->scope == Scope::local) {
    if (access.kind != AddressKind::uniform)
      return slow_store;
    return wide ? store_local<std::uint64_t> : store_local<std::uint32_t>;
  }
  if (access.kind != AddressKind::pattern || access.value_uniform)
    return slow_store;
  if (access.buffer->scope == Scope::global) {
    if (access.checked)
      return slow_store;
    return wide ? store_global<std::uint64_t> : store_global<std::uint32_t>;
  }
  if (access.checked && access.units != 1)
    return slow_store;
  if (access.checked)
    return wide ? store_shared<std::uint64_t, true> : store_shared<std::uint32_t, true>;
  return wide ? store_shared<std::uint64_t, false> : store_shared<std::uint32_t, false>;
}

} // namespace

extern const Lanes NESTSMITH_LANES_TABLE = {
    find_binary,     find_complement, find_select, find_cast,     find_splat,   find_copy,   find_multiply_add,
    find_accumulate, find_load,       find_store,  check_written, mark_written, block_index, loop_begin,
    loop_next,       if_lanes,        if_uniform,  end_if,        end,
};

} // namespace nestsmith::sim
