#include "dsl/schedule/primitives/reorder.h"

#include "dsl/ir/dependence.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// The loops from the outermost to the innermost of `wanted`. They must be a perfect nest.
std::vector<const For *> chain_of(const Schedule::Edit &edit, const std::vector<Loop> &wanted) {
  auto is_wanted = [&](const For *loop) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const Loop &x) { return x.var == loop->var; });
  };
  std::vector<const For *> deepest;
  for (const Loop &handle : wanted) {
    auto path = edit.loops_around(handle.var);
    if (path.size() > deepest.size())
      deepest = path;
  }
  auto first = std::find_if(deepest.begin(), deepest.end(), is_wanted);
  std::vector<const For *> chain(first, deepest.end());
  for (const Loop &handle : wanted)
    if (std::none_of(chain.begin(), chain.end(), [&](const For *loop) { return loop->var == handle.var; }))
      edit.refuse("reorder.chain",
                  fmt::format("the loops {} and {} are in different nests; name loops of one nest",
                              handle.var->name, chain.back()->var->name),
                  {handle.var->name, chain.back()->var->name});
  for (std::size_t n = 0; n + 1 < chain.size(); ++n)
    if (as<For>(chain[n]->body) != chain[n + 1])
      edit.refuse(
          "reorder.chain",
          fmt::format("other statements between the loops {} and {} depend on their order (block {}); reorder "
                      "before adding those statements, or reorder the loops on one side of them only",
                      chain[n]->var->name, chain[n + 1]->var->name,
                      blocks_of(chain[n]->body).front()->id->name),
          {chain[n]->var->name, chain[n + 1]->var->name});
  return chain;
}

/// The init of an element runs in the first iteration that sums into it, where every summed axis is 0. If one
/// digit of such an axis mixes several loops, their order decides whether that iteration comes first.
void check_inits(const Schedule::Edit &edit, const std::vector<const For *> &before,
                 const std::vector<const For *> &after) {
  Bounds bounds = loop_bounds(edit.body());
  for (const Block *block : blocks_of(before.front()->body))
    for (const IterVar &iter : block->iters) {
      auto used_in = [&](const Expr &digit, const std::vector<const For *> &loops) {
        std::vector<const For *> used;
        std::ranges::copy_if(loops, std::back_inserter(used), [&](const For *loop) {
          return uses(digit, loop->var) && sums_over(*block, iter, loop->var);
        });
        return used;
      };
      if (!block->init || iter.kind != IterKind::reduction)
        continue;
      for (const Term &term : linearize(iter.binding, bounds).terms)
        if (auto mixed = used_in(term.digit.base, before); mixed != used_in(term.digit.base, after))
          edit.refuse(
              "reorder.init",
              fmt::format("block {} sums over an index that mixes {} and {}, and their order decides whether "
                          "its init runs first; keep the order, or use decompose_reduction before reorder",
                          block->id->name, mixed[0]->var->name, mixed[1]->var->name),
              {mixed[0]->var->name, mixed[1]->var->name, block->id->name});
    }
}

/// If a loop repeats a sum, the init starts the sum again each time. Such a loop must not change places with a
/// loop of the sum.
void check_repeated(const Schedule::Edit &edit, const std::vector<const For *> &before,
                    const std::vector<const For *> &after) {
  Bounds bounds = loop_bounds(edit.body());
  for (const Block *block : blocks_of(before.front()->body)) {
    std::vector<Expr> bindings;
    for (const IterVar &iter : block->iters)
      bindings.push_back(iter.binding);
    auto is_summed = [&](const For *loop) {
      return std::any_of(block->iters.begin(), block->iters.end(),
                         [&](const IterVar &iter) { return sums_over(*block, iter, loop->var); });
    };
    // Whether some iterations repeat the block while the other loops are fixed.
    auto is_repeated = [&](const For *loop) {
      return as_int(loop->extent) != 1 &&
             !determine(
                 bindings, {loop->var}, [&](const Var &var) { return var != loop->var; }, bounds);
    };
    for (const For *repeats : before)
      for (const For *sums : before) {
        auto first = [&](const std::vector<const For *> &loops) {
          return std::find(loops.begin(), loops.end(), repeats) < std::find(loops.begin(), loops.end(), sums);
        };
        if (block->init && first(before) != first(after) && is_summed(sums) && is_repeated(repeats))
          edit.refuse("reorder.repeated",
                      fmt::format("the loop {} repeats all of block {}, including its init, and {} is a loop "
                                  "of its sum; keep their order",
                                  repeats->var->name, block->id->name, sums->var->name),
                      {repeats->var->name, sums->var->name, block->id->name});
      }
  }
}

/// Conflicting accesses to an element of a parameter must keep their order.
void check_order(const Schedule::Edit &edit, const std::vector<const For *> &before,
                 const std::vector<const For *> &after) {
  auto vars = [](const std::vector<const For *> &loops) {
    std::vector<Var> result;
    for (const For *loop : loops)
      result.push_back(loop->var);
    return result;
  };
  auto broken = broken_by_reorder(edit.body(), vars(before), vars(after));
  if (!broken)
    return;
  const auto &[first, second, buffer] = broken->dependence;
  auto verb = [&, &buffer = buffer](const BlockId &id) {
    return access_verb(*find_block(edit.body(), id), buffer);
  };
  edit.refuse(
      "reorder.order",
      fmt::format("block {} {} {}, and block {} {} it later, possibly in another iteration of {} and {}; "
                  "with {} inside of {} this order is not kept for all elements; keep the order of "
                  "these loops, or reorder before moving block {} into this nest",
                  first->name, verb(first), buffer->name, second->name, verb(second), broken->outer->name,
                  broken->inner->name, broken->outer->name, broken->inner->name, second->name),
      {broken->outer->name, broken->inner->name, first->name, second->name});
}

} // namespace

constinit const Primitive primitives::reorder = primitive<&Schedule::reorder>("reorder", {loops("order")});

void Schedule::reorder(std::vector<Loop> order, Caller caller) {
  Edit edit(*this, caller, primitives::reorder, order);
  if (order.size() < 2)
    edit.refuse("reorder.distinct", fmt::format("got {} loops, expected at least 2", order.size()));
  for (std::size_t n = 0; n < order.size(); ++n) {
    edit.loop(order[n]);
    for (std::size_t m = 0; m < n; ++m)
      if (order[n].var == order[m].var)
        edit.refuse("reorder.distinct",
                    fmt::format("the loop {} is named twice; name each loop once", order[n].var->name),
                    {order[n].var->name});
  }
  std::vector<const For *> chain = chain_of(edit, order), result;
  auto next = order.begin();
  for (const For *loop : chain) {
    bool moves = std::any_of(order.begin(), order.end(), [&](const Loop &x) { return x.var == loop->var; });
    result.push_back(moves ? &edit.loop(*next++) : loop);
  }
  check_inits(edit, chain, result);
  check_repeated(edit, chain, result);
  check_order(edit, chain, result);
  Stmt nest = chain.back()->body;
  for (auto loop = result.rbegin(); loop != result.rend(); ++loop) {
    For copy = **loop;
    copy.body = nest;
    nest = make_for(std::move(copy));
  }
  edit.commit(edit.replace_loop(*chain.front(), nest));
}

} // namespace nestsmith
