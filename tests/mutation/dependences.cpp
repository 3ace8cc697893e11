/// Bugs that violate dependences. They change the scheduled program as a primitive would without its check of
/// dependences. The primitives do not check these changes.

#include "tests/mutation/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::mutation {

namespace {

using Stmts = std::vector<nestsmith::Stmt>;
/// Returns the changed sequences that a bug makes at the statement `at` of a sequence.
using StmtsBug = std::function<std::vector<Stmts>(const Stmts &, std::size_t at)>;

std::string blocks_in(const nestsmith::Stmt &stmt) {
  std::vector<std::string> names;
  for (const nestsmith::Block *block : blocks_of(stmt))
    names.push_back(block->id->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::function<void(Program &, Chooser &)> on_sequences(const StmtsBug &bug) {
  return [bug](Program &program, Chooser &chooser) {
    std::function<nestsmith::Stmt(const nestsmith::Stmt &)> rewrite =
        [&](const nestsmith::Stmt &stmt) -> nestsmith::Stmt {
      if (const auto *seq = as<nestsmith::Seq>(stmt))
        for (std::size_t at = 0; at < seq->stmts.size(); ++at)
          for (Stmts &changed : bug(seq->stmts, at))
            if (chooser.take([&] { return "at the statement of " + blocks_in(seq->stmts[at]); }))
              return make_seq(std::move(changed));
      return map_children(stmt, rewrite);
    };
    program.body = rewrite(program.body);
  };
}

/// Moves the statement from position `at` to position `to`.
Stmts moved(Stmts stmts, std::size_t at, std::size_t to) {
  for (; at < to; ++at)
    std::swap(stmts[at], stmts[at + 1]);
  for (; at > to; --at)
    std::swap(stmts[at], stmts[at - 1]);
  return stmts;
}

std::vector<Stmts> exchanged(const Stmts &stmts, std::size_t at) {
  std::vector<Stmts> all;
  if (at + 1 < stmts.size())
    all.push_back(moved(stmts, at, at + 1));
  return all;
}

/// Moves the statement to the end and to the start. `exchanged` moves it by one position.
std::vector<Stmts> moved_far(const Stmts &stmts, std::size_t at) {
  std::vector<Stmts> all;
  if (at + 2 < stmts.size())
    all.push_back(moved(stmts, at, stmts.size() - 1));
  if (at >= 2)
    all.push_back(moved(stmts, at, 0));
  return all;
}

bool plain(const For &loop) { return loop.pipeline().empty() && !loop.partitioned() && !loop.over_lanes(); }

bool same_iterations(const For &a, const For &b) {
  return plain(a) && plain(b) && a.axis() == b.axis() && a.form.index() == b.form.index() &&
         same(a.extent, b.extent);
}

/// Removes the outermost serial loops that have one iteration.
nestsmith::Stmt without_unit_loops(const nestsmith::Stmt &stmt) {
  const auto *loop = as<For>(stmt);
  if (!loop || !loop->is<Serial>() || !plain(*loop) || as_int(loop->extent) != 1)
    return stmt;
  return without_unit_loops(
      substitute_loops(loop->body, [&](const Var &var) { return var == loop->var ? Expr(0) : Expr(); }));
}

/// Fuses the outermost loops of the nests, then the two outermost loops of each, and so on.
std::vector<nestsmith::Stmt> fused(const nestsmith::Stmt &a, const nestsmith::Stmt &b) {
  const nestsmith::Stmt before = without_unit_loops(a), after = without_unit_loops(b);
  const auto *first = as<For>(before), *second = as<For>(after);
  if (!first || !second || !same_iterations(*first, *second))
    return {};
  nestsmith::Stmt renamed = substitute_loops(
      second->body, [&](const Var &var) { return var == second->var ? Expr(first->var) : Expr(); });
  std::vector<nestsmith::Stmt> bodies = {make_seq({first->body, renamed})};
  for (const nestsmith::Stmt &deeper : fused(first->body, renamed))
    bodies.push_back(deeper);
  std::vector<nestsmith::Stmt> all;
  for (const nestsmith::Stmt &body : bodies) {
    For loop = *first;
    loop.body = body;
    all.push_back(make_for(std::move(loop)));
  }
  return all;
}

Stmts with_pair(const Stmts &stmts, std::size_t at, nestsmith::Stmt joined) {
  Stmts changed = stmts;
  changed[at] = std::move(joined);
  changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return changed;
}

std::vector<Stmts> fused_at(const Stmts &stmts, std::size_t at) {
  std::vector<Stmts> all;
  if (at + 1 < stmts.size())
    for (const nestsmith::Stmt &joined : fused(stmts[at], stmts[at + 1]))
      all.push_back(with_pair(stmts, at, joined));
  return all;
}

/// Appends `stmt` to the body of the outermost loop, then to the body of the loop inside it, and so on.
std::vector<nestsmith::Stmt> below(const nestsmith::Stmt &nest, const nestsmith::Stmt &stmt) {
  const auto *outer = as<For>(nest);
  if (!outer || !plain(*outer))
    return {};
  std::vector<nestsmith::Stmt> bodies = {make_seq({outer->body, stmt})}, all;
  for (const nestsmith::Stmt &deeper : below(outer->body, stmt))
    bodies.push_back(deeper);
  for (const nestsmith::Stmt &body : bodies) {
    For loop = *outer;
    loop.body = body;
    all.push_back(make_for(std::move(loop)));
  }
  return all;
}

std::vector<Stmts> moved_below(const Stmts &stmts, std::size_t at) {
  std::vector<Stmts> all;
  if (at + 1 < stmts.size())
    for (const nestsmith::Stmt &joined : below(stmts[at], stmts[at + 1]))
      all.push_back(with_pair(stmts, at, joined));
  return all;
}

/// Returns a bug that binds a serial loop to an axis that its nest does not use.
std::function<void(Program &, Chooser &)> bound_to(Axis axis) {
  return [axis](Program &program, Chooser &chooser) {
    std::function<nestsmith::Stmt(const nestsmith::Stmt &)> rewrite =
        [&](const nestsmith::Stmt &stmt) -> nestsmith::Stmt {
      const auto *loop = as<For>(stmt);
      bool fits = loop && loop->is<Serial>() && plain(*loop) && as_int(loop->extent);
      if (!fits || !chooser.take([&] { return loop->var->name + " around " + blocks_in(stmt); }))
        return map_children(stmt, rewrite);
      For copy = *loop;
      copy.form = BoundTo{axis};
      return make_for(std::move(copy));
    };
    program.body = rewrite(program.body);
  };
}

Kind dependence(const char *name, const char *what, std::function<void(Program &, Chooser &)> apply) {
  using namespace errors;
  return {
      "dependences",   name, what, {obligation, breach, unwritten_read, wrong_value}, {}, Stage::scheduled, {},
      std::move(apply)};
}

} // namespace

std::vector<Kind> dependence_kinds() {
  return {
      dependence("statements_swapped", "a statement is moved before the one that precedes it",
                 on_sequences(exchanged)),
      dependence("statement_moved_far", "a statement is moved to the start or the end of its sequence",
                 on_sequences(moved_far)),
      dependence("nests_fused", "a nest is fused with the nest before it", on_sequences(fused_at)),
      dependence("moved_below_loop",
                 "a statement is moved into a loop before it, and repeated in each iteration",
                 on_sequences(moved_below)),
      dependence("iterations_to_blocks", "the iterations of a serial loop run in blocks of their own",
                 bound_to(Axis::block_z)),
      dependence("iterations_to_threads", "the iterations of a serial loop run in threads of their own",
                 bound_to(Axis::thread_z)),
  };
}

} // namespace nestsmith::mutation
