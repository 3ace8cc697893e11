/// Bugs in barriers: dropped, moved, weakened, in divergent control flow.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Barrier;
using kernel::Kernel;
using kernel::Loop;
using kernel::Stmt;

namespace {

/// Returns a condition that only the first thread fulfils, or false if the kernel has no thread indices.
Expr first_thread(const Kernel &kernel) {
  for (const kernel::ThreadIndex &index : kernel.indices)
    if (is_thread(index.axis))
      return binary(BinaryOp::lt, index.var, int_imm(1, index.var->dtype));
  return boolean(false);
}

void drop(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    return kernel::as<Barrier>(stmt) ? std::vector{nothing()} : std::vector<Stmt>{};
  });
}

void weaken(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *barrier = kernel::as<Barrier>(stmt);
    return barrier && barrier->scope != kernel::SyncScope::warp
               ? std::vector{kernel::make(Barrier{kernel::SyncScope::warp})}
               : std::vector<Stmt>{};
  });
}

/// Exchanges a barrier with the statement `by` positions after it. Declarations are skipped, because this would
/// not change the order of accesses.
void move(Kernel &kernel, Chooser &chooser, int by) {
  on_seqs(kernel, chooser, [&](const std::vector<Stmt> &stmts, std::size_t at) {
    std::vector<std::vector<Stmt>> result;
    std::size_t to = at + static_cast<std::size_t>(by);
    if (kernel::as<Barrier>(stmts[at]) && to < stmts.size() && !kernel::as<kernel::Declare>(stmts[to])) {
      result.push_back(stmts);
      std::swap(result[0][at], result[0][to]);
    }
    return result;
  });
}

void out_of_loop(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    std::vector<Stmt> result;
    const auto *loop = kernel::as<Loop>(stmt);
    const auto *body = loop ? kernel::as<kernel::Seq>(loop->body) : nullptr;
    if (!body || !kernel::as<Barrier>(body->stmts.back()))
      return result;
    Loop shorter = *loop;
    shorter.body = kernel::make_seq({body->stmts.begin(), body->stmts.end() - 1});
    result.push_back(kernel::make_seq({kernel::make(shorter), body->stmts.back()}));
    return result;
  });
}

void in_one_iteration(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    std::vector<Stmt> result;
    const auto *loop = kernel::as<Loop>(stmt);
    const auto *body = loop ? kernel::as<kernel::Seq>(loop->body) : nullptr;
    for (std::size_t n = 0; body && n < body->stmts.size(); ++n) {
      if (!kernel::as<Barrier>(body->stmts[n]))
        continue;
      std::vector<Stmt> stmts = body->stmts;
      stmts[n] =
          kernel::make(kernel::If{binary(BinaryOp::lt, loop->var, int_imm(1, loop->var->dtype)), stmts[n]});
      Loop copy = *loop;
      copy.body = kernel::make_seq(std::move(stmts));
      result.push_back(kernel::make(std::move(copy)));
    }
    return result;
  });
}

void under_a_thread(Kernel &kernel, Chooser &chooser) {
  Expr condition = first_thread(kernel);
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    return kernel::as<Barrier>(stmt) ? std::vector{kernel::make(kernel::If{condition, stmt})}
                                     : std::vector<Stmt>{};
  });
}

/// Extends the guard of the preceding statement to the barrier.
void under_a_guard(Kernel &kernel, Chooser &chooser) {
  on_seqs(kernel, chooser, [&](const std::vector<Stmt> &stmts, std::size_t at) {
    std::vector<std::vector<Stmt>> result;
    if (!kernel::as<Barrier>(stmts[at]) || at == 0)
      return result;
    Expr guard = first_thread(kernel);
    if (const auto *before = kernel::as<kernel::If>(stmts[at - 1]); before && !before->otherwise)
      guard = before->condition && guard;
    std::vector<Stmt> changed(stmts.begin(), stmts.begin() + static_cast<std::ptrdiff_t>(at) - 1);
    changed.push_back(kernel::make(kernel::If{guard, kernel::make_seq({stmts[at - 1], stmts[at]})}));
    changed.insert(changed.end(), stmts.begin() + static_cast<std::ptrdiff_t>(at) + 1, stmts.end());
    if (!kernel::as<kernel::Declare>(stmts[at - 1]))
      result.push_back(std::move(changed));
    return result;
  });
}

} // namespace

std::vector<Kind> barrier_kinds() {
  const Errors race = {errors::race}, flow = {errors::breach, errors::divergent_barrier};
  // The verifier requires the barrier at the end of a cluster.
  const Errors race_or_end = {errors::race, errors::in_flight, errors::breach};
  return {
      {"barriers", "barrier_dropped", "a barrier is dropped", race_or_end, drop},
      {"barriers", "barrier_of_a_warp", "a barrier of the block only waits for the warp", race_or_end, weaken},
      {"barriers", "barrier_earlier", "a barrier precedes the statement that it must follow", race_or_end,
       [](Kernel &k, Chooser &c) { move(k, c, -1); }},
      {"barriers", "barrier_later", "a barrier follows the statement that it must precede", race,
       [](Kernel &k, Chooser &c) { move(k, c, 1); }},
      {"barriers", "barrier_out_of_loop", "the last barrier of an iteration is moved after the loop", race,
       out_of_loop},
      {"barriers", "barrier_in_first_iteration", "a barrier is executed only in the first iteration", race,
       in_one_iteration},
      {"barriers", "barrier_under_a_thread", "a barrier is executed by one thread only", flow, under_a_thread},
      {"barriers", "barrier_under_a_guard", "a guard that differs between threads is extended over a barrier",
       flow, under_a_guard},
  };
}

} // namespace nestsmith::mutation
