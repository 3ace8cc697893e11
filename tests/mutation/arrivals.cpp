/// Bugs in the arrivals of thread blocks: their order, their number and their counter.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Arrive;
using kernel::Kernel;
using kernel::Stmt;

namespace {

/// Returns a bug that applies `change` to a copy of an arrival.
template <class F> auto on_arrivals(F change) {
  return [change](Kernel &kernel, Chooser &chooser) {
    on_stmts(kernel, chooser, [&](const Stmt &stmt) {
      const auto *arrive = kernel::as<Arrive>(stmt);
      if (!arrive)
        return std::vector<Stmt>{};
      Arrive copy = *arrive;
      change(copy);
      return std::vector{kernel::make(std::move(copy))};
    });
  };
}

/// Returns a bug of the machine: an arrival omits a part of its order.
Kind without(const char *name, const char *what, bool sim::ArrivalOrder::*part) {
  return {"arrivals",
          name,
          what,
          {errors::race},
          {},
          Stage::final,
          {},
          {},
          [part](const Kernel &kernel, Chooser &chooser, sim::WeakArrivals &weak) {
            walk(kernel.body, [&](const Stmt &stmt) {
              const auto *arrive = kernel::as<Arrive>(stmt);
              if (arrive && chooser.take([&] { return brief(stmt); }))
                weak[arrive->last].*part = false;
            });
          }};
}

auto plus_arrivals(std::int64_t n) {
  return on_arrivals([n](Arrive &x) { x.arrivals = plus(x.arrivals, n); });
}

} // namespace

std::vector<Kind> arrival_kinds() {
  using namespace errors;
  const Errors early = {race, unwritten_read, counter_left};
  return {
      without("fence_dropped", "the results of a block are not made visible before its arrival",
              &sim::ArrivalOrder::fence),
      without("barrier_dropped_before", "a block arrives before all of its threads have written",
              &sim::ArrivalOrder::barrier),
      {"arrivals", "arrivals_fewer", "the last block but one counts as the last", early, plus_arrivals(-1)},
      {"arrivals", "arrivals_more", "one more arrival is expected", {counter_left}, plus_arrivals(1)},
      {"arrivals", "one_counter", "all tiles share one counter", early,
       on_arrivals([](Arrive &x) { x.index = int_imm(0, x.index.dtype()); })},
      {"arrivals",
       "next_counter",
       "each tile takes the counter of the next",
       {out_of_bounds},
       on_arrivals([](Arrive &x) { x.index = plus(x.index, 1); })},
  };
}

} // namespace nestsmith::mutation
