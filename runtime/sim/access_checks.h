#pragma once
/// Checks of an access by one lane: the bounds, and what the shadow memory (shadow.h) tells of earlier
/// accesses.

#include "runtime/sim/machine.h"

namespace nestsmith::sim {

/// One lane's access to one element.
struct LaneAccess {
  const Access &access;
  Warp &w;
  std::uint32_t lane;
  std::int64_t at;
  Machine *in = nullptr; ///< of the block whose shared memory is accessed; null: that of the warp

  Machine &machine() const { return in ? *in : *w.machine; }
  Now now() const { return {machine().clock, w.agent, w.entry >> stamp_shift, lane, w.seen}; }
  void report(ErrorKind kind, std::uint64_t other_block = 0) const {
    machine().report(w, kind, access.site, lane, at, other_block);
  }
  void report_in_flight(InFlight::How how, FlightLane copy) const;
};

/// Whether the element is one of the buffer. Reports it otherwise.
bool in_bounds(const LaneAccess &s);
/// Checks everything except the bounds, and records the access.
void check_element(const LaneAccess &s);
/// An access to a shadow unit that is in flight. Reports it, as a race if no barrier orders it after the issue.
void meet_copy(const LaneAccess &s, std::size_t unit);
/// Records that an asynchronous copy reads an element of global memory until now. `iteration` is that of the
/// copy.
void read_until_now(const LaneAccess &source, const std::vector<std::int64_t> &iteration);

} // namespace nestsmith::sim
