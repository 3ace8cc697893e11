#pragma once
/// Calls of matrix units in flight. A machine computes the results when a warp starts a call, and remembers
/// what the units still read and write. Until the wait of the warp, an access to the sums is an error, as is a
/// change of the tiles. The units read the tiles until the wait: a barrier between the start and the wait does
/// not order these reads before the stores of other threads.

#include "runtime/sim/decoded_kernel.h"

#include <array>
#include <cstdint>
#include <vector>

namespace nestsmith::sim {

/// Elements of a tile that a call reads: `units` shadow units for each lane of a warp, from this element on.
struct TileReads {
  const Access *access;
  std::array<std::int64_t, warp_size> element;
  std::vector<std::uint32_t> writes; ///< the shadow entries at the start of the call
};

struct CallInFlight {
  std::uint32_t sums; ///< number of the array in registers
  std::uint32_t site;
  std::uint64_t group;
  std::vector<std::int64_t> iteration;
  std::vector<TileReads> reads = {};
};

/// The calls of one warp, in the order of their start. The numbers of arrays are bits.
struct CallQueue {
  std::vector<CallInFlight> list = {};
  std::uint64_t commits = 0;
  std::uint64_t in_flight = 0; ///< arrays that no wait has named since a call that adds to them
  std::uint64_t accessed = 0;  ///< arrays that the warp has accessed since its last begin
};

/// The instructions. `c` is the number of the array in registers, and `imm` the site. Of `wait_calls`, `c` is
/// the number of pending groups, and `imm` the bits of the arrays that it names. Of `read_tile`, `access` is
/// the first element of a lane, and `c` the number of its shadow units.
const Instr *begin_calls(const Instr *ip, Warp &w);
const Instr *start_call(const Instr *ip, Warp &w);
const Instr *read_tile(const Instr *ip, Warp &w);
const Instr *commit_calls(const Instr *ip, Warp &w);
const Instr *wait_calls(const Instr *ip, Warp &w);
const Instr *access_sums(const Instr *ip, Warp &w);

} // namespace nestsmith::sim
