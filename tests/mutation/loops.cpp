/// Bugs in loops and in the order of statements: tails, first iterations, prologues, initialisations.

#include "tests/mutation/catalogue.h"

#include <map>

namespace nestsmith::mutation {

using kernel::Kernel;
using kernel::Loop;
using kernel::Seq;
using kernel::Stmt;

namespace {

void extent_off(Kernel &kernel, Chooser &chooser, std::int64_t by) {
  on_stmts(kernel, chooser, [by](const Stmt &stmt) {
    const auto *loop = kernel::as<Loop>(stmt);
    if (!loop)
      return std::vector<Stmt>{};
    Loop copy = *loop;
    copy.extent = plus(loop->extent, by);
    return std::vector{kernel::make(std::move(copy))};
  });
}

Stmt substituted(const Stmt &stmt, const Var &var, const Expr &value) {
  Stmt result = kernel::map_exprs(stmt, [&](const Expr &e) {
    return substitute(e, [&](const Var &used) { return used == var ? value : Expr(); });
  });
  return kernel::map_children(result, [&](const Stmt &child) { return substituted(child, var, value); });
}

void first_skipped(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *loop = kernel::as<Loop>(stmt);
    if (!loop)
      return std::vector<Stmt>{};
    Loop copy = *loop;
    copy.extent = plus(loop->extent, -1);
    copy.body = substituted(loop->body, loop->var, plus(loop->var, 1));
    return std::vector{kernel::make(std::move(copy))};
  });
}

void reversed(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *loop = kernel::as<Loop>(stmt);
    if (!loop)
      return std::vector<Stmt>{};
    Loop copy = *loop;
    Expr last = binary(BinaryOp::sub, loop->extent, int_imm(1, loop->extent.dtype()));
    copy.body = substituted(loop->body, loop->var,
                            cast(loop->var->dtype, binary(BinaryOp::sub, last, Expr(loop->var))));
    return std::vector{kernel::make(std::move(copy))};
  });
}

void by_thread(Kernel &kernel, Chooser &chooser) {
  const kernel::ThreadIndex *thread = nullptr;
  for (const kernel::ThreadIndex &index : kernel.indices)
    if (is_thread(index.axis))
      thread = &index;
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    const auto *loop = kernel::as<Loop>(stmt);
    if (!loop || !thread)
      return std::vector<Stmt>{};
    Loop copy = *loop;
    copy.extent = min(loop->extent, cast(loop->extent.dtype(), plus(thread->var, 1)));
    return std::vector{kernel::make(std::move(copy))};
  });
}

void dropped(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    bool fits = kernel::as<kernel::Store>(stmt) || kernel::as<Loop>(stmt);
    return fits ? std::vector{nothing()} : std::vector<Stmt>{};
  });
}

void neighbours_swapped(Kernel &kernel, Chooser &chooser) {
  on_seqs(kernel, chooser, [](const std::vector<Stmt> &stmts, std::size_t at) {
    std::vector<std::vector<Stmt>> result;
    auto moves = [](const Stmt &stmt) {
      return !kernel::as<kernel::Declare>(stmt) && !kernel::as<kernel::Barrier>(stmt);
    };
    bool declares = kernel::as<kernel::Arrive>(stmts[at]); // the next statement uses what it declares
    if (at + 1 < stmts.size() && !declares && moves(stmts[at]) && moves(stmts[at + 1])) {
      result.push_back(stmts);
      std::swap(result[0][at], result[0][at + 1]);
    }
    return result;
  });
}

/// Changes `s; for x: S` to `for x: (s; S)`: an initialisation at the wrong place, or a fetch that is not
/// ahead.
void into_the_loop(Kernel &kernel, Chooser &chooser) {
  on_seqs(kernel, chooser, [](const std::vector<Stmt> &stmts, std::size_t at) {
    std::vector<std::vector<Stmt>> result;
    for (std::size_t to = at + 1; to < stmts.size(); ++to) {
      const auto *loop = kernel::as<Loop>(stmts[to]);
      if (!loop || kernel::as<kernel::Declare>(stmts[at]) || kernel::as<kernel::Barrier>(stmts[at]))
        continue;
      Loop longer = *loop;
      longer.body = kernel::make_seq({stmts[at], loop->body});
      std::vector<Stmt> changed = stmts;
      changed[to] = kernel::make(std::move(longer));
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
      result.push_back(std::move(changed));
      break;
    }
    return result;
  });
}

/// Changes `for x: (S; s)` to `for x: S; s`, where s does not use x.
void out_of_the_loop(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    std::vector<Stmt> result;
    const auto *loop = kernel::as<Loop>(stmt);
    const auto *body = loop ? kernel::as<Seq>(loop->body) : nullptr;
    if (!body || kernel::as<kernel::Barrier>(body->stmts.back()) || uses(body->stmts.back(), loop->var))
      return result;
    for (const Stmt &other : body->stmts)
      if (const auto *declare = kernel::as<kernel::Declare>(other);
          declare && uses(body->stmts.back(), declare->var))
        return result;
    Loop shorter = *loop;
    shorter.body = kernel::make_seq({body->stmts.begin(), body->stmts.end() - 1});
    result.push_back(kernel::make_seq({kernel::make(std::move(shorter)), body->stmts.back()}));
    return result;
  });
}

/// Executes a store twice that adds to its element in memory of the caller, such as beta*C.
void twice(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    bool sums = false;
    if (store)
      walk(store->value, [&](const Expr &e) {
        const auto *access = e.as<Load>();
        sums = sums || (access && access->buffer == store->buffer);
      });
    return sums ? std::vector{kernel::make_seq({stmt, stmt})} : std::vector<Stmt>{};
  });
}

/// Returns the declared indices, as expressions of loop variables, thread indices and block indices.
std::map<Var, Expr> definitions_of(const Kernel &kernel) {
  std::map<Var, Expr> definitions;
  kernel::walk(kernel.body, [&](const Stmt &stmt) {
    const auto *declare = kernel::as<kernel::Declare>(stmt);
    bool in_memory =
        !declare || any_node(declare->value, [](const Expr &e) { return e.as<Load>() || e.as<Lane>(); });
    if (in_memory || !is_index(declare->var->dtype))
      return;
    definitions[declare->var] = substitute(declare->value, [&](const Var &used) {
      auto known = definitions.find(used);
      return known == definitions.end() ? Expr() : known->second;
    });
  });
  return definitions;
}

/// Lets the next thread store to the element of a thread, too.
void by_neighbour_too(Kernel &kernel, Chooser &chooser) {
  const std::map<Var, Expr> definitions = definitions_of(kernel);
  const kernel::ThreadIndex *thread = nullptr;
  for (const kernel::ThreadIndex &index : kernel.indices)
    if (is_thread(index.axis) && !thread)
      thread = &index;
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    if (!store || !thread || store->buffer->scope == Scope::local)
      return std::vector<Stmt>{};
    Stmt full = stmt;
    for (const auto &[var, value] : definitions)
      full = uses(full, var) ? substituted(full, var, value) : full;
    auto of_thread = [&](const Expr &e) { return e.as<Var>() && *e.as<Var>() == thread->var; };
    if (!any_node(kernel::as<kernel::Store>(full)->indices[0], of_thread))
      return std::vector<Stmt>{}; // all threads of the row store to this element
    Expr next = floormod(plus(thread->var, 1), cast(thread->var->dtype, thread->extent));
    return std::vector{kernel::make_seq({stmt, substituted(full, thread->var, next)})};
  });
}

void by_one_thread(Kernel &kernel, Chooser &chooser) {
  Expr first;
  for (const kernel::ThreadIndex &index : kernel.indices)
    if (is_thread(index.axis))
      first = binary(BinaryOp::lt, index.var, int_imm(1, index.var->dtype));
  on_stmts(kernel, chooser, [&](const Stmt &stmt) {
    return kernel::as<kernel::Store>(stmt) && first.exists()
               ? std::vector{kernel::make(kernel::If{first, stmt})}
               : std::vector<Stmt>{};
  });
}

} // namespace

std::vector<Kind> loop_kinds() {
  using namespace errors;
  const Errors fewer = {unwritten_read, wrong_value, race, out_of_bounds},
               more = {out_of_bounds, wrong_value, race, unwritten_read},
               order = {race, unwritten_read, wrong_value}, lost = {unwritten_read, wrong_value};
  Errors shifted = fewer;
  shifted.insert({breach, misaligned});
  Errors cut = shifted, stale = lost, moved = order;
  cut.insert(refused);
  for (Errors *errors : {&stale, &moved})
    errors->insert(breach); // reads give the elements of another array that shares the memory
  return {
      {"loops", "last_iteration_dropped", "a loop ends one iteration early: the tail is lost", fewer,
       [](Kernel &k, Chooser &c) { extent_off(k, c, -1); }},
      {"loops", "one_iteration_more", "a loop has one iteration more", more,
       [](Kernel &k, Chooser &c) { extent_off(k, c, 1); }},
      {"loops", "first_iteration_skipped", "a loop starts at 1", shifted, first_skipped},
      {"loops", "iterations_reversed", "a loop runs from its end", shifted, reversed},
      {"loops", "extent_by_thread", "the extent of a loop differs between threads", {breach}, by_thread},
      {"loops", "extracted_iteration_dropped", "extraction cuts the tail of a loop", cut,
       [](Kernel &k, Chooser &c) { extent_off(k, c, -1); }, Stage::extracted},
      {"order", "statement_dropped", "a store or a loop is missing: an initialisation, a prologue, a fetch",
       stale, dropped},
      {"order", "neighbours_swapped", "two statements change places: the order of a pipeline's step", moved,
       neighbours_swapped},
      {"order", "moved_into_loop",
       "a statement is moved into the next loop: an initialisation in each iteration", moved, into_the_loop},
      {"order", "moved_out_of_loop", "the last statement of a loop is run once, after it", moved,
       out_of_the_loop},
      {"order",
       "update_twice",
       "an update is made twice: the epilogue, or a step of a sum",
       {wrong_value},
       twice},
      {"order",
       "stored_by_neighbour_too",
       "a thread stores its neighbour's element too",
       {race},
       by_neighbour_too},
      {"order", "stored_by_one_thread", "a store is made by one thread only", lost, by_one_thread},
      {"extraction",
       "extracted_store_dropped",
       "extraction forgets a statement",
       {refused, breach, unwritten_read, wrong_value},
       dropped,
       Stage::extracted},
  };
}

} // namespace nestsmith::mutation
