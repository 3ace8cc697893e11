#pragma once
#include "dsl/schedule/primitives/primitive.h"

#include <cstdint>

namespace nestsmith::primitives {

/// in_flight(AB, 1): the calls of matrix units that block AB makes in one iteration of its pipelined loop run
/// on while those of the next iteration start. The thread waits for them one iteration later.
///
///     for k < n pipelined […, AB: 2]:     =>     for k < n pipelined […, AB: 2 + 1 in flight]:
///
/// The units read their tiles until the wait, so the kernel has one more copy of each shared tile that AB
/// reads, for each iteration in flight. Without in_flight, the thread waits for the calls of an iteration
/// before the next barrier.
///
/// Requires [in_flight.calls]: AB is tensorized with an intrinsic of matrix units that read tiles themselves.
/// Requires [in_flight.pipeline]: a loop around these calls is pipelined.
/// Requires [in_flight.count]: the number is from 1 to 8.
/// Ensures: the sequential meaning and every result of the kernel are unchanged. The kernel waits for all calls
///   before it reads their sums.
extern const Primitive in_flight;

} // namespace nestsmith::primitives
