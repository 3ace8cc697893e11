#include "dsl/schedule/primitives/cut_sum.h"

#include "dsl/expr/expr_text.h"
#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/reads.h"
#include "dsl/schedule/primitives/sums.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

void check_buffer(const Schedule::Edit &edit, const Block &sum) {
  const Buffer &buffer = sum.body.buffer;
  if (buffer->role != Role::temporary)
    edit.refuse("cut_sum.sum",
                fmt::format("block {} writes the parameter {}, which nothing reads; use cache_write first, so "
                            "that a block of its own stores the sum",
                            sum.id->name, buffer->name),
                {sum.id->name});
  for (const Block *writer : writers_of(edit.body(), buffer))
    if (writer->id != sum.id)
      edit.refuse("cut_sum.sum",
                  fmt::format("block {} writes {}, too; name a sum that one block computes", writer->id->name,
                              buffer->name),
                  {writer->id->name, sum.id->name});
}

/// The position of the axis that is the loop by itself.
std::size_t axis_of(const Schedule::Edit &edit, const Block &sum, const For &loop) {
  for (std::size_t n = 0; n < sum.iters.size(); ++n) {
    const Var *var = sum.iters[n].binding.as<Var>();
    if (var && *var == loop.var && sum.iters[n].is_summed() && !sum.iters[n].guarded &&
        !sum.iters[n].first.exists())
      return n;
  }
  edit.refuse("cut_sum.axis",
              fmt::format("the loop {} is only a part of an axis of block {}, expected one that is an axis by "
                          "itself; use cut_sum before split and fuse",
                          loop.var->name, sum.id->name),
              {loop.var->name, sum.id->name});
}

/// The sum of the terms from `point` on.
Block rest_of(const Block &sum, std::size_t axis, std::int64_t point, const Buffer &buffer, const BlockId &id) {
  Block rest = sum;
  IterVar &iter = rest.iters[axis];
  const Var own = make_var_like(*iter.var);
  const Expr moved = Expr(own) + point;
  rest = map_expressions(std::move(rest), [&](const Expr &e) {
    return substitute(e, [&](const Var &var) { return var == sum.iters[axis].var ? moved : Expr(); });
  });
  rest.iters[axis].var = own;
  rest.iters[axis].extent = simplify(sum.iters[axis].extent - point, {});
  rest.id = id;
  rest.body = {buffer, sum.body.indices,
               combine(sum.reducer, load(buffer, sum.body.indices), term_of(rest).value())};
  rest.init = Store{buffer, sum.body.indices, identity_of(sum.reducer, buffer->dtype)};
  return rest;
}

/// The nest with the first `point` terms.
Stmt with_first_terms(const Stmt &stmt, const Block &sum, std::size_t axis, const For &loop,
                      std::int64_t point) {
  if (const auto *block = as<Block>(stmt)) {
    Block first = *block;
    if (block->id == sum.id)
      first.iters[axis].extent = Expr(point);
    return make_block(std::move(first));
  }
  Stmt changed =
      map_children(stmt, [&](const Stmt &child) { return with_first_terms(child, sum, axis, loop, point); });
  const auto *around = as<For>(changed);
  if (!around || around->var != loop.var)
    return changed;
  For shorter = *around;
  shorter.extent = Expr(point);
  return make_for(std::move(shorter));
}

/// Everything that reads `sum`, apart from the block of it, reads both.
Stmt with_both(const Stmt &stmt, const Block &sum, const Buffer &rest) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return with_both(child, sum, rest); });
  if (block->id == sum.id || !reads(*block, sum.body.buffer))
    return stmt;
  return make_block(with_reads(*block, sum.body.buffer, [&](const Load &access) {
    auto of = [&](const Buffer &buffer, const Expr &fill) {
      return load(buffer, access.indices, access.mask, fill, access.lanes);
    };
    // Where the mask is false, the fill of the sum counts, and once.
    const Expr nothing = access.mask.exists() ? identity_of(sum.reducer, rest->dtype) : access.fill;
    return combine(sum.reducer, of(access.buffer, access.fill), of(rest, nothing));
  }));
}

/// Puts the nest of the block before all nests that need not be before it.
std::vector<Stmt> placed_first(std::vector<Stmt> nests, std::size_t before, const Stmt &nest,
                               const Block &block) {
  auto needs = [&](const Stmt &other) {
    return std::ranges::any_of(blocks_of(other),
                               [&](const Block *writer) { return reads(block, writer->body.buffer); });
  };
  auto joined = [](const Stmt &other) {
    const auto *outer = as<For>(other);
    return outer && outer->shares_launch();
  };
  std::size_t place = before;
  for (std::size_t n = before; n > 0 && !needs(nests[n - 1]); --n)
    if (!joined(nests[n - 1]))
      place = n - 1;
  nests.insert(nests.begin() + static_cast<std::ptrdiff_t>(place), nest);
  return nests;
}

} // namespace

constinit const Primitive primitives::cut_sum =
    primitive<&Schedule::cut_sum>("cut_sum", {loop("loop"), integer("point", 1, 8)});

BlockRef Schedule::cut_sum(Loop handle, std::int64_t point, Caller caller) {
  Edit edit(*this, caller, primitives::cut_sum, handle, point);
  const For &loop = edit.loop(handle);
  const Block &sum = find_sum(edit, "cut_sum.sum", "cut_sum", loop);
  require_serial_nest(edit, "cut_sum.nest", sum);
  check_buffer(edit, sum);
  const std::size_t axis = axis_of(edit, sum, loop);
  require_contiguous_ranges(edit, "cut_sum.order", "cut_sum", sum, loop);
  if (point < 1 || !proves(Expr(point) < loop.extent, loop_bounds(edit.body())))
    edit.refuse("cut_sum.point",
                fmt::format("got the point {} of the loop {}, which has {} iterations, expected 1 or more, and "
                            "fewer than the iterations for all sizes",
                            point, loop.var->name, to_string(loop.extent)),
                {loop.var->name});

  const Buffer &buffer = sum.body.buffer;
  const std::string name = edit.result_name(0, buffer->name + "_rest");
  auto rest = std::make_shared<const BufferNode>(
      BufferNode{name, buffer->dtype, buffer->shape, Scope::global, Role::temporary});
  auto id = std::make_shared<const BlockSymbol>(BlockSymbol{name});
  const Block other = rest_of(sum, axis, point, rest, id);
  Region whole;
  for (const IterVar &iter : other.iters)
    if (iter.kind == IterKind::spatial)
      whole.push_back({Expr(0), iter.extent});
  const Stmt nest = nest_over(edit, other, whole, {});

  std::vector<Stmt> nests = nests_of(edit.body());
  const auto own = static_cast<std::size_t>(std::ranges::find(nests, edit.nest_of(sum.id)) - nests.begin());
  for (Stmt &each : nests)
    each = with_both(each, sum, rest);
  nests[own] = with_first_terms(nests[own], sum, axis, loop, point);
  edit.commit(make_seq(placed_first(std::move(nests), own, nest, other)), {name});
  return {id};
}

} // namespace nestsmith
