#pragma once
/// How long the main role of a kernel waits for the slots of a channel, by a model of the latency of memory.
///
/// A slot goes around: a role fills it, memory answers, the main role reads it and frees it. With few slots,
/// the main role waits for the answer, although memory could move more bytes: `slots - held` fills are on their
/// way at a time, and each takes `latency` clocks.

#include "lowering/kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace nestsmith::model {

/// The fills of a channel by one thread block; none if it is not known.
std::optional<double> fills_of_block(const kernel::Kernel &kernel, std::size_t channel);

struct SlotTrips {
  double fills = 0;       ///< of a thread block
  std::int64_t slots = 0; ///< of the channel
  std::int64_t held = 1;  ///< slots that the main role has not freed when it awaits the next one, with that one
  double latency = 0;     ///< clocks from a free slot to tiles that have arrived
  std::int64_t iterations = 0; ///< of the innermost loop over the slots
  /// The iterations after which the slot of a fill is freed: 0 if iteration n frees that of fill n.
  std::int64_t freed_later = 0;

  std::int64_t on_their_way() const; ///< fills at a time
  double clocks_of_fill() const;     ///< if memory only answers late
  double clocks() const;             ///< of all fills of a thread block: at least one answer
};

/// `l2_hits`: of the copies, the part that hits in L2. None if the number of fills is not known, or if the
/// kernel has no loop that awaits and frees the slots.
std::optional<SlotTrips> slot_trips(const kernel::Kernel &kernel, std::size_t channel, double l2_hits);

} // namespace nestsmith::model
