#include "runtime/sim/flights.h"

namespace nestsmith::sim {

namespace {

/// `may_match` excludes whole copies, because a faulty kernel reads many elements in flight.
template <class MayMatch, class Matches>
FlightLane find_flight(const std::vector<Flights> &of_warps, const MayMatch &may_match,
                       const Matches &matches) {
  for (const Flights &flights : of_warps)
    for (const Flight &flight : flights.list) {
      if (!may_match(flight))
        continue;
      for (std::uint32_t lane = 0; lane < warp_size; ++lane)
        if (flight.lanes >> lane & 1 && matches(flight, lane))
          return {&flight, lane};
    }
  return {};
}

} // namespace

FlightLane copy_to(const std::vector<Flights> &of_warps, std::size_t unit) {
  return find_flight(
      of_warps, [&](const Flight &flight) { return flight.first_unit <= unit && unit < flight.end_unit; },
      [&](const Flight &flight, std::uint32_t lane) {
        std::size_t first = flight.access->storage.shared().unit(flight.element[lane]);
        return first <= unit && unit < first + static_cast<std::size_t>(flight.access->storage.shared().units);
      });
}

FlightLane copy_from(const std::vector<Flights> &of_warps, std::uint32_t parameter, std::int64_t element) {
  return find_flight(
      of_warps, [&](const Flight &flight) { return flight.source && flight.source->storage.slot == parameter; },
      [&](const Flight &flight, std::uint32_t lane) { return flight.from[lane] == element; });
}

} // namespace nestsmith::sim
