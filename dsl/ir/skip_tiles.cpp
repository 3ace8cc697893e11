#include "dsl/ir/skip_tiles.h"

#include "dsl/expr/expr_text.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace nestsmith {

namespace {

/// A larger term is taken to be present.
constexpr std::uint64_t largest_term = 4096;

bool is_constant_true(const Expr &e) { return e.exists() && is_true(e); }
bool is_constant_false(const Expr &e) {
  const auto *value = e.as<IntImm>();
  return value && value->value == 0;
}

Expr either(const Expr &a, const Expr &b) {
  if (same(a, b) || is_constant_true(a) || is_constant_false(b))
    return a;
  return is_constant_true(b) || is_constant_false(a) ? b : a || b;
}
Expr both(const Expr &a, const Expr &b) {
  if (same(a, b) || is_constant_true(a) || is_constant_false(b))
    return b;
  return is_constant_true(b) || is_constant_false(a) ? a : a && b;
}

/// `a` where the condition holds, otherwise `b`. The threads need not know the value of a condition on data.
Expr either_by(const Expr &condition, const Expr &a, const Expr &b) {
  if (same(a, b) || condition.node().data || reads_memory(condition))
    return either(a, b);
  return either(both(condition, a), both(logical_not(condition), b));
}

/// Finds where an expression may differ from a constant.
class Differing {
public:
  explicit Differing(FunctionRef<Expr(const Load &)> value_of) : value_of_(value_of) {}

  /// The condition without which `e` is `identity`, a constant or a tuple of constants.
  Expr from(const Expr &e, const Expr &identity) const {
    if (e.node().size > largest_term)
      return boolean(true);
    if (same(e, identity))
      return boolean(false);
    if (const auto *made = e.as<Tuple>())
      return from_tuple(*made, identity);
    if (const auto *choice = e.as<Select>())
      return either_by(choice->condition, from(choice->when_true, identity),
                       from(choice->when_false, identity));
    if (const auto *access = e.as<Load>())
      return from_load(*access, identity);
    if (const auto *conversion = e.as<Cast>()) {
      auto before = before_cast(identity, conversion->a.dtype());
      return before ? from(conversion->a, *before) : boolean(true);
    }
    const auto *op = e.as<Binary>();
    return op ? from_operator(*op, identity) : boolean(true);
  }

private:
  Expr from_tuple(const Tuple &made, const Expr &identity) const {
    std::vector<Expr> wanted = parts_of(identity);
    Expr result = boolean(false);
    for (std::size_t n = 0; n < made.parts.size(); ++n)
      result = either(result, from(made.parts[n], wanted[n]));
    return result;
  }

  Expr from_load(const Load &access, const Expr &identity) const {
    Expr known = value_of_(access);
    Expr loaded = known.exists() ? from(known, identity) : boolean(true);
    return access.mask.exists() ? either_by(access.mask, loaded, from(access.fill, identity)) : loaded;
  }

  /// A product of floating-point numbers is 0 only if both factors are 0, because 0 times infinity is NaN.
  /// [rule.skip.product] x*y = 0 where x = 0
  Expr from_operator(const Binary &op, const Expr &identity) const {
    bool zero = same(identity, constant(identity.dtype(), 0)),
         one = same(identity, constant(identity.dtype(), 1));
    auto any = [&] { return either(from(op.a, identity), from(op.b, identity)); };
    switch (op.op) {
    case BinaryOp::mul:
      if (zero && !is_float(identity.dtype()))
        return both(from(op.a, identity), from(op.b, identity));
      return zero || one ? any() : boolean(true);
    case BinaryOp::add:
    case BinaryOp::sub:
      return zero ? any() : boolean(true);
    case BinaryOp::min:
    case BinaryOp::max:
      return any();
    default:
      return boolean(true);
    }
  }

  FunctionRef<Expr(const Load &)> value_of_;
};

/// What is known of the values that blocks write to temporaries.
class Written {
public:
  explicit Written(const Program &program) : blocks_(blocks_of(program.body)) {}

  /// The value of an element of a temporary in shared memory or registers that one block writes, without a
  /// reduction, in terms of the indices; null for any other load. Another kernel may write global memory.
  Expr value_of(const Load &access) const {
    if (access.buffer->role != Role::temporary || access.buffer->scope == Scope::global)
      return {};
    const Block *writer = nullptr;
    for (const Block *block : blocks_)
      if (block->body.buffer == access.buffer) {
        if (writer)
          return {};
        writer = block;
      }
    if (!writer || writer->reduces() || writer->init)
      return {};
    std::map<Var, Expr> values;
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      const Var *axis = writer->body.indices[d].as<Var>();
      if (!axis || !values.emplace(*axis, access.indices[d]).second)
        return {};
    }
    bool known = true;
    Expr value = substitute(writer->body.value, [&](const Var &var) {
      auto it = values.find(var);
      bool axis = std::ranges::any_of(writer->iters, [&](const IterVar &iter) { return iter.var == var; });
      known = known && (it != values.end() || !axis);
      return it == values.end() ? Expr() : it->second;
    });
    return known ? value : Expr();
  }

private:
  std::vector<const Block *> blocks_;
};

/// Whether iterations of the loop may write nothing to the buffer, or only a term.
bool may_write_nothing(const Block &block, const For &loop) {
  return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
    return sums_over(block, iter, loop.var) ||
           (iter.guarded && !indexes_result(block, iter) && uses(iter.binding, loop.var));
  });
}

/// Whether only blocks below the loop use the buffer, and each iteration writes what it reads. Then nothing
/// remains of an iteration but what other buffers keep. The first writer of a cache writes all elements that
/// the same iteration of the loops around all accesses reads (docs/proofs.md, the claim "covered").
bool stays_inside(const Program &program, const For &loop, const Buffer &buffer) {
  if (buffer->role != Role::temporary || buffer->scope == Scope::global)
    return false;
  std::vector<const Block *> inside = blocks_of(loop.body);
  for (const Block *block : blocks_of(program.body))
    if (touches(*block, buffer) && std::ranges::find(inside, block) == inside.end())
      return false;
  bool read = false;
  for (const Block *block : inside) {
    if (block->body.buffer != buffer)
      read = read || reads(*block, buffer);
    else if (read || may_write_nothing(*block, loop))
      return false;
  }
  return true;
}

/// The condition, over the axes of the block, without which an instance has no term; true if it has no mask.
Expr condition_of_term(const Program &program, const Block &block) {
  Written written(program);
  return has_term(block.reducer, term_of(block).value(),
                  [&](const Load &access) { return written.value_of(access); });
}

/// The loops around the loop on which all threads of a block agree, the loop itself, and the loops over blocks
/// directly inside of it; without loops over a cluster, whose blocks skip the same iterations.
std::set<Var> uniform_loops(const Program &program, const For &loop) {
  std::set<Var> uniform;
  for (const For *outer : loops_of(path_to(program.body, loop.var)))
    if (!outer->axis() || (!is_thread(*outer->axis()) && *outer->axis() != Axis::cluster))
      uniform.insert(outer->var);
  for (const For *inner = as<For>(loop.body); inner && inner->axis() && is_block(*inner->axis());
       inner = as<For>(inner->body))
    if (*inner->axis() != Axis::cluster)
      uniform.insert(inner->var);
  return uniform;
}

/// Whether the block only adds terms to what earlier blocks stored: an instance without a term does nothing.
/// An element that is no sum so far may be -0, which -0 + 0 is not.
bool only_adds(const Block &block, const For &loop) {
  return block.reduces() && term_of(block).has_value() &&
         (!block.init || std::ranges::any_of(block.iters, [&](const IterVar &iter) {
           return sums_over(block, iter, loop.var);
         }));
}

/// The part of the condition that one block contributes. If its guards exclude an instance, it does nothing. An
/// init also executes where the guard of a reduction axis is false.
Expr condition_of(const Program &program, const For &loop, const Block &block) {
  Bounds bounds = loop_bounds(program.body);
  std::set<Var> uniform = uniform_loops(program, loop);
  auto varies = [&](const Var &var) { return !uniform.contains(var); };
  bool adds = only_adds(block, loop);
  Expr result =
      adds ? holds_somewhere(in_loops(condition_of_term(program, block), block, bounds), varies, bounds)
           : boolean(true);
  for (const IterVar &iter : block.iters)
    if (iter.guarded && (adds || !iter.is_summed()))
      result =
          both(result, holds_somewhere(Expr(0) <= iter.binding && iter.binding < iter.extent, varies, bounds));
  return result;
}

/// The least value of an index, as an expression of the variables that do not vary; null if it is unknown.
Expr lowest(const Expr &index, FunctionRef<bool(const Var &)> varies, const Bounds &bounds) {
  const Expr unknown = make_var("unknown");
  Span span = box({index}, {unknown}, varies, bounds).front();
  return same(span.extent, unknown) || any_node(span.min,
                                                [&](const Expr &node) {
                                                  const Var *var = node.as<Var>();
                                                  return var && !(*var)->size && varies(*var);
                                                })
             ? Expr()
             : span.min;
}

/// sum <= most, with positive factors that have no common divisor.
/// [rule.skip.divide] x <= n//g where g > 0, g*x <= n
/// [rule.skip.multiply] g*x <= n where g > 0, x <= n//g
Expr at_most(const Linear &sum, std::int64_t most) {
  std::int64_t divisor = 0;
  for (const Term &term : sum.terms)
    divisor = std::gcd(divisor, term.coefficient);
  if (divisor == 0)
    return boolean(sum.constant <= most);
  Linear left, right;
  for (const auto &[coefficient, digit] : sum.terms)
    (coefficient > 0 ? left : right).terms.push_back({std::abs(coefficient) / divisor, digit});
  std::int64_t rest = floor_div(most - sum.constant, divisor);
  (left.terms.empty() ? left : right).constant = left.terms.empty() ? -rest : rest;
  return to_expr(left) <= to_expr(right);
}

/// Why the term may be no identity: the remedy depends on it.
std::string why_present(const Block &block, const Expr &term) {
  std::string fill = to_string(identity_of(block.reducer, term.dtype()));
  const auto *product = term.as<Binary>();
  bool masked = any_node(term, [](const Expr &node) {
    const auto *access = node.as<Load>();
    return access && access->mask.exists();
  });
  if (masked && product && product->op == BinaryOp::mul && is_float(term.dtype()))
    return fmt::format("a mask makes one factor 0, but 0 times an infinity or NaN in the other is NaN; choose "
                       "the whole term, as in select(k <= i, A(i, k) * B(k, j), {})",
                       fill);
  if (masked)
    return fmt::format("where its mask is false, it is not {}, the identity of {}", fill, name(block.reducer));
  return fmt::format("it has no mask, and a term is absent only where it is {}, the identity of {}; state the "
                     "condition in the computation, as in select(k <= i, …, {})",
                     fill, name(block.reducer), fill);
}

/// The loop whose steps belong to two iterations of the pipelined loop around it, or null.
const For *joined_below(const For &loop) {
  const For *joined = nullptr;
  if (!loop.pipeline().empty())
    walk(loop.body, [&](const Stmt &stmt) {
      const auto *inner = as<For>(stmt);
      joined = inner && (inner->joined() || inner->spread()) ? inner : joined;
      return !joined;
    });
  return joined;
}

/// The number n for which the condition holds where 0 <= var < n, and where n <= var < extent it does not. None
/// if this is not proved.
std::optional<std::int64_t> holds_until(const Expr &condition, const Var &var, std::int64_t extent,
                                        Bounds bounds) {
  auto holds = [&](std::int64_t first, std::int64_t end, bool value) {
    bounds.set(var, {first, end - 1});
    return first == end || proves(value ? condition : logical_not(condition), bounds);
  };
  std::int64_t low = 0, high = extent;
  while (low < high) {
    std::int64_t middle = low + (high - low) / 2;
    if (holds(middle, middle + 1, true))
      low = middle + 1;
    else
      high = middle;
  }
  return holds(0, low, true) && holds(low, extent, false) ? std::optional(low) : std::nullopt;
}

/// A block that bulk copies execute in the iterations of a pipelined loop, or null. The loads of a role
/// announce the bytes of each iteration.
const Block *filled_in_bulk(const For &loop) {
  if (loop.pipeline().empty())
    return nullptr;
  for (const Block *block : blocks_of(loop.body))
    if (block->bulk && block->body.buffer->scope == Scope::shared)
      return block;
  return nullptr;
}

/// The nest of a path from the root.
const Stmt &nest_of(const Path &path) { return *std::ranges::find_if(path, as<For>); }

bool is_shortened(const Program &program, const For &loop) {
  const std::vector<ShortenedLoop> loops = shortened_loops(program, nest_of(path_to(program.body, loop.var)));
  return std::ranges::any_of(loops, [&](const ShortenedLoop &other) { return other.loop->var == loop.var; });
}

std::optional<SkipBreach> find_breach_of(const Program &program, const For &loop) {
  const std::string &name = loop.var->name;
  const For *joined = joined_below(loop);
  const Block *bulk = filled_in_bulk(loop);
  if ((joined || bulk) && !is_shortened(program, loop)) {
    const std::string &inside = joined ? joined->var->name : bulk->id->name;
    const std::string why =
        joined
            ? fmt::format(
                  "the loop {} is {} with {}, so that its steps belong to two iterations of {}, of which "
                  "one may be skipped",
                  inside, joined->joined() ? "joined" : "spread", name, name)
            : fmt::format("{} is filled by bulk copies, whose bytes are announced in each iteration of {}, of "
                          "which one may be skipped",
                          inside, name);
    return SkipBreach{
        "skip_tiles.joined",
        fmt::format(
            "{}; leave one of the two out, or let thread blocks skip the last iterations only: one loop "
            "over at most {} thread blocks, alone on its axis, decides how many are left, one or more, in a "
            "grid of a known size without clusters",
            why, most_shortened),
        {name, inside}};
  }
  for (const Block *block : lasting_blocks(program, loop)) {
    const std::string &its = block->id->name;
    if (!is_constant_true(simplify(condition_of(program, loop, *block), loop_bounds(program.body))))
      continue; // it does nothing in each iteration that is skipped
    auto term = term_of(*block);
    if (!term || !block->reduces())
      return SkipBreach{
          "skip_tiles.stores",
          fmt::format(
              "block {} below {} stores {}, which remains after an iteration, and is not the update of a "
              "reduction, so that skipping an iteration would leave elements unwritten; keep it outside of "
              "{}, or choose a loop that only sums",
              its, name, block->body.buffer->name, name),
          {name, its}};
    if (!only_adds(*block, loop))
      return SkipBreach{
          "skip_tiles.init",
          fmt::format(
              "the init of block {} executes in each iteration of {}, which is no loop of its reduction, "
              "so that skipping an iteration would leave elements of {} unwritten; choose a loop of the "
              "reduction, or decompose the reduction outside of {}",
              its, name, block->body.buffer->name, name),
          {name, its}};
    if (is_constant_true(condition_of_term(program, *block)))
      return SkipBreach{"skip_tiles.absent",
                        fmt::format("the term {} of block {} is never absent: {}", to_string(*term), its,
                                    why_present(*block, *term)),
                        {name, its}};
  }
  return std::nullopt;
}

} // namespace

std::vector<const Block *> lasting_blocks(const Program &program, const For &loop) {
  std::vector<const Block *> blocks = blocks_of(loop.body);
  std::erase_if(blocks, [&](const Block *block) { return stays_inside(program, loop, block->body.buffer); });
  return blocks;
}

Expr has_term(Reducer reducer, const Expr &term, FunctionRef<Expr(const Load &)> value_of) {
  return Differing(value_of).from(term, identity_of(reducer, term.dtype()));
}

/// Of the values of y, the least one is below the most others:
/// [rule.skip.below] x + m <= n where m <= y, x + y <= n
Expr holds_somewhere(const Expr &condition, FunctionRef<bool(const Var &)> varies, const Bounds &bounds) {
  if (condition.node().data || reads_memory(condition))
    return boolean(true);
  bool fixed = !any_node(condition, [&](const Expr &node) {
    const Var *var = node.as<Var>();
    return var && !(*var)->size && varies(*var);
  });
  if (fixed)
    return condition;
  if (const auto *inverted = condition.as<Not>()) {
    const auto *inside = inverted->a.as<Binary>();
    if (const auto *twice = inverted->a.as<Not>())
      return holds_somewhere(twice->a, varies, bounds);
    if (inside && inside->op == BinaryOp::logical_and)
      return holds_somewhere(logical_not(inside->a) || logical_not(inside->b), varies, bounds);
    if (inside && inside->op == BinaryOp::logical_or)
      return holds_somewhere(logical_not(inside->a) && logical_not(inside->b), varies, bounds);
    if (inside && inside->op == BinaryOp::lt)
      return holds_somewhere(inside->b <= inside->a, varies, bounds);
    if (inside && inside->op == BinaryOp::le)
      return holds_somewhere(inside->b < inside->a, varies, bounds);
    if (inside && inside->op == BinaryOp::ne)
      return holds_somewhere(equal(inside->a, inside->b), varies, bounds);
    return boolean(true);
  }
  const auto *op = condition.as<Binary>();
  if (!op)
    return boolean(true);
  auto below = [&](const Expr &a, const Expr &b, std::int64_t distance) { // a - b <= distance somewhere
    Expr least = lowest(simplify(a - b, bounds), varies, bounds);
    return least.exists() ? at_most(linearize(least, bounds), distance) : boolean(true);
  };
  switch (op->op) {
  case BinaryOp::logical_and:
    return both(holds_somewhere(op->a, varies, bounds), holds_somewhere(op->b, varies, bounds));
  case BinaryOp::logical_or:
    return either(holds_somewhere(op->a, varies, bounds), holds_somewhere(op->b, varies, bounds));
  case BinaryOp::lt:
    return below(op->a, op->b, -1);
  case BinaryOp::le:
    return below(op->a, op->b, 0);
  case BinaryOp::eq:
    return both(below(op->a, op->b, 0), below(op->b, op->a, 0));
  default:
    return boolean(true);
  }
}

std::optional<SkippedTail> skipped_tail(const Program &program, const For &loop, const Expr &condition) {
  auto waves = as_int(loop.extent);
  const For *inner = as<For>(loop.body);
  auto blocks = inner && inner->axis() && is_block(*inner->axis()) ? as_int(inner->extent) : std::nullopt;
  if (!waves || !blocks || *blocks < 2)
    return std::nullopt;
  Var tile = make_var("tile");
  Expr of_tile = substitute(condition, {{loop.var, floordiv(Expr(tile), Expr(*blocks))},
                                        {inner->var, floormod(Expr(tile), Expr(*blocks))}});
  const std::int64_t all = *blocks * *waves;
  const auto tiles = holds_until(of_tile, tile, all, loop_bounds(program.body));
  if (!tiles || *tiles == all || *tiles < all - *blocks)
    return std::nullopt;
  return SkippedTail{inner, *blocks, *tiles};
}

std::optional<ShortenedLoop> shortened(const Program &program, const For &loop) {
  const auto extent = as_int(loop.extent);
  const Expr condition = condition_of_iteration(program, loop);
  if (!extent || is_constant_true(condition) || !uses(condition, loop.var))
    return std::nullopt;
  std::vector<const For *> around;
  const Path path = path_to(program.body, loop.var);
  for (const For *outer : loops_of(path))
    if (outer->var != loop.var && uses(condition, outer->var))
      around.push_back(outer);
  const For *by = around.size() == 1 ? around.front() : nullptr;
  const auto values = by ? as_int(by->extent) : std::nullopt;
  if (!values || *values > most_shortened || !by->axis() || !is_block(*by->axis()))
    return std::nullopt;
  // The kernels of all values share a launch: a grid of a known size, without clusters.
  std::int64_t on_axis = 0;
  bool shares = true;
  walk(nest_of(path), [&](const Stmt &stmt) {
    if (const auto *other = as<For>(stmt); other && other->axis() && is_block(*other->axis())) {
      on_axis += whole_of(*other->axis()) == whole_of(*by->axis());
      shares = shares && as_int(other->extent) && *other->axis() != Axis::cluster;
    }
    return true;
  });
  if (on_axis != 1 || !shares)
    return std::nullopt;
  ShortenedLoop found{&loop, by, {}};
  for (std::int64_t value = 0; value < *values; ++value) {
    const auto iterations = holds_until(substitute(condition, {{by->var, Expr(value)}}), loop.var, *extent,
                                        loop_bounds(program.body));
    if (!iterations || *iterations < 1)
      return std::nullopt;
    found.extents.push_back(*iterations);
  }
  return found;
}

std::vector<ShortenedLoop> shortened_loops(const Program &program, const Stmt &nest) {
  std::vector<ShortenedLoop> found;
  for (const bool must : {true, false}) // others may be shortened
    walk(nest, [&](const Stmt &stmt) {
      const auto *loop = as<For>(stmt);
      if (!loop || !loop->skipping() || loop->pipeline().empty() ||
          (joined_below(*loop) || filled_in_bulk(*loop)) != must || (!must && program.roles.empty()))
        return true;
      auto ends = shortened(program, *find_loop(program.body, loop->var));
      if (ends && (found.empty() || found.front().by == ends->by))
        found.push_back(*std::move(ends));
      return true;
    });
  return found;
}

Expr condition_of_iteration(const Program &program, const For &loop) {
  Expr result = boolean(false);
  for (const Block *block : lasting_blocks(program, loop))
    result = either(result, condition_of(program, loop, *block));
  return simplify(result, loop_bounds(program.body));
}

std::optional<SkipBreach> find_skip_breach(const Program &program) {
  std::optional<SkipBreach> breach;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->skipping() && !breach)
      breach = find_breach_of(program, *loop);
    return !breach;
  });
  return breach;
}

std::optional<SkipBreach> find_idle_skip(const Program &program) {
  std::optional<SkipBreach> breach;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!loop || !loop->skipping() || breach)
      return !breach;
    for (const Block *block : lasting_blocks(program, *loop))
      if (!breach &&
          is_constant_true(simplify(condition_of(program, *loop, *block), loop_bounds(program.body))))
        breach = SkipBreach{
            "skip_tiles.bounds",
            fmt::format(
                "block {} may have a term in every iteration of {}: for the loops inside of {} and the "
                "threads, {} excludes no whole iteration; choose a loop of larger tiles or another axis, or "
                "leave skip_tiles out",
                block->id->name, loop->var->name, loop->var->name,
                to_string(condition_of_term(program, *block))),
            {loop->var->name, block->id->name}};
    return !breach;
  });
  return breach;
}

} // namespace nestsmith
