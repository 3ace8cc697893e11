#include "lowering/sync.h"

#include "dsl/expr/error.h"

#include <array>

namespace nestsmith::kernel {

/// T, or const T if `Of` is constant.
template <class Of, class T> using ConstAs = std::conditional_t<std::is_const_v<Of>, const T, T>;

std::optional<SyncScope> Sync::orders() const {
  using Threads = std::optional<SyncScope>;
  return visit(*this,
               Overloaded{[](const Barrier &barrier) { return Threads(barrier.scope); },
                          [](const Arrive &arrive) { return Threads(arrive.scope); },
                          [](const Commit &) { return Threads(); }, [](const Wait &) { return Threads(); },
                          [](const Begin &) { return Threads(); }, [](const Fence &) { return Threads(); },
                          [](const Await &) { return Threads(); }, [](const Signal &) { return Threads(); },
                          [](const AwaitKernel &) { return Threads(); }});
}

std::string_view name(SyncScope scope) {
  constexpr std::array names = {"cluster", "block", "role", "warp"};
  return names[static_cast<std::size_t>(scope)];
}

std::string_view name(Queue queue) {
  constexpr std::array names = {"copies", "calls", "stores"};
  return names[static_cast<std::size_t>(queue)];
}

std::string_view name(Event event) { return event == Event::filled ? "filled" : "freed"; }

bool Sync::passes_tiles() const {
  return std::holds_alternative<Await>(kind) || std::holds_alternative<Signal>(kind);
}

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
                          [](const Await &await) { return Hazards(await.hazards); },
                          [](const AwaitKernel &await) { return Hazards(await.hazards); },
                          [](const Signal &) { return Hazards(); }, [](const Commit &) { return Hazards(); },
                          [](const Arrive &) { return Hazards(); }});
}

namespace {

/// The operands of a statement, constant or not.
template <class Pointer, class Kind> std::vector<Pointer> operands_of(Kind &kind) {
  using Operands = std::vector<Pointer>;
  return std::visit(Overloaded{[](auto &) { return Operands(); },
                               [](ConstAs<Kind, Arrive> &x) {
                                 return Operands{&x.index, &x.arrivals};
                               },
                               [](ConstAs<Kind, Await> &x) { return Operands{&x.number}; },
                               [](ConstAs<Kind, Signal> &x) { return Operands{&x.number}; }},
                    kind);
}

} // namespace

std::vector<Expr *> Sync::uses() { return operands_of<Expr *>(kind); }

std::vector<const Expr *> Sync::uses() const { return operands_of<const Expr *>(kind); }

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
                 [](const Arrive &) { return Name("arrival"); }, [](const Fence &) { return Name("fence"); },
                 [](const Await &) { return Name("await"); }, [](const Signal &) { return Name("signal"); },
                 [](const AwaitKernel &) { return Name("await of the kernel before"); }});
}

} // namespace nestsmith::kernel
