#include "lowering/sync.h"

#include "dsl/expr/error.h"

namespace nestsmith::kernel {

std::optional<SyncScope> Sync::orders() const {
  using Threads = std::optional<SyncScope>;
  return visit(*this,
               Overloaded{[](const Barrier &barrier) { return Threads(barrier.scope); },
                          [](const Arrive &) { return Threads(SyncScope::block); },
                          [](const Commit &) { return Threads(); }, [](const Wait &) { return Threads(); },
                          [](const Begin &) { return Threads(); }, [](const Fence &) { return Threads(); }});
}

std::string_view name(Queue queue) { return queue == Queue::copies ? "copies" : "calls"; }

std::optional<std::int64_t> Sync::completes(Queue queue) const {
  const auto *wait = std::get_if<Wait>(&kind);
  return wait && wait->queue == queue ? std::optional(wait->pending) : std::nullopt;
}

bool Sync::counts_groups(Queue queue) const {
  const auto *commit = std::get_if<Commit>(&kind);
  return completes(queue) || (commit && commit->queue == queue);
}

std::span<const Buffer> Sync::registers() const {
  const auto *wait = std::get_if<Wait>(&kind);
  return wait ? std::span<const Buffer>(wait->sums) : std::span<const Buffer>();
}

std::span<const Hazard> Sync::hazards() const {
  using Hazards = std::span<const Hazard>;
  return visit(*this,
               Overloaded{[](const Barrier &barrier) { return Hazards(barrier.hazards); },
                          [](const Wait &wait) { return Hazards(wait.hazards); },
                          [](const Begin &begin) { return Hazards(begin.hazards); },
                          [](const Fence &fence) { return Hazards(fence.hazards); },
                          [](const Commit &) { return Hazards(); }, [](const Arrive &) { return Hazards(); }});
}

std::vector<Expr *> Sync::uses() {
  auto *arrive = std::get_if<Arrive>(&kind);
  return arrive ? std::vector{&arrive->index, &arrive->arrivals} : std::vector<Expr *>{};
}

std::vector<const Expr *> Sync::uses() const {
  const auto *arrive = std::get_if<Arrive>(&kind);
  return arrive ? std::vector{&arrive->index, &arrive->arrivals} : std::vector<const Expr *>{};
}

Buffer Sync::updates() const {
  const auto *arrive = std::get_if<Arrive>(&kind);
  return arrive ? arrive->counters : nullptr;
}

void Sync::set_updated(Buffer buffer) { std::get<Arrive>(kind).counters = std::move(buffer); }

Var Sync::declares() const {
  const auto *arrive = std::get_if<Arrive>(&kind);
  return arrive ? arrive->last : Var();
}

void Sync::set_declared(Var var) { std::get<Arrive>(kind).last = std::move(var); }

std::string_view Sync::name() const {
  using Name = std::string_view;
  return visit(
      *this,
      Overloaded{[](const Barrier &) { return Name("barrier"); }, [](const Commit &) { return Name("commit"); },
                 [](const Wait &) { return Name("wait"); }, [](const Begin &) { return Name("begin"); },
                 [](const Arrive &) { return Name("arrival"); }, [](const Fence &) { return Name("fence"); }});
}

} // namespace nestsmith::kernel
