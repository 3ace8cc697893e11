#include "dsl/schedule/primitives/rfactor.h"

#include "dsl/schedule/primitives/sums.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// Whether the term needs loops of the sum only, apart from fixed ones: of two reduction axes that were fused
/// and split, (32*o + p)//R and (32*o + p) % R.
bool is_of_sum(const Block &sum, const Expr &e) {
  return !any_node(e, [&](const Expr &node) {
    const Var *var = node.as<Var>();
    return var && !(*var)->size && std::ranges::any_of(sum.iters, [&](const IterVar &iter) {
             return !iter.is_summed() && uses(iter.binding, *var);
           });
  });
}

/// For each axis, its first value in a part: the sum of its digits of the loop, with `part` in place of the
/// loop and 0 in place of the other loops. 0 for axes that do not use the loop.
std::vector<Expr> starts_of(const Schedule::Edit &edit, const For &loop, const Block &sum, const Var &part) {
  Bounds bounds = loop_bounds(edit.body());
  std::vector<Expr> starts, digits;
  std::set<Var> shared; // loops of a digit with the loop
  std::string summed;
  for (const IterVar &iter : sum.iters)
    if (sums_over(sum, iter, loop.var))
      summed += (summed.empty() ? "" : " and ") + iter.var->name;
  auto refuse = [&] {
    edit.refuse("rfactor.part",
                fmt::format("the loop {} runs over more than the axis {} of block {}, so its iterations "
                            "are not parts of the sum; use rfactor before fuse",
                            loop.var->name, summed, sum.id->name),
                {loop.var->name, sum.id->name});
  };
  bounds.set_extent(part, loop.extent);
  for (const IterVar &iter : sum.iters) {
    Linear own;
    for (const Term &term : linearize(iter.binding, bounds).terms) {
      if (!uses(term.digit.base, loop.var))
        continue;
      if (!iter.is_summed() || !is_of_sum(sum, term.digit.base))
        refuse();
      own.terms.push_back(term);
      for (const For *other : edit.loops_around(sum.id))
        if (other->var != loop.var && uses(term.digit.base, other->var))
          shared.insert(other->var);
    }
    digits.push_back(to_expr(own));
    starts.push_back(simplify(substitute(digits.back(),
                                         [&](const Var &var) {
                                           if (var->size)
                                             return Expr();
                                           return var == loop.var ? Expr(part) : Expr(0);
                                         }),
                              bounds));
  }
  if (!determine(
          digits, {loop.var}, [&](const Var &var) { return var != loop.var; }, bounds))
    refuse();
  // The init needs one instance in which each axis has its first value.
  if (!determine(
          digits, {shared.begin(), shared.end()}, [&](const Var &var) { return !shared.contains(var); },
          bounds))
    refuse();
  return starts;
}

void check_alone(const Schedule::Edit &edit, const Block &sum) {
  const Stmt nest = edit.nest_of(sum.id);
  for (const Block *other : blocks_of(nest))
    if (other->id != sum.id && touches(*other, sum.body.buffer))
      edit.refuse("rfactor.alone",
                  fmt::format("block {} uses {} in the nest of {}, and the sum is complete only after that "
                              "nest; use rfactor before moving the blocks into one nest",
                              other->id->name, sum.body.buffer->name, sum.id->name),
                  {other->id->name, sum.id->name});
}

/// The block that computes the partial sums: the sum with the loop as a new spatial axis in front.
Block partial_sums(const Schedule::Edit &edit, const Block &sum, const For &loop, const Buffer &parts,
                   const BlockId &id) {
  Block block = sum;
  block.id = id;
  IterVar part{make_var_like(*loop.var), loop.extent, IterKind::spatial, Expr(loop.var)};
  std::vector<Expr> starts = starts_of(edit, loop, sum, part.var);
  for (std::size_t n = 0; n < starts.size(); ++n)
    if (IterVar &axis = block.iters[n]; as_int(starts[n]) != 0)
      axis.first = axis.first.exists() ? axis.first + starts[n] : starts[n];
  std::vector<Expr> indices{Expr(part.var)};
  indices.insert(indices.end(), block.body.indices.begin(), block.body.indices.end());
  block.body = {parts, indices, combine(sum.reducer, load(parts, indices), term_of(sum).value())};
  // The sum of the parts has the init.
  block.init = Store{parts, indices, identity_of(sum.reducer, parts->dtype)};
  block.iters.insert(block.iters.begin(), std::move(part));
  return block;
}

/// The block that adds the partial sums. It keeps the name of the sum.
Block sum_of_parts(const Block &sum, const For &loop, const Buffer &parts) {
  Block block{sum.id, {}, {}, sum.body};
  std::map<Var, Expr> renamed;
  for (const IterVar &iter : sum.iters)
    if (indexes_result(sum, iter)) {
      block.iters.push_back({make_var(iter.var->name), iter.extent, IterKind::spatial, Expr(0)});
      renamed[iter.var] = block.iters.back().var;
    }
  Var part = make_var_like(*loop.var);
  block.iters.push_back({part, loop.extent, IterKind::reduction, Expr(0)});
  std::vector<Expr> element, from{Expr(part)};
  for (const Expr &index : sum.body.indices) {
    element.push_back(substitute(index, renamed));
    from.push_back(element.back());
  }
  const Buffer &buffer = sum.body.buffer;
  block.init = Store{buffer, element, substitute(sum.init->value, renamed)};
  block.body = Store{buffer, element, combine(sum.reducer, load(buffer, element), load(parts, from))};
  block.reducer = sum.reducer;
  return block;
}

} // namespace

constinit const Primitive primitives::rfactor = primitive<&Schedule::rfactor>("rfactor", {loop("loop")});

BlockRef Schedule::rfactor(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::rfactor, handle);
  const For &loop = edit.loop(handle);
  const Block &sum = find_sum(edit, "rfactor.sum", "rfactor", loop);
  edit.require_serial("rfactor.serial", loop);
  check_alone(edit, sum);
  require_contiguous_ranges(edit, "rfactor.order", "rfactor", sum, loop);
  require_whole(edit, "rfactor.whole", sum);

  const Buffer &buffer = sum.body.buffer;
  std::string name = edit.result_name(0, buffer->name + "_rf");
  std::vector<Expr> shape{loop.extent};
  shape.insert(shape.end(), buffer->shape.begin(), buffer->shape.end());
  auto parts = std::make_shared<const BufferNode>(
      BufferNode{name, buffer->dtype, shape, Scope::global, Role::temporary});
  auto id = std::make_shared<const BlockSymbol>(BlockSymbol{name});

  Block partial = partial_sums(edit, sum, loop, parts, id);
  Block adds_up = sum_of_parts(sum, loop, parts);
  Region whole;
  for (const IterVar &iter : adds_up.iters)
    if (iter.kind == IterKind::spatial)
      whole.push_back({Expr(0), iter.extent});
  Stmt after = nest_over(edit, std::move(adds_up), whole, {});
  Stmt old = path_to(edit.body(), sum.id).back();
  Stmt body = replace(edit.body(), old, make_block(std::move(partial)));
  edit.commit(insert_after(body, id, after), {name});
  return {id};
}

} // namespace nestsmith
