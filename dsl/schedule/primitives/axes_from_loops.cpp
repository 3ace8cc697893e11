#include "dsl/schedule/primitives/axes_from_loops.h"

#include "dsl/ir/loop_digits.h"
#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/reads.h"

#include "dsl/expr/expr_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith {

namespace {

void check_nest(const Schedule::Edit &edit, const Block &block) {
  require_serial_nest(edit, "axes_from_loops.nest", block);
  for (const IterVar &iter : block.iters)
    if (iter.guarded || iter.first.exists())
      edit.refuse("axes_from_loops.whole",
                  fmt::format("the axis {} of block {} {}; use axes_from_loops before {}", iter.var->name,
                              block.id->name, iter.guarded ? "has a guard" : "begins at a first value",
                              iter.guarded ? "a split that leaves a tail" : "rfactor"),
                  {block.id->name});
}

/// Whether the loop has one iteration, and the axis runs over another loop, too, of more iterations or before
/// it.
bool adds_nothing(const For &loop, const IterVar &iter, const std::vector<const For *> &loops) {
  if (as_int(loop.extent) != 1)
    return false;
  bool before = true;
  return std::ranges::any_of(loops, [&](const For *other) {
    before = before && other->var != loop.var;
    return other->var != loop.var && uses(iter.binding, other->var) && (before || as_int(other->extent) != 1);
  });
}

/// The axis that each loop becomes, outermost first. A loop of one iteration becomes none if no axis uses it,
/// or if its axis has another loop.
std::vector<IterVar> axes_of(const Schedule::Edit &edit, const Block &block) {
  std::vector<IterVar> axes;
  const std::vector<const For *> loops = edit.loops_around(block.id);
  for (const For *loop : loops) {
    const IterVar *summed = nullptr, *spatial = nullptr;
    for (const IterVar &iter : block.iters)
      if (uses(iter.binding, loop->var))
        (iter.is_summed() ? summed : spatial) = &iter;
    if (summed && spatial)
      edit.refuse("axes_from_loops.kind",
                  fmt::format("the loop {} runs over {}, which is spatial, and over {}, which is a reduction "
                              "axis; fuse loops of one kind",
                              loop->var->name, spatial->var->name, summed->var->name),
                  {loop->var->name, block.id->name});
    const IterVar *used = summed ? summed : spatial;
    if (used && !adds_nothing(*loop, *used, loops))
      axes.push_back({make_var_like(*loop->var), loop->extent, summed ? IterKind::reduction : IterKind::spatial,
                      Expr(loop->var)});
  }
  // A fused loop does not show an axis of one value, but the init needs a reduction axis.
  auto summed = std::ranges::find_if(block.iters, &IterVar::is_summed);
  if (summed != block.iters.end() && std::ranges::none_of(axes, &IterVar::is_summed))
    axes.push_back({make_var_like(*summed->var), Expr(1), IterKind::reduction, Expr(0)});
  return axes;
}

/// Bounds an axis, unless it has one value: it would become 0, but it is to stay an index.
void set_bounds(Bounds &bounds, const Var &axis, const Expr &extent) {
  if (as_int(extent) != 1)
    bounds.set_extent(axis, extent);
}

/// The value of each spatial loop, in terms of the spatial axes that it runs over: the digits of the loop in
/// the axes. After `cut`, an axis begins at a constant.
std::map<Var, Expr> values_of_loops(const Block &block, const std::vector<const For *> &loops,
                                    const Bounds &bounds) {
  std::map<Var, Expr> values;
  for (const For *loop : loops)
    values[loop->var] = Expr(0);
  for (const IterVar &iter : block.iters) {
    if (iter.is_summed())
      continue;
    std::vector<LoopDigit> digits = loop_digits(iter.binding, bounds).value();
    const Expr first(linearize(iter.binding, bounds).constant);
    for (const LoopDigit &digit : digits) {
      Expr part = floordiv(Expr(iter.var) - first, Expr(digit.scale));
      if (!as_shifted_var(iter.binding))
        part = floormod(part, digit.extent);
      values[digit.var] = values[digit.var] + part * digit.div;
    }
  }
  return values;
}

/// The temporary with one dimension for each spatial axis, and its index in terms of the index of the old one.
struct Reshaped {
  Buffer buffer;
  std::vector<Var> old;      ///< one for each old dimension
  std::vector<Expr> indices; ///< expressions of `old`
};

Reshaped reshape(const Schedule::Edit &edit, const Block &block, const std::vector<IterVar> &axes,
                 const Bounds &bounds) {
  const Buffer &buffer = block.body.buffer;
  if (writers_of(edit.body(), buffer).size() != 1)
    edit.refuse(
        "axes_from_loops.temporary",
        fmt::format("{} has several writers; use axes_from_loops before decompose_reduction", buffer->name),
        {block.id->name});
  if (buffer->layout)
    edit.refuse(
        "axes_from_loops.temporary",
        fmt::format("{} has a layout, which is one of its present dimensions; use axes_from_loops first",
                    buffer->name),
        {block.id->name});
  Reshaped result;
  std::map<Var, Expr> old_of_axis;
  for (const Expr &index : block.body.indices) {
    result.old.push_back(make_var("d"));
    if (const Var *axis = index.as<Var>())
      old_of_axis.emplace(*axis, Expr(result.old.back()));
  }
  Bounds old_bounds;
  for (const IterVar &iter : block.iters) {
    if (iter.is_summed())
      continue;
    auto found = old_of_axis.find(iter.var);
    if (found == old_of_axis.end())
      edit.refuse("axes_from_loops.temporary",
                  fmt::format("block {} writes {}, where its axis {} is not an index by itself, so the index "
                              "does not give the loops",
                              block.id->name, to_string(load(buffer, block.body.indices)), iter.var->name),
                  {block.id->name});
    set_bounds(old_bounds, *found->second.as<Var>(), iter.extent);
  }
  std::map<Var, Expr> loops = values_of_loops(block, edit.loops_around(block.id), bounds);
  auto node = std::make_shared<BufferNode>(*buffer);
  node->shape.clear();
  for (const IterVar &axis : axes)
    if (!axis.is_summed()) {
      node->shape.push_back(axis.extent);
      result.indices.push_back(
          simplify(substitute(loops.at(*axis.binding.as<Var>()), old_of_axis), old_bounds));
    }
  if (node->shape.empty()) { // of one element
    node->shape.emplace_back(1);
    result.indices.emplace_back(0);
  }
  result.buffer = std::move(node);
  return result;
}

/// Every access of `old` as one of the reshaped temporary.
Stmt with_reshaped(const Stmt &stmt, const Buffer &old, const Reshaped &reshaped) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return with_reshaped(child, old, reshaped); });
  if (!touches(*block, old))
    return stmt;
  Bounds bounds;
  for (const IterVar &iter : block->iters)
    set_bounds(bounds, iter.var, iter.extent);
  auto indices_of = [&](const std::vector<Expr> &from) {
    std::map<Var, Expr> values;
    for (std::size_t d = 0; d < from.size(); ++d)
      values.emplace(reshaped.old[d], from[d]);
    std::vector<Expr> indices;
    for (const Expr &index : reshaped.indices)
      indices.push_back(simplify(substitute(index, values), bounds));
    return indices;
  };
  Block changed = with_reads(*block, old, [&](const Load &access) {
    return load(reshaped.buffer, indices_of(access.indices), access.mask, access.fill);
  });
  auto redirect = [&](Store &store) {
    if (store.buffer == old)
      store = {reshaped.buffer, indices_of(store.indices), store.value};
  };
  redirect(changed.body);
  if (changed.init)
    redirect(*changed.init);
  return make_block(std::move(changed));
}

/// The block with these axes. Its present ones are expressions of them.
Block with_axes(const Block &block, std::vector<IterVar> axes) {
  std::map<Var, Expr> loops, values;
  Bounds bounds;
  for (const IterVar &axis : axes) {
    if (const Var *loop = axis.binding.as<Var>())
      loops.emplace(*loop, Expr(axis.var));
    set_bounds(bounds, axis.var, axis.extent);
  }
  for (const IterVar &iter : block.iters)
    values.emplace(iter.var, simplify(substitute(iter.binding,
                                                 [&](const Var &var) {
                                                   if (var->size)
                                                     return Expr();
                                                   auto found = loops.find(var);
                                                   return found == loops.end() ? Expr(0) : found->second;
                                                 }),
                                      bounds));
  // A value keeps its form, "element + term".
  auto simple = [&](const std::vector<Expr> &indices) {
    std::vector<Expr> result;
    for (const Expr &index : indices)
      result.push_back(simplify(index, bounds));
    return result;
  };
  Block changed = map_expressions(block, [&](const Expr &e) {
    return rebuild(substitute(e, values), [&](const Expr &node) {
      const auto *access = node.as<Load>();
      return access ? load(access->buffer, simple(access->indices), access->mask, access->fill, access->lanes)
                    : node;
    });
  });
  changed.body.indices = simple(changed.body.indices);
  if (changed.init)
    changed.init->indices = simple(changed.init->indices);
  changed.iters = std::move(axes);
  return changed;
}

} // namespace

constinit const Primitive primitives::axes_from_loops =
    primitive<&Schedule::axes_from_loops>("axes_from_loops", {block("block")});

void Schedule::axes_from_loops(BlockRef handle, Caller caller) {
  Edit edit(*this, caller, primitives::axes_from_loops, handle);
  const Block &block = edit.block(handle);
  check_nest(edit, block);
  std::vector<IterVar> axes = axes_of(edit, block);
  Bounds bounds = loop_bounds(edit.body());
  std::vector<Expr> bindings;
  for (const IterVar &iter : block.iters)
    bindings.push_back(iter.binding);
  if (!bijective(bindings, edit.loops_around(block.id), bounds))
    edit.refuse(
        "axes_from_loops.whole",
        fmt::format("the loops around block {} do not give its axes each combination of values once; use "
                    "axes_from_loops before compute_at and before a split that leaves a tail",
                    block.id->name),
        {block.id->name});
  std::optional<Reshaped> reshaped;
  if (block.body.buffer->role == Role::temporary)
    reshaped = reshape(edit, block, axes, bounds);
  Buffer old = block.body.buffer;
  Stmt body = replace(edit.body(), path_to(edit.body(), block.id).back(),
                      make_block(with_axes(block, std::move(axes))));
  edit.commit(reshaped ? with_reshaped(body, old, *reshaped) : body);
}

} // namespace nestsmith
