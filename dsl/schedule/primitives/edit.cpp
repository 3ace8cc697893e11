#include "dsl/schedule/primitives/edit.h"

#include "dsl/expr/identifier.h"
#include "dsl/expr/printable.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/hardware/verify.h"
#include "dsl/ir/pipeline.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/skip_tiles.h"
#include "dsl/ir/snake.h"
#include "dsl/ir/term_order.h"
#include "dsl/schedule/primitives/loop_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace nestsmith {

namespace {

/// The names live as long as the program's nodes.
std::vector<std::string_view> names_in(const Program &program) {
  std::vector<std::string_view> names;
  names.reserve(64);
  for (const Buffer &buffer : program.params)
    names.push_back(buffer->name);
  for (const auto *vars : {&program.scalars, &program.sizes})
    for (const Var &var : *vars)
      names.push_back(var->name);
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt))
      names.push_back(loop->var->name);
    if (const auto *block = as<Block>(stmt)) {
      names.push_back(block->id->name);
      names.push_back(block->body.buffer->name);
    }
    return true;
  });
  return names;
}

/// A loop over lanes around a block that combines its terms by atomics, and the block.
std::optional<std::pair<const For *, const Block *>> find_atomic_lane(const Stmt &body) {
  std::optional<std::pair<const For *, const Block *>> found;
  walk(body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->over_lanes())
      for (const Block *block : blocks_of(loop->body))
        if (block->atomic && !found)
          found = {loop, block};
    return !found;
  });
  return found;
}

} // namespace

void Schedule::Edit::refuse(const char *requirement, const std::string &message,
                            const std::vector<std::string> &culprits) const {
  throw ScheduleError(requirement, to_cpp(primitive_, directive_, ""), message,
                      print_marked(program(), culprits), std::make_shared<const Schedule>(schedule_));
}

bool Schedule::Edit::is_taken(const std::string &name) {
  if (!present_)
    present_ = names_in(program());
  bool present = std::find(present_->begin(), present_->end(), name) != present_->end();
  return given_.count(name) || (present && !released_.count(name));
}

void Schedule::Edit::check_chosen_names() {
  for (const std::string &name : chosen_names()) {
    std::string shown = printable(name.substr(0, 40));
    if (!is_identifier(name) || is_cpp_keyword(name) || name.size() > most_identifier_length)
      refuse("any.named",
             fmt::format(
                 "got the name '{}', expected an identifier of at most {} letters that is no keyword of C++",
                 shown, most_identifier_length));
    if (is_taken(name))
      refuse("any.named",
             fmt::format("the name '{}' is taken; choose one that no loop, block or buffer has", shown));
    given_.insert(name);
  }
}

std::string Schedule::Edit::result_name(std::size_t n, const std::string &wanted) {
  return n < chosen_names().size() ? chosen_names()[n] : name(wanted);
}

std::string Schedule::Edit::name(const std::string &wanted) {
  // Names derive from names: each split and fusion of the same loops would double their length.
  std::string base = wanted.substr(0, most_identifier_length);
  std::string result = base;
  for (int n = 1; is_taken(result); ++n)
    result = fmt::format("{}_{}", base, n);
  given_.insert(result);
  return result;
}

void Schedule::Edit::release(const Stmt &stmt) {
  if (const auto *loop = as<For>(stmt))
    released_.insert(loop->var->name);
}

void Schedule::Edit::commit(Stmt body, std::vector<std::string> results) {
  Program next = program();
  next.body = std::move(body);
  commit(std::move(next), std::move(results));
}

void Schedule::Edit::commit(Program next, std::vector<std::string> results) {
  if (!chosen_names().empty() && chosen_names() != results)
    refuse("any.named",
           fmt::format("number of names: got {}, expected {}, the number of loops or blocks that {} makes",
                       chosen_names().size(), results.size(), directive_.op));
  if (const For *lanes = crowded_lanes(next))
    refuse(
        "any.lanes",
        fmt::format("the loop {0} is {1} and must contain exactly one block{2}, but this directive would {3} "
                    "loops or blocks below it; apply it before {0} is {1}, or choose a loop outside of {0}",
                    lanes->var->name, nestsmith::name(lanes->form),
                    lanes->intrinsic() ? " and the serial loops of its nest" : "",
                    lanes->intrinsic() ? "change" : "add"),
        {lanes->var->name});
  if (auto lane = find_atomic_lane(next.body))
    refuse(
        "any.atomics",
        fmt::format("block {0} combines its terms by atomics, and the loop {1} around it is {2}, but a thread "
                    "makes one atomic operation at a time; unroll {1} instead",
                    lane->second->id->name, lane->first->var->name, nestsmith::name(lane->first->form)),
        {lane->first->var->name, lane->second->id->name});
  if (auto breach = find_breach(next, &program()))
    internal_error(fmt::format("after {}: {}\n{}", to_cpp(primitive_, directive_), *breach, print(next)));
  if (auto breach = find_order_breach(next))
    refuse("any.order",
           fmt::format(
               "block {0} combines its terms by {1}, which is not commutative, in the order of {2}; with "
               "{3} inside of {4} another order results; keep {3} outside of {4}",
               breach->block->name, breach->reducer, breach->axes, breach->outer->name, breach->inner->name),
           {breach->block->name, breach->outer->name, breach->inner->name});
  if (auto breach = find_pipeline_breach(next))
    refuse(breach->requirement, breach->message, breach->culprits);
  if (auto breach = find_snake_breach(next, schedule_.trace_.empty() ? nullptr : &program()))
    refuse(breach->requirement, breach->message, breach->culprits);
  for (const auto &find : {find_skip_breach, find_idle_skip})
    if (auto breach = find(next))
      refuse(breach->requirement, breach->message, breach->culprits);
  directive_.results = std::move(results);
  schedule_.steps_.push_back(std::move(next));
  schedule_.trace_.push_back(std::move(directive_));
  schedule_.owed_ = std::make_shared<Owed>();
}

const For &Schedule::Edit::loop(Loop handle) const {
  const For *found = handle.var ? find_loop(body(), handle.var) : nullptr;
  if (!found)
    refuse("any.handle", schedule_.why_missing(handle));
  return *found;
}

const Block &Schedule::Edit::block(BlockRef handle) const {
  const Block *found = handle.id ? find_block(body(), handle.id) : nullptr;
  if (!found)
    refuse("any.handle", schedule_.why_missing(handle));
  return *found;
}

Stmt Schedule::Edit::replace_loop(const For &loop, const Stmt &changed) const {
  return replace(body(), path_to(body(), loop.var).back(), changed);
}

std::string form_of(const For &loop) {
  return loop.axis() ? fmt::format("bound to {}", name(*loop.axis())) : std::string(name(loop.form));
}

void Schedule::Edit::require_serial(const char *requirement, const For &loop) const {
  const auto *serial = std::get_if<Serial>(&loop.form);
  if (const char *time = !loop.pipeline().empty()       ? "pipelined"
                         : loop.partitioned()           ? "partitioned"
                         : loop.skipping()              ? "skipping"
                         : serial && serial->copies > 1 ? "unrolled by a number"
                                                        : nullptr)
    refuse(requirement,
           fmt::format("the loop {} is {}, expected a serial loop; do this before it is {}", loop.var->name,
                       time, time),
           {loop.var->name});
  if (serial)
    return;
  refuse(requirement,
         fmt::format("the loop {} is {}, expected a serial loop; do this before it is {}", loop.var->name,
                     form_of(loop), nestsmith::name(loop.form)),
         {loop.var->name});
}

void Schedule::Edit::require_no_pipeline_around(const char *requirement, const For &loop,
                                                const std::string &remedy) const {
  for (const For *outer : loops_around(loop.var))
    if (!outer->pipeline().empty())
      refuse(requirement,
             fmt::format("the loop {} around {} is pipelined, and its stages name the blocks below {}; {}",
                         outer->var->name, loop.var->name, loop.var->name, remedy),
             {outer->var->name, loop.var->name});
}

std::int64_t Schedule::Edit::require_constant(const char *requirement, const For &loop,
                                              const std::string &done) const {
  if (auto extent = as_int(loop.extent))
    return *extent;
  refuse(requirement,
         fmt::format("the loop {} has {} iterations, a number known only at launch, and only a loop of a "
                     "constant extent can be {}; split it and use the inner loop",
                     loop.var->name, to_string(loop.extent), done),
         {loop.var->name});
}

Stmt refresh_bindings(const Stmt &stmt, const Bounds &bounds) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return refresh_bindings(child, bounds); });
  Block copy = *block;
  bool kept = true;
  for (IterVar &iter : copy.iters) {
    Expr binding = simplify(iter.binding, bounds);
    bool guarded = !proves(Expr(0) <= binding, bounds) || !proves(binding < iter.extent, bounds);
    kept = kept && guarded == iter.guarded && same(binding, iter.binding);
    iter.binding = binding;
    iter.guarded = guarded;
  }
  return kept ? stmt : make_block(std::move(copy));
}

bool is_loop_of_sum(const Block &block, const Var &loop) {
  return std::ranges::any_of(block.iters, [&](const IterVar &iter) { return sums_over(block, iter, loop); });
}

Stmt with_guards(const Stmt &stmt, const For &loop, const std::vector<BlockId> &blocks) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return with_guards(child, loop, blocks); });
  if (std::ranges::find(blocks, block->id) == blocks.end())
    return stmt;
  IterVar guard{make_var_like(*loop.var), loop.extent, IterKind::spatial, Expr(loop.var)};
  if (is_loop_of_sum(*block, loop.var))
    guard.kind = IterKind::reduction;
  Block copy = *block;
  if (as_int(loop.extent) == 1) // where the guard holds, the loop is 0
    for (IterVar &iter : copy.iters)
      iter.binding =
          substitute(iter.binding, [&](const Var &var) { return var == loop.var ? Expr(0) : Expr(); });
  copy.iters.push_back(std::move(guard));
  return make_block(std::move(copy));
}

For with_idle_iterations(For loop, const Expr &extent, const std::vector<BlockId> &blocks, Bounds bounds) {
  Stmt first = substitute_loops(loop.body, [&](const Var &var) { return var == loop.var ? Expr(0) : Expr(); });
  loop.body = with_guards(first, loop, blocks);
  loop.extent = extent;
  bounds.set_extent(loop.var, extent);
  loop.body = refresh_bindings(loop.body, bounds);
  return loop;
}

std::vector<const For *> bound_loops(const Stmt &root) {
  std::vector<const For *> found;
  walk(root, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt); loop && loop->is<BoundTo>())
      found.push_back(loop);
    return true;
  });
  return found;
}

For with_pipeline(For loop, std::vector<BlockStage> stages) {
  if (auto *serial = std::get_if<Serial>(&loop.form))
    serial->pipeline = std::move(stages);
  else
    std::get<Unrolled>(loop.form).pipeline = std::move(stages);
  return loop;
}

std::vector<const Block *> writers_of(const Stmt &root, const Buffer &buffer) {
  std::vector<const Block *> found = blocks_of(root);
  std::erase_if(found, [&](const Block *block) { return block->body.buffer != buffer; });
  return found;
}

std::vector<const Block *> readers_of(const Stmt &root, const Buffer &buffer) {
  std::vector<const Block *> found = blocks_of(root);
  std::erase_if(found,
                [&](const Block *block) { return block->body.buffer == buffer || !reads(*block, buffer); });
  return found;
}

namespace {

/// The steps in which a reduction axis runs from its first value on: their number and their size.
struct Steps {
  Expr count;
  std::int64_t size;
};

Steps steps_of(const Schedule::Edit &edit, const Block &block, const IterVar &axis, const Bounds &bounds) {
  if (!axis.first.exists())
    return {axis.extent, 1};
  Linear run = linearize(in_loops(Expr(axis.var) - axis.first, block, bounds), bounds);
  // The step of each digit, and the number of its values.
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;
  for (const Term &term : run.terms)
    if (auto values = range_of(term.digit, bounds); !values || values->low != values->high)
      digits.emplace_back(term.coefficient, values ? values->high - values->low + 1 : 0);
  std::sort(digits.begin(), digits.end());
  auto range = range_of(to_expr(run), bounds);
  if (digits.empty() && range && range->low == 0) // one step
    return {1, 1};
  // There are no gaps if each step is as large as the reach of all smaller ones. The largest step may occur any
  // number of times.
  bool even = !digits.empty();
  std::int64_t size = even ? digits.front().first : 1, next = size;
  for (auto [step, count] : digits) {
    even = even && step == next;
    next = step * count;
  }
  auto last = highest(to_expr(run), bounds);
  if (!even || !range || range->low != 0 || !last)
    edit.refuse(
        "compute_at.steps",
        fmt::format(
            "the loops of block {} do not advance its sum over {} from the first index, {}, in equal steps, so "
            "they cannot be rebuilt; apply this directive before they are fused or split further",
            block.id->name, axis.var->name, to_string(axis.first)),
        {block.id->name});
  return {simplify(floordiv(*last, Expr(size)) + Expr(1)), size};
}

} // namespace

/// A lower bound of an expression of sizes, without the divisions of tiles that are rounded up: 32*(x//32) is
/// at least x - 31, and x - 24 if x is a multiple of 8.
static Expr without_tiles(const Expr &e) {
  Expr result = 0;
  bool reduced = false;
  Linear sum = linearize(e, {});
  for (const auto &[factor, digit] : sum.terms) {
    Linear base = linearize(digit.base, {});
    std::int64_t unit = std::gcd(digit.div, base.constant);
    for (const Term &term : base.terms)
      unit = std::gcd(unit, term.coefficient);
    std::int64_t tile = digit.div / unit;
    const auto *op = digit.base.as<Binary>();
    bool rises = factor > 0 && digit.mod == 0;
    if (rises && tile > 1 && factor % tile == 0) {
      result = result + (floordiv(digit.base, Expr(unit)) - Expr(tile - 1)) * Expr(factor / tile);
      reduced = true;
    } else if (rises && digit.div == 1 && op && op->op == BinaryOp::floordiv && proves(Expr(0) < op->b, {})) {
      Expr least = without_tiles(op->a);
      result = result + floordiv(least, op->b) * Expr(factor);
      reduced = reduced || !same(least, op->a);
    } else {
      result = result + to_expr(Linear{{{factor, digit}}, 0});
    }
  }
  result = simplify(result + Expr(sum.constant));
  return reduced ? without_tiles(result) : result;
}

bool covers_extent(const IterVar &iter, const Bounds &bounds) {
  auto range = range_of(iter.binding, bounds);
  auto last = highest(iter.binding, bounds);
  if (!range || range->low > 0 || !last)
    return false;
  Expr end = simplify(*last + Expr(1), bounds);
  return proves(iter.extent <= end, bounds) || proves(iter.extent <= without_tiles(end), bounds);
}

/// Whether the loops in the bindings of the axes that index the buffer have too few iterations for all
/// elements: i and j of one loop, as in i//16 and i. Only for constant extents.
static bool has_too_few_iterations(const Block &block, const std::vector<const For *> &loops) {
  std::int64_t elements = 1, iterations = 1;
  auto add = [](const Expr &extent, std::int64_t &product) {
    auto value = as_int(extent);
    return value && !__builtin_mul_overflow(product, *value, &product);
  };
  auto indexes = [&](const IterVar &iter) { return indexes_result(block, iter); };
  for (const IterVar &iter : block.iters)
    if (indexes(iter) && !add(iter.extent, elements))
      return false;
  for (const For *loop : loops) {
    bool used = std::ranges::any_of(
        block.iters, [&](const IterVar &iter) { return indexes(iter) && uses(iter.binding, loop->var); });
    if (used && !add(loop->extent, iterations))
      return false;
  }
  return iterations < elements;
}

void require_whole(const Schedule::Edit &edit, const char *requirement, const Block &block) {
  Bounds bounds = loop_bounds(edit.body());
  bool whole = !has_too_few_iterations(block, edit.loops_around(block.id)) &&
               std::ranges::all_of(block.iters, [&](const IterVar &iter) {
                 return iter.is_summed() || covers_extent(iter, bounds);
               });
  std::string_view tag = requirement;
  if (!whole)
    edit.refuse(requirement,
                fmt::format("the loops around block {} compute only a part of {}, and the new block would read "
                            "all of it; use {} before compute_at",
                            block.id->name, block.body.buffer->name, tag.substr(0, tag.find('.'))),
                {block.id->name});
}

void require_serial_nest(const Schedule::Edit &edit, const char *requirement, const Block &block) {
  const std::string_view tag = requirement;
  for (const Block *other : blocks_of(edit.nest_of(block.id)))
    if (other->id != block.id)
      edit.refuse(requirement,
                  fmt::format("block {} is in the nest of {}; use {} before moving blocks into one nest",
                              other->id->name, block.id->name, tag.substr(0, tag.find('.'))),
                  {other->id->name, block.id->name});
  for (const For *loop : edit.loops_around(block.id))
    edit.require_serial(requirement, *loop);
}

Stmt nest_over(Schedule::Edit &edit, Block block, const Region &region, const Bounds &bounds, bool parts) {
  const Block before = block;
  Bounds inner = bounds;
  std::vector<For> loops;
  std::size_t dimension = 0;
  for (IterVar &iter : block.iters) {
    bool spatial = iter.kind == IterKind::spatial || parts;
    if (spatial && dimension == region.size())
      continue;
    Steps steps = spatial ? Steps{Expr(0), 1} : steps_of(edit, before, iter, bounds);
    Span span = spatial ? region.at(dimension) : Span{Expr(0), steps.count};
    dimension += spatial;
    iter.binding = span.min;
    bool whole = span.runs.empty();
    for (std::size_t n = 0; n < (whole ? 1 : span.runs.size()); ++n) {
      Var var = loop_of_axis(edit, iter.var->name, span.runs.size() > 1 ? fmt::format("_{}", n) : "");
      Expr count = whole ? span.extent : Expr(span.runs[n].count);
      inner.set_extent(var, count);
      iter.binding = iter.binding + Expr(var) * Expr(whole ? steps.size : span.runs[n].step);
      loops.push_back({var, count, Serial{}, nullptr});
    }
  }
  // A first value uses spatial axes only. These are bound by now, and have no first value.
  for (IterVar &iter : block.iters)
    if (iter.first.exists())
      iter.binding = in_loops(iter.first, block, inner) + iter.binding;
  Stmt nest = refresh_bindings(make_block(std::move(block)), inner);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body = nest;
    nest = make_for(*loop);
  }
  return nest;
}

std::vector<std::string> axis_names(const Block &block, const Buffer &buffer,
                                    const std::vector<Expr> &indices) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    const Var *var = indices[n].as<Var>();
    bool own = var && std::any_of(block.iters.begin(), block.iters.end(),
                                  [&](const IterVar &iter) { return iter.var == *var; });
    std::string name = fmt::format("{}_{}", buffer->name, own ? (*var)->name : fmt::format("{}", n));
    if (own && (*var)->name.starts_with(buffer->name + "_"))
      name = (*var)->name; // a copy of a copy
    if (std::find(names.begin(), names.end(), name) != names.end())
      name += fmt::format("_{}", n);
    names.push_back(name);
  }
  return names;
}

Stmt copy_nest(Schedule::Edit &edit, const Buffer &from, const Buffer &to, const std::string &name,
               const std::vector<std::string> &axes) {
  std::vector<Var> vars;
  std::vector<Expr> indices;
  for (const std::string &axis : axes) {
    vars.push_back(make_var(axis));
    indices.emplace_back(vars.back());
  }
  return fill_nest(edit, to, name, vars, load(from, indices));
}

Stmt fill_nest(Schedule::Edit &edit, const Buffer &to, const std::string &name, const std::vector<Var> &axes,
               Expr value) {
  Block block;
  block.id = std::make_shared<const BlockSymbol>(BlockSymbol{name});
  std::vector<Expr> indices;
  Region whole;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    indices.emplace_back(axes[n]);
    block.iters.push_back({axes[n], to->shape[n], IterKind::spatial, Expr(0)});
    whole.push_back({Expr(0), to->shape[n]});
  }
  block.body = Store{to, std::move(indices), std::move(value)};
  return nest_over(edit, std::move(block), whole, {});
}

static Stmt insert(const Stmt &root, const BlockId &anchor, const Stmt &stmt, bool before) {
  std::vector<Stmt> children, result;
  if (const auto *seq = as<Seq>(root))
    children = seq->stmts;
  else
    children = {root};
  for (const Stmt &child : children) {
    bool here = find_block(child, anchor) != nullptr;
    if (here && before)
      result.push_back(stmt);
    result.push_back(child);
    if (here && !before)
      result.push_back(stmt);
  }
  return make_seq(std::move(result));
}

Stmt insert_before(const Stmt &root, const BlockId &anchor, const Stmt &stmt) {
  return insert(root, anchor, stmt, true);
}
Stmt insert_after(const Stmt &root, const BlockId &anchor, const Stmt &stmt) {
  return insert(root, anchor, stmt, false);
}

} // namespace nestsmith
