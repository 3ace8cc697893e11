#pragma once
/// The parts of an estimated time that no bound names, because they are not the throughput of a resource.

#include <cstdint>
#include <string_view>

namespace nestsmith {

///   imbalance  some SMs have more blocks than others: a part-filled last wave, or a grid smaller than the GPU
///   latency    instructions wait for results: too few warps, or dependent loads
///   barriers   warps wait for the other warps of their block
///   fetch      the code of a loop exceeds the instruction cache
///   banks      operands of an FFMA are in the same register bank
enum class Loss : std::uint8_t { imbalance, latency, barriers, fetch, banks };
inline constexpr Loss all_losses[] = {Loss::imbalance, Loss::latency, Loss::barriers, Loss::fetch, Loss::banks};
/// "imbalance", "latency", "barriers", "instruction fetch", "register banks"
std::string_view name(Loss loss);

/// For each loss: the estimated time, divided by the estimate without this loss alone. At least 1. The factors
/// are not independent, so their product means nothing.
struct Losses {
  double imbalance = 1, latency = 1, barriers = 1, fetch = 1, banks = 1;

  double &of(Loss loss);
  double of(Loss loss) const { return const_cast<Losses &>(*this).of(loss); }
  Loss largest() const;
};

} // namespace nestsmith
