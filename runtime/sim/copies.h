#pragma once
/// Asynchronous copies in flight. The data of a copy reaches shared memory when the issuing thread waits for
/// its group. Until then, the destination holds poison, its shadow entry is `in_flight`, and each access to it
/// is an error, as is a store to the source. The copying thread reads the source until its wait: a barrier
/// after the issue but before the wait does not order this read before the stores of other threads.

#include "runtime/sim/program.h"

#include <array>
#include <set>
#include <vector>

namespace nestsmith::sim {

/// One element of an asynchronous copy for each lane of a warp.
struct Flight {
  const Access *access; ///< of the destination
  const Access *source; ///< null if the kernel does not store to the source
  std::uint32_t warp, lanes;
  std::uint32_t entry; ///< shadow entry of lane 0 at the time of issue
  std::array<std::uint32_t, warp_size> group;
  std::array<std::int64_t, warp_size> element, from; ///< offsets in the destination and in the source
  std::array<std::uint64_t, warp_size> bits;
  std::vector<std::int64_t> iteration; ///< of the loops around the statement

  std::uint32_t thread(std::uint32_t lane) const { return warp * warp_size + lane; }
};

/// The copies of one warp, in the order of issue.
struct Flights {
  std::vector<Flight> list;
  std::array<std::uint32_t, warp_size> commits{}; ///< number of groups that each lane has ended
};

/// The handlers. `issue_copy`: `access` is the destination, whose value is in a register; `c` is the index in
/// `Program::copies`. `wait_copies`: `c` is the number of pending groups, and `imm` the site.
const Instr *issue_copy(const Instr *ip, Warp &w);
const Instr *commit_copies(const Instr *ip, Warp &w);
const Instr *wait_copies(const Instr *ip, Warp &w);

/// An access to a shadow unit that is in flight. Reports it, as a race if no barrier orders it after the issue.
void meet_copy(Warp &w, const Access &access, std::uint32_t lane, std::int64_t element, std::size_t unit);
/// A store to global memory. Reports it if a copy in flight reads the element.
void overwrite_source(Warp &w, const Access &access, std::uint32_t lane, std::int64_t element);

} // namespace nestsmith::sim
