#pragma once
/// The events of channels (lowering/kernel.h) between the warps of roles. An event of a slot has phases: a
/// phase ends after a number of arrivals. What a warp has seen of the others passes with its arrival to each
/// warp that awaits the phase: this is a vector clock. Accesses of two warps are ordered only by it, and not by
/// the order in which the simulator executes them.

#include "runtime/sim/decoded_kernel.h"

#include <cstdint>
#include <vector>

namespace nestsmith::sim {

/// An event of one slot.
struct SlotEvent {
  std::int64_t arrived = 0;         ///< in the current phase
  std::uint64_t unfenced = 0;       ///< tiles that those that arrived have written without a fence
  std::uint64_t unfenced_reads = 0; ///< and tiles of bulk copies that they have read
  /// Bytes of bulk copies that have come for the current phase, and of which the phase knows. With clusters,
  /// they may come first.
  std::int64_t copied = 0, announced = 0;
  std::vector<std::uint32_t>
      seen; ///< for each warp of the cluster: stamps below are ordered, by those that arrived
  /// A phase that has ended, with the clock that a warp takes over when it awaits the phase.
  struct Phase {
    std::vector<std::uint32_t> seen;
    std::uint64_t unfenced, unfenced_reads;
  };
  std::vector<Phase> ended;
};

/// The state of the channels in one block.
class Channels {
public:
  /// `agents`: the warps of all blocks of the cluster.
  Channels(const DecodedKernel &decoded, std::uint32_t agents);

  bool exist() const { return !events_.empty(); }
  void start_block();
  /// The event of the slot of a fill. In a faulty kernel, its number may be negative.
  SlotEvent &event(std::uint32_t channel, bool freed, std::int64_t number);
  std::int64_t slots(std::uint32_t channel) const { return decoded_.channels[channel].slots; }
  /// For each warp of the cluster: the stamps below this one are ordered before the accesses of `warp`.
  std::uint32_t *seen_by(std::uint32_t warp) { return seen_.data() + std::size_t{warp} * agents_; }

private:
  const DecodedKernel &decoded_;
  std::uint32_t agents_;
  std::vector<std::vector<SlotEvent>> events_; ///< of each channel: filled, then freed
  std::vector<std::uint32_t> seen_;
};

} // namespace nestsmith::sim
