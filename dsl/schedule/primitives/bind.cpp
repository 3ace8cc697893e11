#include "dsl/schedule/primitives/bind.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/cluster.h"
#include "dsl/hardware/target.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/roles.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>
#include <map>

namespace nestsmith {

namespace {

void check_reductions(const Schedule::Edit &edit, const For &loop) {
  for (const Block *block : blocks_of(loop.body))
    for (const IterVar &iter : block->iters)
      if (!block->atomic && sums_over(*block, iter, loop.var))
        edit.refuse("bind.spatial",
                    fmt::format("block {0} reduces over {1}, so the iterations {1} = 0 and {1} = 1 would "
                                "update one element at the same "
                                "time; let threads combine their results with reduce_across, store partial "
                                "results with rfactor, use nondeterministic_atomics, "
                                "bind a spatial loop, or keep {1} serial",
                                block->id->name, loop.var->name),
                    {loop.var->name, block->id->name});
}

std::int64_t limit_of(const Schedule::Edit &edit, Axis axis) {
  const Target &target = edit.schedule().target();
  if (is_part_of_warps(axis))
    return axis == Axis::lane ? lanes_per_warp : target.thread_extent[0] / lanes_per_warp;
  return (is_thread(axis) ? target.thread_extent : target.grid_extent)[dimension(axis)];
}

/// Checks that the loops on warp, lane and threadIdx.x number the same threads.
void check_warps(const Schedule::Edit &edit, const For &loop, Axis axis,
                 const std::vector<const For *> &bound) {
  std::int64_t extent = as_int(loop.extent).value();
  if (axis == Axis::lane && extent != lanes_per_warp)
    edit.refuse(
        "bind.lane",
        fmt::format("the loop {} has {} iterations, but a warp has {} lanes; split or fuse it so that it has "
                    "{}",
                    loop.var->name, extent, lanes_per_warp, lanes_per_warp),
        {loop.var->name});
  for (const For *other : bound) {
    Axis theirs = *other->axis();
    auto is_other_axis = [](Axis x) { return is_thread(x) && dimension(x) != 0; };
    if ((is_part_of_warps(axis) && is_other_axis(theirs)) || (is_other_axis(axis) && is_part_of_warps(theirs)))
      edit.refuse(
          "bind.warps",
          fmt::format("the loop {} is bound to {}, but {} numbers the threads of threadIdx.x only; bind {} to "
                      "threadIdx.x, warp or lane",
                      other->var->name, name(theirs), name(is_part_of_warps(axis) ? axis : theirs),
                      loop.var->name),
          {loop.var->name, other->var->name});
    bool gets_threads = axis == Axis::thread_x && extent == 1;
    if (theirs == axis || !overlap(axis, theirs) || gets_threads)
      continue;
    const For &threads = axis == Axis::thread_x ? loop : *other, &part = axis == Axis::thread_x ? *other : loop;
    std::int64_t count = as_int(threads.extent).value();
    std::int64_t warps = *(axis == Axis::thread_x ? other->axis() : axis) == Axis::warp
                             ? as_int(part.extent).value()
                             : (count + lanes_per_warp - 1) / lanes_per_warp;
    if (count != warps * lanes_per_warp)
      edit.refuse(
          "bind.extent",
          fmt::format("the loop {} has {} iterations, but {} on {} needs {} threads on threadIdx.x; split it "
                      "so that they agree",
                      threads.var->name, count, part.var->name, name(axis == Axis::thread_x ? theirs : axis),
                      warps * lanes_per_warp),
          {threads.var->name, part.var->name});
  }
}

/// Whether a loop of one iteration may be bound to the axis where other loops on it have more. With roles, the
/// number of threads is that of a role.
bool has_idle_threads(Axis axis, const Program &program) {
  return is_thread(axis) && !is_part_of_warps(axis) && program.roles.empty();
}

/// The number of threads along the axis. Warps and lanes are digits of threadIdx.x.
std::int64_t threads_along(const Stmt &nest, Axis axis) {
  std::map<Axis, std::int64_t> extents = axis_extents(nest);
  if (axis == Axis::thread_x && extents.contains(Axis::lane))
    return extents.at(Axis::warp) * extents.at(Axis::lane);
  return extents.contains(axis) ? extents.at(axis) : 1;
}

/// Gives the loops of one iteration on the axis as many iterations as the other loops on it have. A guard of
/// their blocks lets only the first thread execute them. Blocks below another loop on the axis execute in the
/// threads of that loop.
Stmt with_idle_threads(const Program &program, Stmt nest, Axis axis) {
  if (!has_idle_threads(axis, program) || threads_along(nest, axis) == 1)
    return nest;
  Expr threads(threads_along(nest, axis));
  std::vector<const For *> loops = bound_loops(nest);
  std::erase_if(loops, [&](const For *loop) { return *loop->axis() != axis || as_int(loop->extent) != 1; });
  std::vector<Var> units;
  std::ranges::transform(loops, std::back_inserter(units), &For::var);
  for (const Var &unit : units) {
    const Stmt old = path_to(nest, unit).back();
    For loop = *as<For>(old);
    std::vector<BlockId> own;
    for (const Block *block : blocks_of(loop.body))
      if (std::ranges::none_of(loops_of(path_to(loop.body, block->id)), [&](const For *inner) {
            return inner->axis() && overlap(*inner->axis(), axis);
          }))
        own.push_back(block->id);
    loop = with_idle_iterations(std::move(loop), threads, own, loop_bounds(nest));
    nest = replace(nest, old, make_for(std::move(loop)));
  }
  return nest;
}

/// Checks a loop on `cluster` or, in a nest that has one, on blockIdx.z.
void check_cluster(const Schedule::Edit &edit, const For &loop, Axis axis,
                   const std::vector<const For *> &bound) {
  for (const For *other : bound)
    if (*other->axis() != axis && is_block(axis) && overlap(*other->axis(), axis))
      edit.refuse("bind.cluster",
                  fmt::format("the loop {} is bound to {}, and the blocks of a cluster are those along "
                              "blockIdx.z, expected one of these axes in a nest; bind {} to blockIdx.x or .y",
                              other->var->name, name(*other->axis()),
                              axis == Axis::cluster ? other->var->name : loop.var->name),
                  {loop.var->name, other->var->name});
  if (axis != Axis::cluster)
    return;
  if (std::string missing = why_not(Feature::clusters, edit.schedule().target().arch); !missing.empty())
    edit.refuse(
        "bind.cluster",
        fmt::format("{}; choose another architecture, or bind {} to a block axis", missing, loop.var->name),
        {loop.var->name});
  edit.require_constant("bind.constant", loop, "bound to cluster");
  const std::int64_t blocks = as_int(loop.extent).value();
  if (blocks > most_blocks_of_cluster || (blocks & (blocks - 1)) != 0)
    edit.refuse(
        "bind.cluster",
        fmt::format("the loop {} has {} iterations, but a cluster has 1, 2, 4 or {} blocks; split it and "
                    "bind a part",
                    loop.var->name, blocks, most_blocks_of_cluster),
        {loop.var->name});
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
  auto idles = [&](const For &unit) {
    return has_idle_threads(axis, edit.program()) && as_int(unit.extent) == 1;
  };
  for (const For *other : bound)
    if (*other->axis() == axis && !same(simplify(other->extent), simplify(loop.extent)) && !idles(loop) &&
        !idles(*other))
      edit.refuse("bind.extent",
                  fmt::format("the loop {} has {} iterations, but {} on {} has {}; split it so that they agree",
                              loop.var->name, to_string(loop.extent), other->var->name, name(axis),
                              to_string(other->extent)),
                  {loop.var->name, other->var->name});
  check_cluster(edit, loop, axis, bound);
  if (is_thread(axis))
    check_warps(edit, loop, axis, bound);
}

/// Checks the loops of one iteration on the axis that have a loop of more iterations on it below them. The
/// blocks below the inner loop execute again in each iteration that the outer loop gets, so they must not read
/// a parameter that is written there, and must not write what another block there adds to: an init would
/// clear a sum that is complete.
void check_idle_threads(const Schedule::Edit &edit, const Stmt &nest, Axis axis) {
  auto check = [&](const For &unit, const For &inner) {
    for (const Block *block : blocks_of(inner.body)) {
      for (const Block *other : writers_of(unit.body, block->body.buffer))
        if (other->id != block->id)
          edit.refuse("bind.extent",
                      fmt::format("the loop {0} has 1 iteration, but {1} below it on {2} has {3}, and block "
                                  "{4} writes {5}, which block {6} writes below {0}; leave {0} serial",
                                  unit.var->name, inner.var->name, name(axis), to_string(inner.extent),
                                  block->id->name, block->body.buffer->name, other->id->name),
                      {unit.var->name, inner.var->name, block->id->name});
      for (const Load *access : loads_of(*block)) {
        bool adds = access->buffer == block->body.buffer,
             written = !writers_of(unit.body, access->buffer).empty();
        if (!adds && (access->buffer->role == Role::temporary || !written))
          continue;
        edit.refuse(
            "bind.extent",
            fmt::format("the loop {0} has 1 iteration, but {1} below it on {2} has {3}, and block {4} reads "
                        "{5}, which is written below {0}; leave {0} serial",
                        unit.var->name, inner.var->name, name(axis), to_string(inner.extent), block->id->name,
                        access->buffer->name),
            {unit.var->name, inner.var->name, block->id->name});
      }
    }
  };
  for (const For *unit : bound_loops(nest))
    if (*unit->axis() == axis && as_int(unit->extent) == 1)
      for (const For *inner : bound_loops(unit->body))
        if (overlap(*inner->axis(), axis) && as_int(inner->extent) != 1)
          check(*unit, *inner);
}

/// Checks the number of threads of the nest in which the loop is bound.
void check_threads(const Schedule::Edit &edit, const For &loop, Stmt nest) {
  Program bound = edit.program();
  bound.body = std::move(nest);
  std::int64_t threads = threads_of(bound);
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

/// The bound loops of the nest that number the same threads or blocks as the loop would: those of its role.
std::vector<const For *> bound_loops_of_role(const Schedule::Edit &edit, const Stmt &nest, const For &loop,
                                             Axis axis) {
  std::vector<const For *> loops = bound_loops(nest);
  if (is_thread(axis))
    std::erase_if(loops, [&](const For *other) {
      return is_thread(*other->axis()) && role_of(edit.program(), *other) != role_of(edit.program(), loop);
    });
  return loops;
}

/// The kernel merges loops on one axis, so no block below both may depend on both.
void check_nested(const Schedule::Edit &edit, const For &outer, const For &inner, Axis axis) {
  const bool cluster = axis == Axis::cluster && *outer.axis() == *inner.axis();
  if (!is_thread(axis) && !cluster)
    edit.refuse(
        "bind.nested",
        fmt::format("the loops {} and {} are nested, and only a thread axis or cluster may be bound twice "
                    "in a nest; bind one of them to another axis",
                    outer.var->name, inner.var->name),
        {outer.var->name, inner.var->name});
  for (const Block *block : blocks_of(inner.body)) {
    bool uses_outer = false, uses_inner = false;
    for (const IterVar &iter : block->iters) {
      uses_outer = uses_outer || uses(iter.binding, outer.var);
      uses_inner = uses_inner || uses(iter.binding, inner.var);
    }
    if (uses_outer && cluster)
      edit.refuse(
          "bind.nested",
          fmt::format("block {} uses {}, so its elements differ between the blocks of a cluster, and no "
                      "block can copy a part of them for all; bind {} to another axis",
                      block->id->name, outer.var->name, inner.var->name),
          {outer.var->name, inner.var->name, block->id->name});
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

constinit const Primitive primitives::bind = primitive<&Schedule::bind>("bind", {loop("loop"), axis("axis")});

void Schedule::bind(Loop handle, Axis axis, Caller caller) {
  Edit edit(*this, caller, primitives::bind, handle, axis);
  const For &loop = edit.loop(handle);
  edit.require_serial("bind.serial", loop);
  check_reductions(edit, loop);
  Stmt nest = edit.nest_of(loop.var), old = path_to(edit.body(), loop.var).back();
  For copy = loop;
  copy.form = BoundTo{axis};
  Stmt made = make_for(std::move(copy));
  check_limits(edit, loop, axis, bound_loops_of_role(edit, nest, loop, axis));
  Stmt bound = replace(nest, old, made);
  check_idle_threads(edit, bound, axis);
  bound = with_idle_threads(program(), bound, axis);
  if (is_thread(axis))
    check_threads(edit, loop, bound);
  const For &now = *find_loop(bound, loop.var);
  for (const For *outer : loops_of(path_to(bound, loop.var)))
    if (outer->var != loop.var && outer->axis() && overlap(*outer->axis(), axis))
      check_nested(edit, *outer, now, axis);
  for (const For *inner : bound_loops(now.body))
    if (overlap(*inner->axis(), axis))
      check_nested(edit, now, *inner, axis);
  edit.commit(replace(edit.body(), nest, bound));
}

} // namespace nestsmith
