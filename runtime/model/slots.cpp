#include "runtime/model/slots.h"

#include "dsl/expr/simplify.h"
#include "lowering/sync.h"

#include <algorithm>

namespace nestsmith::model {

namespace {

using kernel::as;

/// Clocks until a copy to shared memory has arrived, from L2 and from DRAM, of a GPU that is busy with such
/// copies: adjusted to kernels with bulk copies on an H200 (docs/gpu.md). A fill waits for its last byte, and
/// the blocks that read the same tile read it at about the same time. So if this part of the copies misses in
/// L2, each fill waits for DRAM.
constexpr double of_l2 = 640, of_dram = 1000, misses_of_all_fills = 0.25;

std::optional<double> fills_of(const kernel::Stmt &stmt, std::size_t channel) {
  if (const auto *signal = as<kernel::Signal>(stmt))
    return signal->channel == channel && signal->event == kernel::Event::filled ? 1.0 : 0.0;
  if (const auto *loop = as<kernel::Loop>(stmt)) {
    const auto extent = as_int(loop->extent);
    const auto body = fills_of(loop->body, channel);
    return body == 0.0      ? body
           : body && extent ? std::optional(*body * static_cast<double>(*extent))
                            : std::nullopt;
  }
  std::optional<double> sum = 0.0;
  auto add = [&](const kernel::Stmt &child) {
    const auto fills = child ? fills_of(child, channel) : 0.0;
    sum = sum && fills ? std::optional(*sum + *fills) : std::nullopt;
  };
  if (const auto *branch = as<kernel::If>(stmt)) {
    if (branch->purpose.kind == kernel::Purpose::Kind::first_nest)
      return std::nullopt; // a block has one of the nests
    add(branch->body);
    add(branch->otherwise);
  } else if (const auto *seq = as<kernel::Seq>(stmt)) {
    for (const kernel::Stmt &child : seq->stmts)
      add(child);
  }
  return sum;
}

/// The first statement of an iteration that awaits a fill, the first one that frees a slot, and their order.
struct Iteration {
  const kernel::Await *awaits = nullptr;
  const kernel::Signal *frees = nullptr;
  bool awaits_first = false;

  bool has_both() const { return awaits && frees; }
};

Iteration iteration_of(const kernel::Stmt &body, std::size_t channel) {
  Iteration found;
  kernel::walk(body, [&](const kernel::Stmt &stmt) {
    if (const auto *await = as<kernel::Await>(stmt);
        await && await->channel == channel && await->event == kernel::Event::filled && !found.awaits) {
      found.awaits = await;
      found.awaits_first = found.frees == nullptr;
    }
    if (const auto *signal = as<kernel::Signal>(stmt);
        signal && signal->channel == channel && signal->event == kernel::Event::freed && !found.frees)
      found.frees = signal;
  });
  return found;
}

/// Whether a loop inside of `body` awaits and frees slots.
bool has_inner_loop(const kernel::Stmt &body, std::size_t channel) {
  bool found = false;
  kernel::walk(body, [&](const kernel::Stmt &stmt) {
    const auto *loop = as<kernel::Loop>(stmt);
    found = found || (loop && iteration_of(loop->body, channel).has_both());
  });
  return found;
}

/// The longest innermost loop over the slots.
struct LoopOverSlots {
  std::int64_t iterations = 0;
  std::int64_t held = 0; ///< slots that are held when the main role awaits the next one
  std::int64_t freed_later = 0;
};

std::optional<LoopOverSlots> loop_over_slots(const kernel::Kernel &kernel, std::size_t channel) {
  std::optional<LoopOverSlots> found;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *loop = as<kernel::Loop>(stmt);
    const auto extent = loop ? as_int(loop->extent) : std::nullopt;
    if (!extent || (found && *extent <= found->iterations))
      return;
    const Iteration iteration = iteration_of(loop->body, channel);
    if (!iteration.has_both() || has_inner_loop(loop->body, channel))
      return;
    const auto ahead = as_int(simplify(iteration.awaits->number - iteration.frees->number));
    if (!ahead || *ahead < 0)
      return;
    // In the first iteration of all loops, the number of the fill whose slot is freed.
    const auto first = as_int(
        simplify(substitute(iteration.frees->number, [](const Var &var) { return constant(var->dtype, 0); })));
    found = {*extent, *ahead + (iteration.awaits_first ? 1 : 0), -first.value_or(0)};
  });
  return found;
}

} // namespace

std::optional<double> fills_of_block(const kernel::Kernel &kernel, std::size_t channel) {
  return fills_of(kernel.body, channel);
}

std::int64_t SlotTrips::on_their_way() const { return std::max<std::int64_t>(1, slots - held); }

double SlotTrips::clocks_of_fill() const { return latency / static_cast<double>(on_their_way()); }

double SlotTrips::clocks() const { return std::max(latency, fills * clocks_of_fill()); }

std::optional<SlotTrips> slot_trips(const kernel::Kernel &kernel, std::size_t channel, double l2_hits) {
  const auto fills = fills_of_block(kernel, channel);
  const auto loop = loop_over_slots(kernel, channel);
  if (!fills || *fills == 0 || !loop)
    return std::nullopt;
  return SlotTrips{.fills = *fills,
                   .slots = kernel.channels[channel].slots,
                   .held = loop->held,
                   .latency = of_l2 + (of_dram - of_l2) * std::min(1.0, (1 - l2_hits) / misses_of_all_fills),
                   .iterations = loop->iterations,
                   .freed_later = loop->freed_later};
}

} // namespace nestsmith::model
