#include "dsl/expr/expr_text.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/dependence.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/region.h"
#include "dsl/schedule/obligations/rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::owed {

namespace {

/// Whether a warp writes the elements together: one lane issues a bulk store, and a call has all lanes.
bool is_written_by_warps(const NestFacts &nest, const Block &block) {
  return is_bulk_store(block) || std::ranges::any_of(nest.loops_around(block), [](const For *loop) {
           const Intrinsic *intrinsic = loop->intrinsic();
           return intrinsic && intrinsic->group == Group::warp;
         });
}

/// Whether the threads are those of one warp, or loops are bound to warps.
bool has_known_warps(const NestFacts &nest) {
  std::int64_t threads = 1;
  for (auto [axis, extent] : nest.extents)
    threads *= is_thread(axis) ? extent : 1;
  return nest.extents.contains(Axis::warp) || threads <= lanes_per_warp;
}

/// For each axis whose threads or blocks share the buffer of the block: the innermost loop around the block
/// that is bound to the axis, or null.
std::map<Axis, const For *> sharing_loops(const NestFacts &nest, const Block &block) {
  const bool shared = block.body.buffer->scope == Scope::shared,
             by_warps = is_written_by_warps(nest, block) && has_known_warps(nest);
  std::map<Axis, const For *> innermost;
  for (auto [axis, extent] : nest.extents)
    if (by_warps && is_thread(axis) && axis != Axis::warp)
      continue;
    else if (extent > 1 && (!shared || is_thread(axis)) && !nest.is_last_along(block, axis))
      innermost[axis] = nullptr;
  for (const For *loop : nest.loops_around(block))
    for (auto &[axis, around] : innermost)
      if (loop->axis() && determines(*loop->axis(), axis))
        around = loop;
  return innermost;
}

/// Expressions that are equal in two instances of the block only if both write the same element, or, by
/// atomics, combine the same term with it. Where the block executes, the binding of a guarded axis with one
/// value is 0. A strided slice has such an axis: Y[t//2] where t % 2 < 1.
std::vector<Expr> known_of_element(const NestFacts &nest, const Block &block) {
  std::vector<Expr> known = written_element(nest, block);
  for (const IterVar &iter : block.iters)
    if ((iter.guarded && as_int(iter.extent) == 1) || (block.atomic && iter.is_summed()))
      known.push_back(iter.binding);
  return known;
}

/// Of a block whose terms are combined by atomics by the threads along an axis.
std::string repeated_text(const Block &block, std::string_view axis, std::int64_t extent) {
  return fmt::format("block {0} combines the same terms with {1} by atomics for several of the {2} indices of "
                     "{3}, so they would count more than once; bind one of its loops to {3}, also one of one "
                     "iteration",
                     block.id->name, block.body.buffer->name, extent, axis);
}

/// The ranges of loop variables in the iterations that execute the block: a guarded axis limits a variable
/// that is its binding, apart from loops of one iteration.
Bounds bounds_of_executed(const NestFacts &nest, const Block &block) {
  Bounds bounds = nest.bounds;
  for (const IterVar &iter : block.iters) {
    Linear binding = linearize(iter.binding, nest.bounds);
    std::erase_if(binding.terms, [&](const Term &term) {
      auto range = range_of(term.digit, nest.bounds);
      return range && range->low == 0 && range->high == 0;
    });
    if (!iter.guarded || !as_int(iter.extent) || binding.terms.size() != 1 || binding.constant != 0)
      continue;
    const auto &[factor, digit] = binding.terms.front();
    const Var *var = digit.as_var();
    auto range = var ? bounds.find(*var) : std::nullopt;
    if (range && factor == 1)
      bounds.set(*var, {range->low, std::min(range->high, *as_int(iter.extent) - 1)});
  }
  return bounds;
}

/// The guards that hold wherever the block executes. The guards of axes that index its buffer are not among
/// them, because lowering may fill tails.
std::vector<GuardedValue> guards_of_loops(const Block &block) {
  std::vector<GuardedValue> guards;
  for (const IterVar &iter : block.iters)
    if (iter.guarded && !indexes_result(block, iter))
      guards.push_back({iter.binding, iter.extent});
  return guards;
}

/// Describes as text which thread writes which element: the element and the guards that select threads. A
/// bound loop has the name of its axis, and a serial loop a number and its extent, in the order of their
/// uses.
std::string owners_text(const NestFacts &nest, const Block &block) {
  std::vector<Expr> parts = written_element(nest, block);
  std::size_t indices = parts.size();
  for (const IterVar &iter : block.iters)
    if (iter.guarded && !iter.is_summed() && !indexes_result(block, iter))
      parts.insert(parts.end(), {iter.binding, iter.extent});
  std::map<Var, Expr> names;
  for (const Expr &part : parts)
    walk(part, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      const For *loop = var && !names.contains(*var) ? find_loop(nest.program.body, *var) : nullptr;
      if (loop && loop->axis())
        names.emplace(*var, make_var(std::string(name(*loop->axis()))));
      else if (loop)
        names.emplace(*var, make_var(fmt::format("serial {} < {}", names.size(), to_string(loop->extent))));
    });
  std::string text;
  for (std::size_t n = 0; n < parts.size(); ++n)
    text += fmt::format("{}{}", to_string(substitute(simplify(parts[n], nest.bounds), names)),
                        n < indices ? "; " : " guarded; ");
  return text;
}

/// Whether both blocks write each element in the same thread. `one_writer` shows that the element and the
/// guards of a block determine its thread. So it is enough that both blocks have the same element and guards as
/// functions of their loops. Otherwise the element alone must determine the thread.
bool same_owners(NestFacts &nest, const Block &init, const Block &update) {
  return owners_text(nest, init) == owners_text(nest, update) ||
         !axis_of_other_thread(nest.program, init, update, update.body.buffer,
                               nest.lasting_loops(update.body.buffer));
}

} // namespace

std::vector<Obligation> one_writer(NestFacts &nest, const Block &block) {
  const Buffer &buffer = block.body.buffer;
  if (in_registers(buffer->scope) || (block.bulk && !is_bulk_store(block))) // one thread of a role issues it
    return {};
  std::vector<Var> lasting = nest.lasting_loops(buffer);
  std::set<Var> fixed(lasting.begin(), lasting.end());
  std::vector<Expr> known = known_of_element(nest, block);
  Bounds executed = bounds_of_executed(nest, block);
  std::vector<GuardedValue> guards = guards_of_loops(block);
  auto sharing = sharing_loops(nest, block);
  std::vector<Var> used;
  for (auto [axis, loop] : sharing)
    if (loop && std::ranges::any_of(known, [&](const Expr &e) { return uses(e, loop->var); }))
      used.push_back(loop->var);
  auto is_fixed = [&](const Var &var) { return fixed.contains(var); };
  // One by one only to find the one to name: what follows from the known values is the same for all.
  if (used.size() == sharing.size() && (used.empty() || determine(known, used, is_fixed, executed, guards)))
    return {};
  std::vector<Obligation> found;
  auto owe = [&](std::string message) {
    found.push_back(about_block(nest.schedule, block.id, std::move(message)));
  };
  for (auto [axis, loop] : sharing) {
    if (block.atomic) {
      if (!loop || !std::ranges::count(used, loop->var) ||
          !determine(known, {loop->var}, is_fixed, executed, guards))
        owe(repeated_text(block, name(axis), nest.extents.at(axis)));
      continue;
    }
    if (!loop || !std::ranges::count(used, loop->var))
      owe(fmt::format("block {} writes the same elements of {} ({} memory) for all {} indices of {}, which "
                      "is a data race; bind one of its loops to {}",
                      block.id->name, buffer->name, name(buffer->scope), nest.extents.at(axis), name(axis),
                      name(is_written_by_warps(nest, block) ? Axis::warp : axis)));
    else if (!determine(known, {loop->var}, is_fixed, executed, guards))
      owe(fmt::format(
          "block {} writes some elements of {} ({} memory) for several indices of {}, which is a data "
          "race; move it below a loop outside of {} with compute_at, and bind one of its own loops",
          block.id->name, buffer->name, name(buffer->scope), name(axis), loop->var->name));
  }
  return found;
}

std::vector<Obligation> atomics_in_global_memory(NestFacts &nest) {
  std::vector<Obligation> found;
  for (const Block *block : nest.blocks) {
    const Buffer &buffer = block->body.buffer;
    if (block->atomic && buffer->scope != Scope::global)
      found.push_back(about_block(
          nest.schedule, block->id,
          fmt::format("block {} combines its terms by atomics in {} memory, expected global memory; use "
                      "set_scope to move {} there",
                      block->id->name, name(buffer->scope), buffer->name)));
  }
  return found;
}

std::vector<Obligation> init_in_thread_of_update(NestFacts &nest) {
  std::vector<Obligation> found;
  std::map<Buffer, const Block *> inits;
  for (const Block *block : nest.blocks) {
    const Buffer &buffer = block->body.buffer;
    auto [init, first] = inits.try_emplace(buffer, block);
    if (first || in_registers(buffer->scope) || same_owners(nest, *init->second, *block))
      continue;
    found.push_back(about_block(
        nest.schedule, block->id,
        fmt::format("the blocks {} and {} write the elements of {} ({} memory) from different threads, which "
                    "is a data race; bind the loops of both to the same axes in the same way, or use "
                    "decompose_reduction after bind",
                    init->second->id->name, block->id->name, buffer->name, name(buffer->scope))));
  }
  return found;
}

} // namespace nestsmith::owed
