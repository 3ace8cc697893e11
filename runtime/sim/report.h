#pragma once
/// Diagnostics of the simulator as text.

#include "runtime/sim/event.h"
#include "runtime/sim/flights.h"
#include "runtime/sim/trace.h"
#include "runtime/sim/warp.h"

#include <string>

namespace nestsmith::sim {

std::string thread_text(const DecodedKernel &decoded, std::uint32_t thread); ///< "thread (3, 0, 0)"
std::string block_text(const DecodedKernel &decoded, std::uint64_t block);   ///< "block (0, 1, 0)"
std::string warp_text(const DecodedKernel &decoded,
                      std::uint32_t warp); ///< "warp 1 (threads (32, 0, 0) to (63, 0, 0))"
/// "__syncthreads() at k = 3"
std::string barrier_text(const Site &site, const std::vector<std::int64_t> &iteration);

/// Sets the message and the hazard of the event.
void describe_in_flight(const DecodedKernel &decoded, const InFlight &error, Event &event);

/// Sets the message of a load of an element whose memory the buffer `owner` has overwritten.
void describe_overwritten(const DecodedKernel &decoded, const Access &access, const std::string &owner,
                          Event &event);
/// Sets the message of an access to an arrival counter that is no arrival.
void describe_counter_access(const DecodedKernel &decoded, const Access &access, Event &event);
/// The messages of errors in the operands of a call.
std::string replicas_text(const DecodedKernel &decoded, std::uint64_t block, const Warp &w,
                          const Access &access, std::uint32_t lanes);
std::string overlap_text(const DecodedKernel &decoded, std::uint64_t block, const Warp &w,
                         const SharedRegisters &both, std::uint32_t lane);

Diagnostic describe(const DecodedKernel &decoded, const Event &event);
Diagnostic describe(const DecodedKernel &decoded, const RacePair &pair);

} // namespace nestsmith::sim
