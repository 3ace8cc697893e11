#include "dsl/ir/dependence.h"

#include "dsl/ir/allocation.h"
#include "dsl/ir/last_block.h"
#include "dsl/ir/region.h"
#include "dsl/ir/roles.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace nestsmith {

namespace {

/// One access of a block to a buffer, with its indices in terms of the loops.
struct ParameterAccess {
  std::vector<Expr> indices;
  bool writes;
};

std::vector<ParameterAccess> accesses_of(const Block &block, const Buffer &buffer, const Bounds &bounds) {
  std::vector<ParameterAccess> result;
  auto add = [&](const std::vector<Expr> &indices, bool writes) {
    result.push_back({in_loops(indices, block, bounds), writes});
  };
  if (block.body.buffer == buffer)
    add(block.body.indices, true);
  for (const Load *load : loads_of(block))
    if (load->buffer == buffer)
      add(load->indices, false);
  return result;
}

/// Calls f(x, y) for each pair of conflicting accesses, and stops at the first call that returns false. Returns
/// true if all calls returned true.
template <class F>
bool all_conflicts(const std::vector<ParameterAccess> &a, const std::vector<ParameterAccess> &b, const F &f) {
  return std::ranges::all_of(a, [&](const ParameterAccess &x) {
    return std::ranges::all_of(b, [&](const ParameterAccess &y) { return !(x.writes || y.writes) || f(x, y); });
  });
}

/// An expression that takes every value of both spans: the lower start plus new variables, whose ranges are
/// added to `bounds`. None if the distance between the spans, or the extent of one of them, is not constant.
std::optional<Expr> common_form(const Span &a, const Span &b, Bounds &bounds) {
  auto part = [&](std::int64_t step, std::int64_t count) {
    Var var = make_var("part");
    bounds.set_extent(var, Expr(count));
    return Expr(var) * Expr(step);
  };
  auto offset = as_int(simplify(b.min - a.min, bounds)), x = as_int(a.extent), y = as_int(b.extent);
  if (!offset || !x || !y)
    return std::nullopt;
  std::int64_t low = std::min<std::int64_t>(0, *offset), high = std::max(*x, *offset + *y);
  Expr form = a.min + Expr(low);
  if (a.runs == b.runs && !a.runs.empty() && *offset % a.runs.front().step == 0) {
    std::int64_t shift = std::abs(*offset) / a.runs.front().step; // of the largest steps
    for (const Run &run : a.runs)
      form = form + part(run.step, run.count + std::exchange(shift, 0));
    return form;
  }
  return form + part(1, high - low);
}

bool contains(const std::vector<Var> &vars, const Var &var) {
  return std::ranges::find(vars, var) != vars.end();
}

/// Whether an element that both accesses touch determines the values of the variables `kept`, so that both
/// accesses touch it with the same values. The variables `fixed` have the same values for both accesses. All
/// other loop variables may vary.
bool determined(const ParameterAccess &x, const ParameterAccess &y, const Buffer &buffer,
                const std::vector<Var> &kept, Bounds bounds, const std::vector<Var> &fixed = {}) {
  auto varies = [&](const Var &var) { return !contains(kept, var) && !contains(fixed, var); };
  Region a = box(x.indices, buffer->shape, varies, bounds), b = box(y.indices, buffer->shape, varies, bounds);
  std::vector<Expr> forms;
  for (std::size_t d = 0; d < a.size(); ++d)
    if (auto form = common_form(a[d], b[d], bounds))
      forms.push_back(*form);
  return determine(
      forms, kept, [&](const Var &var) { return contains(fixed, var); }, bounds);
}

/// Whether `first` touches each common element in the same iteration of the loop as `second`, or in an earlier
/// one. The variables `fixed` have the same values for both accesses. Conservative: true only if, in some
/// dimension, both accesses begin at scale * loop plus a fixed value, and the last index of `second` is less
/// than `scale` beyond the first index of `first`.
bool never_later(const ParameterAccess &first, const ParameterAccess &second, const Buffer &buffer,
                 const Var &loop, const Bounds &bounds, const std::vector<Var> &fixed = {}) {
  auto varies = [&](const Var &var) { return var != loop && !contains(fixed, var); };
  auto is_fixed = [&](const Term &term) {
    return !any_node(term.digit.base, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      return node.as<Load>() || (var && !contains(fixed, *var));
    });
  };
  Region a = box(first.indices, buffer->shape, varies, bounds);
  Region b = box(second.indices, buffer->shape, varies, bounds);
  for (std::size_t d = 0; d < a.size(); ++d) {
    Linear begin = linearize(a[d].min, bounds);
    std::erase_if(begin.terms, is_fixed);
    auto offset = as_int(simplify(b[d].min - a[d].min, bounds)), extent = as_int(b[d].extent);
    if (!offset || !extent || begin.terms.size() != 1)
      continue;
    const auto &[scale, digit] = begin.terms.front();
    const Var *var = digit.as_var();
    if (var && *var == loop && *offset + *extent - 1 < scale)
      return true;
  }
  return false;
}

/// Whether the two accesses never touch the same element, in any two iterations.
bool disjoint(const ParameterAccess &x, const ParameterAccess &y, const Buffer &buffer, const Bounds &bounds) {
  auto all = [](const Var &) { return true; };
  Region a = box(x.indices, buffer->shape, all, bounds), b = box(y.indices, buffer->shape, all, bounds);
  for (std::size_t d = 0; d < a.size(); ++d)
    if (proves(a[d].min + a[d].extent <= b[d].min, bounds) ||
        proves(b[d].min + b[d].extent <= a[d].min, bounds))
      return true;
  return false;
}

std::size_t place_of(const Stmt &root, const BlockId &id) {
  std::vector<const Block *> all = blocks_of(root);
  return static_cast<std::size_t>(std::ranges::find(all, id, [](const Block *block) { return block->id; }) -
                                  all.begin());
}

std::vector<Var> loops_around(const Stmt &root, const Block &a, const Block &b) {
  return common_loops(path_to(root, a.id), path_to(root, b.id));
}

/// Whether `first` touches each common element before `second` does. Requires that `first` precedes `second` in
/// the program, and that `loops` enclose both. True if, for each common element, `first` accesses it in the
/// same iteration of each loop as `second`, or in an earlier iteration. The variables `fixed` have the same
/// values for both accesses.
bool comes_first(const Stmt &root, const Block &first, const Block &second, const Buffer &buffer,
                 const std::vector<Var> &loops, const std::vector<Var> &fixed = {}) {
  Bounds bounds = loop_bounds(root);
  auto in_order = [&](const ParameterAccess &x, const ParameterAccess &y) {
    return determined(x, y, buffer, loops, bounds, fixed) || std::ranges::all_of(loops, [&](const Var &loop) {
             return determined(x, y, buffer, {loop}, bounds, fixed) ||
                    never_later(x, y, buffer, loop, bounds, fixed);
           });
  };
  return loops.empty() ||
         all_conflicts(accesses_of(first, buffer, bounds), accesses_of(second, buffer, bounds), in_order);
}

bool are_disjoint(const Stmt &root, const Block &a, const Block &b, const Buffer &buffer) {
  Bounds bounds = loop_bounds(root);
  return all_conflicts(
      accesses_of(a, buffer, bounds), accesses_of(b, buffer, bounds),
      [&](const ParameterAccess &x, const ParameterAccess &y) { return disjoint(x, y, buffer, bounds); });
}

/// The same for blocks of two nests. An access is within what its loops give its indices, and within what the
/// axes of its block do, whose guards exclude all values past their extents.
bool are_apart(Bounds bounds, const Block &a, const Block &b, const Buffer &buffer) {
  for (const Block *block : {&a, &b})
    for (const IterVar &iter : block->iters)
      bounds.set_extent(iter.var, iter.extent);
  struct Forms {
    std::vector<ParameterAccess> of_loops, of_axes; ///< each access in both forms
  };
  auto forms_of = [&](const Block &block) {
    Block by_axes = block;
    for (IterVar &iter : by_axes.iters)
      iter.binding = iter.var;
    return Forms{accesses_of(block, buffer, bounds), accesses_of(by_axes, buffer, bounds)};
  };
  const Forms of_a = forms_of(a), of_b = forms_of(b);
  for (std::size_t n = 0; n < of_a.of_loops.size(); ++n)
    for (std::size_t m = 0; m < of_b.of_loops.size(); ++m) {
      bool apart = !of_a.of_loops[n].writes && !of_b.of_loops[m].writes;
      for (const ParameterAccess *x : {&of_a.of_loops[n], &of_a.of_axes[n]})
        for (const ParameterAccess *y : {&of_b.of_loops[m], &of_b.of_axes[m]})
          apart = apart || disjoint(*x, *y, buffer, bounds);
      if (!apart)
        return false;
    }
  return true;
}

/// Whether the init of the sum executes before the block: before the sum itself, and before the loops of the
/// sum.
bool init_precedes(const Stmt &root, const Block &sum, const Block &block) {
  return sum.init &&
         (sum.id == block.id || std::ranges::any_of(loops_around(root, sum, block), [&](const Var &loop) {
            return std::ranges::any_of(sum.iters,
                                       [&](const IterVar &iter) { return sums_over(sum, iter, loop); });
          }));
}

} // namespace

std::vector<Buffer> conflicts(const Block &a, const Block &b) {
  std::vector<Buffer> found;
  auto add = [&](const Block &writer, const Block &other) {
    const Buffer &buffer = writer.body.buffer;
    if (buffer->role != Role::temporary && touches(other, buffer) &&
        std::ranges::find(found, buffer) == found.end())
      found.push_back(buffer);
  };
  add(a, b);
  add(b, a);
  return found;
}

std::optional<Dependence> broken_by_move(const Stmt &before, const BlockId &moved, const Stmt &after,
                                         const BlockId &now) {
  const Block &old_block = *find_block(before, moved), &new_block = *find_block(after, now);
  for (const Block *there : blocks_of(after)) {
    if (there->id == now || there->id == moved)
      continue;
    for (const Buffer &buffer : conflicts(new_block, *there)) {
      const Block *here = find_block(before, there->id);
      if (!here)
        break;
      bool was_first = place_of(before, moved) < place_of(before, here->id);
      bool is_first = place_of(after, now) < place_of(after, there->id);
      auto in_order = [&](const Stmt &root, const Block &block, const Block &other) {
        const Block &first = was_first ? block : other, &second = was_first ? other : block;
        // Lowering executes the init of a sum before all loops of the sum.
        return !(second.body.buffer == buffer && init_precedes(root, second, first)) &&
               comes_first(root, first, second, buffer, loops_around(root, block, other));
      };
      bool kept =
          was_first == is_first && in_order(before, old_block, *here) && in_order(after, new_block, *there);
      if (!kept && !are_disjoint(after, new_block, *there, buffer))
        return was_first ? Dependence{moved, here->id, buffer} : Dependence{here->id, moved, buffer};
    }
  }
  return std::nullopt;
}

namespace {

/// Finds what a new order of loops does to dependences.
class NewOrder {
public:
  NewOrder(const Stmt &root, const std::vector<Var> &before, const std::vector<Var> &after)
      : bounds_(loop_bounds(root)) {
    for (const For *loop : loops_of(path_to(root, before.front())))
      if (!contains(before, loop->var))
        fixed_.push_back(loop->var);
    for (std::size_t n = 0; n < before.size(); ++n) {
      if (permuted_.empty() && before[n] == after[n])
        fixed_.push_back(before[n]);
      else
        permuted_.push_back(before[n]);
    }
    for (auto outer = permuted_.begin(); outer != permuted_.end(); ++outer)
      for (auto inner = std::next(outer); inner != permuted_.end(); ++inner)
        if (std::ranges::find(after, *inner) < std::ranges::find(after, *outer))
          exchanged_.emplace_back(*outer, *inner);
  }

  /// Two loops whose exchange may change the order of two accesses to one element; none if there are none. The
  /// access of `first` comes first now. The order is kept if the element determines the iteration of one of the
  /// loops, or if `first` is never in a later iteration of either loop.
  std::optional<std::pair<Var, Var>> broken(const Block &first, const Block &second,
                                            const Buffer &buffer) const {
    std::optional<std::pair<Var, Var>> found;
    all_conflicts(accesses_of(first, buffer, bounds_), accesses_of(second, buffer, bounds_),
                  [&](const ParameterAccess &x, const ParameterAccess &y) {
                    auto same = [&](const std::vector<Var> &loops) {
                      return determined(x, y, buffer, loops, bounds_, fixed_);
                    };
                    auto forward = [&](const Var &loop) {
                      return never_later(x, y, buffer, loop, bounds_, fixed_);
                    };
                    if (same(permuted_))
                      return true;
                    for (const auto &[outer, inner] : exchanged_)
                      if (!same({outer}) && !same({inner}) && !(forward(outer) && forward(inner)))
                        found = {outer, inner};
                    return !found;
                  });
    return found;
  }

private:
  Bounds bounds_;
  std::vector<Var> fixed_;                     ///< loops around all loops that change places
  std::vector<Var> permuted_;                  ///< the other loops, in their old order
  std::vector<std::pair<Var, Var>> exchanged_; ///< pairs of loops: the outer one becomes the inner one
};

} // namespace

std::optional<BrokenExchange> broken_by_reorder(const Stmt &root, const std::vector<Var> &before,
                                                const std::vector<Var> &after) {
  std::optional<NewOrder> order; // most nests have no blocks that conflict
  std::vector<const Block *> blocks = blocks_of(as<For>(path_to(root, before.back()).back())->body);
  for (std::size_t n = 0; n < blocks.size(); ++n)
    for (std::size_t m = n + 1; m < blocks.size(); ++m)
      for (const Buffer &buffer : conflicts(*blocks[n], *blocks[m])) {
        if (!order)
          order.emplace(root, before, after);
        if (auto loops = order->broken(*blocks[n], *blocks[m], buffer))
          return BrokenExchange{{blocks[n]->id, blocks[m]->id, buffer}, loops->first, loops->second};
      }
  return std::nullopt;
}

std::optional<Dependence> broken_by_fission(const Stmt &root, const Var &loop) {
  const Path path = path_to(root, loop);
  std::vector<Var> fixed;
  for (const For *outer : loops_of(path))
    if (outer->var != loop)
      fixed.push_back(outer->var);
  const Bounds bounds = loop_bounds(root);
  auto kept = [&](const Block &first, const Block &second, const Buffer &buffer) {
    // Lowering executes the init of a sum before all loops of the sum.
    bool begins_before =
        second.body.buffer == buffer && second.init &&
        std::ranges::any_of(second.iters, [&](const IterVar &iter) { return sums_over(second, iter, loop); });
    return !begins_before &&
           all_conflicts(accesses_of(first, buffer, bounds), accesses_of(second, buffer, bounds),
                         [&](const auto &x, const auto &y) {
                           return determined(x, y, buffer, {loop}, bounds, fixed) ||
                                  never_later(x, y, buffer, loop, bounds, fixed);
                         });
  };
  const std::vector<Stmt> &stmts = as<Seq>(as<For>(path.back())->body)->stmts;
  for (std::size_t n = 0; n < stmts.size(); ++n)
    for (std::size_t m = n + 1; m < stmts.size(); ++m)
      for (const Block *first : blocks_of(stmts[n]))
        for (const Block *second : blocks_of(stmts[m]))
          for (const Buffer &buffer : {first->body.buffer, second->body.buffer})
            if (touches(*first, buffer) && touches(*second, buffer) && !kept(*first, *second, buffer))
              return Dependence{first->id, second->id, buffer};
  return std::nullopt;
}

std::optional<Dependence> common_element(const Bounds &bounds, const Stmt &first, const Stmt &second) {
  for (const Block *a : blocks_of(first))
    for (const Block *b : blocks_of(second))
      for (const Buffer &buffer : {a->body.buffer, b->body.buffer})
        if (buffer->scope == Scope::global && touches(*a, buffer) && touches(*b, buffer) &&
            !are_apart(bounds, *a, *b, buffer))
          return Dependence{a->id, b->id, buffer};
  return std::nullopt;
}

namespace {

/// Finds races in one nest. In the kernel, all loops that are bound to one axis use the same index,
/// `index_[axis]`.
class Races {
public:
  /// `extents`: of the axes.
  Races(const Stmt &nest, std::vector<const Block *> blocks, const std::map<Axis, std::int64_t> &extents)
      : nest_(nest), bounds_(loop_bounds(nest)), blocks_(std::move(blocks)), lasts_(find_last_blocks(nest)) {
    walk(nest, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->axis())
        axis_of_[loop->var] = *loop->axis();
      return true;
    });
    for (auto [axis, extent] : extents)
      if (extent > 1) {
        index_[axis] = make_var(std::string(name(axis)));
        bounds_.set_extent(index_[axis], Expr(extent));
      }
  }

  /// An axis on which blocks n and m may race: conflicting accesses may have different indices on this axis,
  /// and no barrier orders them. None if there is no such axis.
  std::optional<Axis> racing_axis(std::size_t n, std::size_t m, const Buffer &buffer) const {
    for (Axis axis : differing_axes(*blocks_[n], *blocks_[m], buffer, {}))
      if (!is_ordered_by_arrival(n, m, buffer, axis) && !(is_thread(axis) && barrier_between(n, m, buffer)))
        return axis;
    return std::nullopt;
  }

  /// The axes on which the blocks may access one element with different indices.
  std::vector<Axis> differing_axes(const Block &first, const Block &second, const Buffer &buffer,
                                   const std::vector<Var> &fixed) const {
    std::vector<ParameterAccess> a = in_kernel(first, buffer), b = in_kernel(second, buffer);
    std::vector<Var> all;
    for (const auto &[axis, var] : index_)
      all.push_back(var);
    std::vector<Var> serial = common_loops(path_to(nest_, first.id), path_to(nest_, second.id));
    std::erase_if(serial, [&](const Var &var) { return axis_of_.contains(var); });
    std::vector<Axis> differing;
    for (const auto &[axis, var] : index_)
      if (!all_conflicts(a, b, [&, index = var](const ParameterAccess &x, const ParameterAccess &y) {
            // It is enough if the element determines this index: alone, together with all other indices, or
            // with the serial loops around both blocks, such as the waves of a tile's number.
            std::vector<Var> with_serial = serial;
            with_serial.push_back(index);
            return determined(x, y, buffer, {index}, bounds_, fixed) ||
                   determined(x, y, buffer, all, bounds_, fixed) ||
                   determined(x, y, buffer, with_serial, bounds_, fixed);
          }))
        differing.push_back(axis);
    return differing;
  }

private:
  std::vector<ParameterAccess> in_kernel(const Block &block, const Buffer &buffer) const {
    std::vector<ParameterAccess> all = accesses_of(block, buffer, bounds_);
    for (ParameterAccess &access : all)
      for (Expr &index : access.indices)
        index = simplify(substitute(index,
                                    [&](const Var &var) {
                                      auto axis = axis_of_.find(var);
                                      return axis == axis_of_.end() ? Expr() : index_on(axis->second);
                                    }),
                         bounds_);
    return all;
  }

  /// The index on the axis. Null if the axis has one index only.
  Expr index_on(Axis axis) const {
    auto found = index_.find(axis), lane = index_.find(Axis::lane), warp = index_.find(Axis::warp);
    if (found != index_.end())
      return found->second;
    if (axis != Axis::thread_x || lane == index_.end())
      return {};
    return warp == index_.end() ? Expr(lane->second) : Expr(warp->second) * lanes_per_warp + Expr(lane->second);
  }

  /// Whether the arrivals at a counter order the accesses of blocks n and m for different indices on the axis.
  /// Of the blocks along the axes of a marked loop and of those below it, only one executes the statements
  /// after the loop, and an arrival passes on what earlier arrivals of its block have ordered. What a block
  /// wrote before its arrival is ordered before them. The arrival also orders earlier reads, but the simulator
  /// cannot check this, so the function returns false for them.
  bool is_ordered_by_arrival(std::size_t n, std::size_t m, const Buffer &buffer, Axis axis) const {
    return std::ranges::any_of(lasts_, [&](const LastBlock &last) {
      if (!last.is_after(*blocks_[m]))
        return false;
      if (last.is_after(*blocks_[n]))
        return last.is_one_along(axis);
      bool writes_inside =
          blocks_[n]->body.buffer == buffer && find_block(last.loop->body, blocks_[n]->id) != nullptr;
      return writes_inside && (is_thread(axis) || last.is_one_along(axis));
    });
  }

  /// Whether a barrier orders the accesses of blocks n and m to `buffer`. This requires two conditions: block n
  /// writes shared memory that one of the blocks n + 1 … m reads, so that a barrier is between them; and
  /// `comes_first` holds for the serial loops around both blocks, in one thread block.
  bool barrier_between(std::size_t n, std::size_t m, const Buffer &buffer) const {
    const Buffer &filled = blocks_[n]->body.buffer;
    if (filled->scope != Scope::shared)
      return false;
    bool read = false;
    for (std::size_t at = n + 1; at <= m; ++at)
      read = read || (reads(*blocks_[at], filled) && !init_precedes(nest_, *blocks_[m], *blocks_[at]));
    std::vector<Var> serial, of_block;
    for (const Var &var : loops_around(nest_, *blocks_[n], *blocks_[m]))
      if (const auto axis = axis_of_.find(var); axis == axis_of_.end())
        serial.push_back(var);
      else if (is_block(axis->second))
        of_block.push_back(var);
    return read && comes_first(nest_, *blocks_[n], *blocks_[m], buffer, serial, of_block);
  }

  const Stmt &nest_;
  Bounds bounds_;
  std::vector<const Block *> blocks_; ///< of the nest
  std::map<Var, Axis> axis_of_;       ///< of bound loops
  std::map<Axis, Var> index_;         ///< of axes with more than one index
  std::vector<LastBlock> lasts_;
};

} // namespace

/// The parameters in which the blocks conflict. If the nest has a last block, also the global temporary that
/// the first block writes and the second block reads.
static std::vector<Buffer> conflicts_in_kernel(const Block &a, const Block &b, bool has_last) {
  std::vector<Buffer> found = conflicts(a, b);
  const Buffer &buffer = a.body.buffer;
  if (has_last && buffer->role == Role::temporary && buffer->scope == Scope::global && reads(b, buffer))
    found.push_back(buffer);
  return found;
}

namespace {

/// The role of two blocks. Each role counts its own threads.
struct RoleOfBoth {
  std::optional<std::size_t> role; ///< none: the main role
  bool one;                        ///< false: they have different roles
  bool operator<(const RoleOfBoth &other) const {
    return std::tie(role, one) < std::tie(other.role, other.one);
  }
};

RoleOfBoth role_of_both(const Program &program, const Block &a, const Block &b) {
  const std::optional<std::size_t> role = role_of(program, a.id);
  const bool one = role == role_of(program, b.id);
  return {one ? role : std::nullopt, one};
}

/// The extents of the axes for the threads of the role, or of all roles.
std::map<Axis, std::int64_t> extents_of(const Program &program, const Stmt &nest, const RoleOfBoth &of) {
  return axis_extents(nest, [&](const For &loop) {
    return !of.one || !is_thread(*loop.axis()) || role_of(program, loop) == of.role;
  });
}

} // namespace

std::optional<Race> unordered_accesses(const Program &program, const Stmt &nest) {
  std::vector<const Block *> blocks = blocks_of(nest);
  std::map<RoleOfBoth, Races> of_roles;
  bool has_last = !find_last_blocks(nest).empty();
  for (std::size_t n = 0; n < blocks.size(); ++n)
    for (std::size_t m = n + 1; m < blocks.size(); ++m) {
      const std::vector<Buffer> buffers = conflicts_in_kernel(*blocks[n], *blocks[m], has_last);
      if (buffers.empty()) // as of most blocks
        continue;
      const RoleOfBoth role = role_of_both(program, *blocks[n], *blocks[m]);
      auto races = of_roles.find(role);
      if (races == of_roles.end())
        races = of_roles.try_emplace(role, nest, blocks, extents_of(program, nest, role)).first;
      for (const Buffer &buffer : buffers)
        if (auto axis = races->second.racing_axis(n, m, buffer))
          return Race{blocks[n]->id, blocks[m]->id, buffer, *axis};
    }
  return std::nullopt;
}

std::optional<Axis> axis_of_other_thread(const Program &program, const Block &a, const Block &b,
                                         const Buffer &buffer, const std::vector<Var> &fixed) {
  for (Axis axis : Races(program.body, {}, extents_of(program, program.body, role_of_both(program, a, b)))
                       .differing_axes(a, b, buffer, fixed))
    if (buffer->scope != Scope::shared || is_thread(axis))
      return axis;
  return std::nullopt;
}

} // namespace nestsmith
