#include "runtime/sim/channels.h"

#include "dsl/expr/ops.h"

#include <algorithm>

namespace nestsmith::sim {

Channels::Channels(const DecodedKernel &decoded, std::uint32_t agents) : decoded_(decoded), agents_(agents) {
  for (const kernel::Channel &channel : decoded.channels)
    events_.emplace_back(static_cast<std::size_t>(2 * channel.slots));
  if (exist())
    seen_.resize(std::size_t{decoded.warps} * agents);
}

void Channels::start_block() {
  for (std::vector<SlotEvent> &events : events_)
    for (SlotEvent &event : events) {
      event = {};
      event.seen.resize(agents_);
    }
  std::ranges::fill(seen_, 0);
}

SlotEvent &Channels::event(std::uint32_t channel, bool freed, std::int64_t number) {
  const std::int64_t of = slots(channel);
  return events_[channel][static_cast<std::size_t>((freed ? of : 0) + floor_mod(number, of))];
}

} // namespace nestsmith::sim
