#include "dsl/primitives/bind.h"

#include "dsl/primitives/edit.h"
#include "dsl/printer.h"

#include <fmt/format.h>
#include <map>

namespace nestsmith::primitives {

namespace {

std::vector<const For *> bound_loops(const Stmt &root) {
  std::vector<const For *> found;
  walk(root, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt); loop && loop->is<BoundTo>())
      found.push_back(loop);
    return true;
  });
  return found;
}

/// The nest that contains the loop. It becomes a separate kernel.
Stmt nest_of(const Stmt &root, const For &loop) {
  Path path = path_to(root, loop.var);
  return as<Seq>(path.front()) ? path[1] : path.front();
}

void check_reductions(const Schedule::Edit &edit, const For &loop) {
  for (const Block *block : blocks_of(loop.body))
    for (const IterVar &iter : block->iters)
      if (sums_over(*block, iter, loop.var))
        edit.refuse(
            "bind.spatial",
            fmt::format(
                "block {} sums over {}, so the iterations {} = 0 and {} = 1 would add to one element at "
                "the same time; make it a spatial axis of partial sums with rfactor, bind a spatial loop, or "
                "keep "
                "{} serial",
                block->id->name, loop.var->name, loop.var->name, loop.var->name, loop.var->name),
            {loop.var->name, block->id->name});
}

std::int64_t limit_of(const Schedule::Edit &edit, Axis axis) {
  const Target &target = edit.schedule().target();
  auto index = static_cast<std::size_t>(axis) % 3;
  return is_thread(axis) ? target.thread_extent[index] : target.grid_extent[index];
}

/// Checks the extent against the limit of the axis. If the extent depends on sizes, the launcher checks it
/// against the limit of the grid.
void check_limits(const Schedule::Edit &edit, const For &loop, Axis axis,
                  const std::vector<const For *> &bound) {
  if (is_thread(axis))
    edit.require_constant("bind.constant", loop, "bound to " + std::string(name(axis)));
  std::int64_t limit = limit_of(edit, axis);
  if (auto range = range_of(loop.extent, {}); range && range->low > limit)
    edit.refuse("bind.limit",
                fmt::format("the loop {} has {} iterations, but {} takes at most {}; split it and bind a part",
                            loop.var->name, to_string(loop.extent), name(axis), limit),
                {loop.var->name});
  for (const For *other : bound)
    if (*other->axis() == axis && !same(simplify(other->extent), simplify(loop.extent)))
      edit.refuse("bind.extent",
                  fmt::format("the loop {} has {} iterations, but {} on {} has {}; split it so that they agree",
                              loop.var->name, to_string(loop.extent), other->var->name, name(axis),
                              to_string(other->extent)),
                  {loop.var->name, other->var->name});
  if (!is_thread(axis))
    return;
  std::map<Axis, std::int64_t> extents{{axis, as_int(loop.extent).value()}};
  for (const For *other : bound)
    if (is_thread(*other->axis()))
      extents[*other->axis()] = as_int(other->extent).value();
  std::int64_t threads = 1;
  for (auto [other, value] : extents)
    threads *= value;
  const Target &target = edit.schedule().target();
  if (threads > target.threads_per_block)
    edit.refuse(
        "bind.limit",
        fmt::format(
            "a block would have {} threads, but {} takes at most {}; split the loop {} and bind a smaller "
            "part",
            threads, to_string(target.arch), target.threads_per_block, loop.var->name),
        {loop.var->name});
}

/// The kernel merges loops on one axis, so no block below both may depend on both.
void check_nested(const Schedule::Edit &edit, const For &outer, const For &inner, Axis axis) {
  if (!is_thread(axis))
    edit.refuse("bind.nested",
                fmt::format("the loops {} and {} are nested, and only a thread axis may be bound twice in a "
                            "nest; bind one of them to another axis",
                            outer.var->name, inner.var->name),
                {outer.var->name, inner.var->name});
  for (const Block *block : blocks_of(inner.body)) {
    bool uses_outer = false, uses_inner = false;
    for (const IterVar &iter : block->iters) {
      uses_outer = uses_outer || uses(iter.binding, outer.var);
      uses_inner = uses_inner || uses(iter.binding, inner.var);
    }
    if (uses_outer && uses_inner)
      edit.refuse("bind.nested",
                  fmt::format("block {} uses both {} and {}, but a thread has one index on an axis, so the "
                              "iterations with {} != {} would be lost; bind one of the loops to another axis",
                              block->id->name, outer.var->name, inner.var->name, outer.var->name,
                              inner.var->name),
                  {outer.var->name, inner.var->name, block->id->name});
  }
}

} // namespace

void bind(Schedule &schedule, Loop handle, Axis axis) {
  Schedule::Edit edit(schedule, "bind", {LoopName{loop_name(handle)}, Word{std::string(name(axis))}});
  const For &loop = edit.loop(handle);
  edit.require_serial("bind.serial", loop);
  check_reductions(edit, loop);
  check_limits(edit, loop, axis, bound_loops(nest_of(edit.body(), loop)));
  for (const For *outer : loops_of(path_to(edit.body(), loop.var)))
    if (outer->axis() == axis)
      check_nested(edit, *outer, loop, axis);
  for (const For *inner : bound_loops(loop.body))
    if (*inner->axis() == axis)
      check_nested(edit, loop, *inner, axis);
  For copy = loop;
  copy.form = BoundTo{axis};
  edit.commit(replace(edit.body(), path_to(edit.body(), loop.var).back(), make_for(std::move(copy))));
}

} // namespace nestsmith::primitives
