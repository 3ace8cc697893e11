#pragma once
/// The state of a warp, and what is computed from its registers.

#include "runtime/sim/decoded_kernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nestsmith::sim {

class Machine;

/// The bit of a buffer in a set of the first 64; none for the others.
inline std::uint64_t bit_of(std::uint32_t number) { return number < 64 ? std::uint64_t{1} << number : 0; }

/// A warp in execution. Only handlers use its machine.
struct Warp {
  enum class State : std::uint8_t { ready, waiting, finished, failed };

  std::byte *frame = nullptr;
  Machine *machine = nullptr;
  /// Masks of lanes: `active` lanes execute the current code, and `live` lanes have a thread.
  std::uint32_t active = 0, live = 0;
  /// An access uses the fast path if its mask of active lanes equals `full`. The value is `live`, or 0 to
  /// disable the fast path (if all accesses are traced).
  std::uint32_t full = 0;
  std::uint32_t entry = 0; ///< shadow entry that lane 0 would write now (shadow.h)
  std::uint32_t floor_entry =
      0; ///< smaller shadow entries, of all warps, are ordered before the accesses of the warp
  std::uint32_t index = 0; ///< in its block
  std::uint64_t block = 0; ///< linear number of its block
  std::uint32_t agent = 0; ///< in its cluster: warps of different blocks have different stamps
  State state = State::ready;
  /// A bit for each of the first 64 shared buffers: the warp has written to it since its last fence, and matrix
  /// units read it as a tile.
  std::uint64_t unfenced = 0;
  std::uint64_t unfenced_at_barrier = 0; ///< the same at its last barrier
  std::uint64_t unfenced_by_others = 0;  ///< of warps of another role, before events that the warp has awaited
  /// The same of tiles that bulk copies fill, and that the warp, or others before events that it has awaited,
  /// has read.
  std::uint64_t unfenced_reads = 0, unfenced_reads_by_others = 0;
  /// With roles, for each warp of the cluster: its stamps below this one are ordered before the accesses of
  /// this warp. Otherwise null.
  std::uint32_t *seen = nullptr;
  /// The instruction at which the warp stopped: a barrier, or an instruction of an observer.
  const Instr *pc = nullptr;
};

template <class T> T &reg(const Warp &w, std::uint32_t offset) {
  return *reinterpret_cast<T *>(w.frame + offset);
}
template <class T> T *lanes(const Warp &w, std::uint32_t offset) {
  return reinterpret_cast<T *>(__builtin_assume_aligned(w.frame + offset, 64));
}

/// The offset of the element that a lane accesses, for the current registers of the warp.
std::int64_t address(const Access &access, const Warp &w, std::uint32_t lane);
/// The same for all lanes.
void addresses(const Access &access, const Warp &w, std::array<std::int64_t, warp_size> &to);
/// The current iteration of the loops around a site.
std::vector<std::int64_t> iteration_of(const DecodedKernel &decoded, const Warp &w, std::uint32_t site);
/// The bits of one lane of a register.
std::uint64_t get_lane(const Warp &w, DType dtype, Register from, std::uint32_t lane);
/// The same for all lanes.
void lane_values(const Warp &w, DType dtype, Register from, std::array<std::uint64_t, warp_size> &to);
void set_lane(const Warp &w, DType dtype, std::uint32_t to, std::uint32_t lane, std::uint64_t bits);

} // namespace nestsmith::sim
