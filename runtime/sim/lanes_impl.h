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

#include "runtime/sim/lanes_arithmetic.h"

#include "runtime/sim/lanes_memory.h"

#include "runtime/sim/lanes_control.h"

#include "runtime/sim/lanes_choice.h"

} // namespace

extern const Lanes NESTSMITH_LANES_TABLE = {
    find_binary,     find_complement, find_select, find_cast,     find_splat,   find_copy,   find_multiply_add,
    find_accumulate, find_load,       find_store,  check_written, mark_written, block_index, loop_begin,
    loop_next,       if_lanes,        if_uniform,  end_if,        end,
};

} // namespace nestsmith::sim
