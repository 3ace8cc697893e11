#include "dsl/ir/fill_tails.h"

#include "dsl/expr/factors.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/executed_tiles.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace nestsmith {

namespace {

/// A dimension of a temporary that is padded past its shape.
struct Padding {
  Expr extent; ///< the elements that exist and have been written
  bool filled; ///< whether the elements past the shape have the fill of the buffer
};

/// A load, or one below conversions; null for any other expression.
const Load *load_below_casts(const Expr &e) {
  const Expr *inside = &e;
  while (const auto *conversion = inside->as<Cast>())
    inside = &conversion->a;
  return inside->as<Load>();
}

/// A load of a term, and the value of it with which the term is the identity of the reducer.
struct NeededFill {
  const Load *access;
  Expr fill;
};
/// For a term x*y*… of a sum or a product, and a term x of a maximum or a minimum, where each factor is a load,
/// possibly converted: what to load past the end of an axis, so that the term changes nothing. One zero factor
/// is not sufficient, because 0*NaN is not 0. None for any other term.
std::optional<std::vector<NeededFill>> needed_fills(const Block &block) {
  auto term = term_of(block);
  if (!term || block.reducer.definition())
    return std::nullopt;
  const Expr identity = identity_of(block.reducer, term->dtype());
  const bool of_products = block.reducer == Reducer::sum || block.reducer == Reducer::product;
  const std::vector<Expr> factors = of_products ? factors_of(*term) : std::vector<Expr>{*term};
  std::vector<NeededFill> needed;
  for (const Expr &factor : factors) {
    const Load *access = load_below_casts(factor);
    if (!access || access->mask.exists())
      return std::nullopt;
    DType dtype = access->buffer->dtype;
    auto fill = factor.as<Load>() ? std::optional(identity) : before_cast(identity, dtype);
    if (!fill)
      return std::nullopt;
    needed.push_back({access, *fill});
  }
  return needed;
}

/// The iterations of fused loops that a guard lets execute, if it excludes idle threads only: the others write
/// a whole box of elements, once each. A split adds such a guard to a fetch whose elements are no multiple of
/// the threads.
class IdleGuard {
public:
  /// None if the block has no such guard.
  static std::optional<IdleGuard> of(const Block &block, const Bounds &bounds) {
    IdleGuard result;
    const IterVar *guard = nullptr;
    for (const IterVar &iter : block.iters)
      if (iter.guarded && !iter.is_summed() && !indexes_result(block, iter)) {
        if (guard)
          return std::nullopt;
        guard = &iter;
      }
    if (!guard || !result.find_loops(*guard, bounds) || !result.find_values(block, *guard, bounds))
      return std::nullopt;
    return result;
  }

  /// The terms of an axis that indexes the buffer without those of the fused loops.
  const Linear &rest_of(const IterVar &iter) const { return rests_.at(iter.var); }
  /// The largest value of an axis that indexes the buffer, as an expression of sizes.
  std::optional<Expr> highest_of(const IterVar &iter, const Bounds &bounds) const {
    auto rest = highest(to_expr(rest_of(iter)), bounds);
    return rest ? std::optional(*rest + Expr(highest_.at(iter.var))) : std::nullopt;
  }

private:
  static constexpr std::int64_t most_iterations = 8192;

  bool find_loops(const IterVar &guard, const Bounds &bounds) {
    for (const Term &term : linearize(guard.binding, bounds).terms) {
      const Var *var = term.digit.as_var();
      auto range = var ? bounds.find(*var) : std::nullopt;
      if (!range || bounds.find_extent(*var) || range->low != 0)
        return false;
      loops_.emplace_back(*var, range->high + 1);
      if (__builtin_mul_overflow(iterations_, range->high + 1, &iterations_) || iterations_ > most_iterations)
        return false;
    }
    return !loops_.empty();
  }

  bool is_of_loops(const Expr &e) const {
    return std::ranges::any_of(loops_, [&](const auto &loop) { return uses(e, loop.first); });
  }

  /// Separates each axis that indexes the buffer into a part of these loops and the rest, and executes the
  /// loops.
  bool find_values(const Block &block, const IterVar &guard, const Bounds &bounds) {
    std::vector<std::pair<Var, Expr>> parts;
    for (const IterVar &iter : block.iters) {
      if (!indexes_result(block, iter)) {
        if (iter.var != guard.var && is_of_loops(iter.binding))
          return false;
        continue;
      }
      Linear part, rest = linearize(iter.binding, bounds);
      std::erase_if(rest.terms, [&](const Term &term) {
        if (is_of_loops(term.digit.base))
          part.terms.push_back(term);
        return is_of_loops(term.digit.base);
      });
      Expr of_loops = to_expr(part);
      if (any_node(of_loops, [&](const Expr &node) {
            const Var *var = node.as<Var>();
            return var &&
                   std::ranges::find(loops_, *var, [](const auto &x) { return x.first; }) == loops_.end();
          }))
        return false;
      rests_.emplace(iter.var, std::move(rest));
      parts.emplace_back(iter.var, std::move(of_loops));
    }
    return is_whole(parts, guard);
  }

  /// Whether the iterations write each combination of the values of the axes exactly once.
  bool is_whole(const std::vector<std::pair<Var, Expr>> &parts, const IterVar &guard) {
    std::set<std::vector<std::int64_t>> elements;
    std::vector<std::set<std::int64_t>> values(parts.size());
    std::int64_t executed = 0;
    for (std::int64_t n = 0; n < iterations_; ++n) {
      std::vector<std::int64_t> at;
      for (std::int64_t left = n; const auto &[var, extent] : loops_) {
        at.push_back(left % extent);
        left /= extent;
      }
      auto value = [&](const Expr &e) { return value_at(e, at); };
      auto position = value(guard.binding), extent = as_int(guard.extent);
      if (!position || !extent)
        return false;
      if (*position >= *extent)
        continue;
      ++executed;
      std::vector<std::int64_t> element;
      for (std::size_t d = 0; d < parts.size(); ++d) {
        auto of_axis = value(parts[d].second);
        if (!of_axis)
          return false;
        element.push_back(*of_axis);
        values[d].insert(*of_axis);
      }
      elements.insert(std::move(element));
    }
    std::int64_t box = 1;
    for (std::size_t d = 0; d < parts.size(); ++d) {
      if (values[d].empty() || *values[d].begin() != 0 ||
          __builtin_mul_overflow(box, static_cast<std::int64_t>(values[d].size()), &box))
        return false;
      highest_[parts[d].first] = *values[d].rbegin();
    }
    return static_cast<std::int64_t>(elements.size()) == box && executed == box;
  }

  /// The value of an index at these values of the loops; none for an expression of another kind.
  std::optional<std::int64_t> value_at(const Expr &e, const std::vector<std::int64_t> &at) const {
    if (const Var *var = e.as<Var>()) {
      for (std::size_t n = 0; n < loops_.size(); ++n)
        if (loops_[n].first == *var)
          return at[n];
      return std::nullopt;
    }
    if (const auto *op = e.as<Binary>()) {
      auto a = value_at(op->a, at), b = value_at(op->b, at);
      if (!a || !b)
        return std::nullopt;
      switch (op->op) {
      case BinaryOp::add:
        return *a + *b;
      case BinaryOp::sub:
        return *a - *b;
      case BinaryOp::mul:
        return *a * *b;
      case BinaryOp::floordiv:
        return *b > 0 ? std::optional(floor_div(*a, *b)) : std::nullopt;
      case BinaryOp::floormod:
        return *b > 0 ? std::optional(floor_mod(*a, *b)) : std::nullopt;
      default:
        return std::nullopt;
      }
    }
    return as_int(e);
  }

  std::vector<std::pair<Var, std::int64_t>> loops_; ///< of the guard, with their extents
  std::int64_t iterations_ = 1;
  std::map<Var, Linear> rests_; ///< for each axis that indexes the buffer: the terms without these loops
  std::map<Var, std::int64_t> highest_; ///< the largest value of the other terms
};

class Filler {
public:
  Filler(const ExecutedTiles &tiles, const Program &program)
      : program_(tiles.program), bounds_(tiles.bounds), placements_(program) {}

  Program run() {
    if (!any_guard()) // all tiles are full
      return program_;
    find_conditions();
    find_fills();
    find_reduced();
    // An init may precede the caches that its update reads, so repeat this until nothing is added.
    for (std::size_t known = ~std::size_t{0}; known != padding_.size();) {
      known = padding_.size();
      for (const Buffer &buffer : temporaries(program_))
        if (buffer->scope != Scope::global)
          pad(buffer);
    }
    Program result = program_;
    result.body = rewrite(program_.body);
    for (const auto &[from, to] : padded_buffers())
      result.body = replace_buffer(result.body, from, to);
    return result;
  }

private:
  bool any_guard() const {
    auto guarded = [](const Block *block) {
      return std::any_of(block->iters.begin(), block->iters.end(),
                         [](const IterVar &iter) { return iter.guarded; });
    };
    std::vector<const Block *> blocks = blocks_of(program_.body);
    return std::any_of(blocks.begin(), blocks.end(), guarded);
  }

  /// Collects the guards of axes that index nothing. A split adds such a guard to a block if the index of the
  /// element that the block writes does not grow with the loop.
  void find_conditions() {
    for (const Block *block : blocks_of(program_.body))
      for (const IterVar &iter : block->iters)
        if (iter.guarded && !iter.is_summed() && !indexes_result(*block, iter))
          conditions_[block->body.buffer].push_back(iter.binding);
  }

  /// Collects the fills that reductions need past the ends of their axes, and passes them on from the copies of
  /// a buffer to the buffer. If the readers of a buffer need several, those that need 0 get it.
  void find_fills() {
    for (const Block *block : blocks_of(program_.body))
      if (std::ranges::any_of(block->iters, [](const IterVar &x) { return x.guarded && x.is_summed(); }))
        for (const NeededFill &needed : needed_fills(*block).value_or(std::vector<NeededFill>()))
          agree(needed.access->buffer, needed.fill);
    for (std::size_t known = ~std::size_t{0}; known != fills_.size();) {
      known = fills_.size();
      for (const Block *block : blocks_of(program_.body))
        if (const auto *source = block->body.value.as<Load>(); source && fills_.contains(block->body.buffer))
          agree(source->buffer, fills_.at(block->body.buffer));
    }
  }

  /// Collects the buffers that a reduction reads, or a copy of them.
  void find_reduced() {
    for (std::size_t known = ~std::size_t{0}; known != reduced_.size();) {
      known = reduced_.size();
      for (const Block *block : blocks_of(program_.body))
        if (block->reduces() || (block->body.value.as<Load>() && reduced_.contains(block->body.buffer)))
          for (const Load *access : loads_of(*block))
            reduced_.insert(access->buffer);
    }
  }

  void agree(const Buffer &buffer, const Expr &fill) {
    Expr &known = fills_.try_emplace(buffer, fill).first->second;
    if (!same(known, fill))
      known = constant(buffer->dtype, 0);
  }

  /// The value of elements past the shape of a cache.
  Expr fill_of(const Buffer &buffer) const {
    auto known = fills_.find(buffer);
    return known == fills_.end() ? constant(buffer->dtype, 0) : known->second;
  }

  /// Whether a condition of a writer of the buffer depends on a loop of the axis. Then the guard of the axis
  /// may be the only guard of the reader under which the condition holds.
  bool written_under_guard(const Buffer &buffer, const IterVar &iter) const {
    auto it = conditions_.find(buffer);
    return it != conditions_.end() && std::ranges::any_of(it->second, [&](const Expr &condition) {
             return any_node(condition, [&](const Expr &node) {
               const Var *loop = node.as<Var>();
               return loop && !(*loop)->size && uses(iter.binding, *loop);
             });
           });
  }

  Expr reach(const Block &block, const IterVar &iter) {
    const auto &idle = idle_guard_of(block);
    auto last = idle && indexes_result(block, iter) ? idle->highest_of(iter, bounds_) : std::nullopt;
    return simplify((last ? *last : highest(iter.binding, bounds_).value()) + Expr(1), bounds_);
  }
  const std::optional<IdleGuard> &idle_guard_of(const Block &block) {
    auto known = idle_guards_.find(&block);
    return known == idle_guards_.end()
               ? idle_guards_.emplace(&block, IdleGuard::of(block, bounds_)).first->second
               : known->second;
  }
  bool holds(const Expr &condition) const { return proves(condition, bounds_); }

  /// A copy from global memory, or a value of elements there that a reduction reads, which a mask can exclude
  /// past an end.
  bool is_copy(const Block &block) const {
    auto pure = [](const Expr &e) { return !e.exists() || !reads_memory(e); };
    auto loads = loads_of(block);
    return !loads.empty() && !block.init && !block.reduces() &&
           (block.body.value.as<Load>() || reduced_.contains(block.body.buffer)) &&
           std::ranges::all_of(loads, [&](const Load *access) {
             return pure(access->fill) && access->buffer->scope == Scope::global;
           });
  }
  /// Whether the copy can store the fill of its buffer past an end. An asynchronous copy has one fill only.
  bool fills(const Block &copy) const { return !copy.async || !has_own_fill(copy); }
  /// Whether the copy stores another value where its mask is false than the fill that its readers need.
  bool has_own_fill(const Block &copy) const {
    const auto *access = copy.body.value.as<Load>();
    return access && access->mask.exists() && fills_.contains(copy.body.buffer) &&
           !same(access->fill, fill_of(copy.body.buffer));
  }

  /// Whether the index is inside the dimension of this extent for all values of the block's axes. An axis whose
  /// guard is dropped indexes padded dimensions only, so the extents of the axes apply.
  static bool always_inside(const Block &block, const Expr &index, const Expr &extent) {
    Bounds axes;
    for (const IterVar &iter : block.iters)
      axes.set_extent(iter.var, iter.extent);
    return proves(Expr(0) <= index, axes) && proves(index < extent, axes);
  }

  /// Whether a load may need the guard of the axis because its mask uses the axis. A mask such as k <= i bounds
  /// k by the extent of i only together with the guard of i. A parameter whose indices are inside of its shape
  /// needs no mask. What is written of a temporary may follow from the mask.
  static bool mask_needs_guard(const Block &block, const Load &access, const IterVar &iter) {
    if (!iter.guarded || !access.mask.exists() || !uses(access.mask, iter.var))
      return false;
    bool inside = access.buffer->scope == Scope::global;
    for (std::size_t d = 0; d < access.indices.size(); ++d)
      inside = inside && always_inside(block, access.indices[d], access.buffer->shape[d]);
    return !inside;
  }

  /// Whether an index such as i + r is inside of a dimension of `padded` elements, where the axis has values
  /// below `extent`, and the other axes all values that the loops give them.
  bool window_reaches(const Block &block, const Expr &index, const IterVar &iter, const Expr &extent,
                      const Expr &padded) const {
    Bounds axes;
    for (const IterVar &other : block.iters) {
      auto last = highest(other.binding, bounds_);
      if (!last || !holds(Expr(0) <= other.binding))
        return false;
      axes.set_extent(other.var, other.var == iter.var ? extent : simplify(*last + Expr(1), bounds_));
    }
    return proves(Expr(0) <= index, axes) && proves(index < padded, axes);
  }

  /// Whether the block may load without the guard of this axis: every load exists and has been written. Each
  /// load that the axis indexes exists up to `extent` and, unless `end` is null, is the fill of its buffer from
  /// `end` on. A buffer that is longer than `end` has elements of its source there.
  bool loads_reach(const Block &block, const IterVar &iter, const Expr &extent, const Expr &end) const {
    for (const Load *access : loads_of(block)) {
      if (access->buffer == block.body.buffer)
        continue;
      if ((iter.guarded && written_under_guard(access->buffer, iter)) || mask_needs_guard(block, *access, iter))
        return false;
      for (std::size_t d = 0; d < access->indices.size(); ++d) {
        if (!uses(access->indices[d], iter.var))
          continue;
        auto it = padding_.find({access->buffer, d});
        if (it == padding_.end())
          return false;
        if (!access->indices[d].as<Var>()) { // a window: its elements exist, but are not all past the end
          if (end.exists() || !window_reaches(block, access->indices[d], iter, extent, it->second.extent))
            return false;
          continue;
        }
        if (!holds(extent <= it->second.extent))
          return false;
        if (end.exists() && !(it->second.filled && holds(access->buffer->shape[d] <= end)))
          return false;
      }
    }
    return true;
  }

  /// Whether the axis has each of its values for all values of the other axes. False if the axis counts the
  /// rows of fused loops that end within a row.
  bool in_whole_rows(const Block &block, const IterVar &iter) {
    const auto &idle = idle_guard_of(block);
    for (const Term &term : (idle ? idle->rest_of(iter) : linearize(iter.binding, bounds_)).terms) {
      const Digit &digit = term.digit;
      auto range = range_of(digit.base, bounds_);
      if (digit.div != 1 && digit.mod == 0 && !uses_size(digit.base) &&
          (!range || range->low != 0 || (range->high + 1) % digit.div != 0))
        return false;
    }
    return true;
  }

  /// Whether each guard of the block is only the upper end of an axis that indexes its buffer, or lets threads
  /// idle.
  bool only_ends(const Block &block) {
    return std::ranges::all_of(block.iters, [&](const IterVar &iter) {
      return !iter.guarded || iter.is_summed() ||
             (indexes_result(block, iter) ? holds(Expr(0) <= iter.binding) : idle_guard_of(block).has_value());
    });
  }

  /// The axis that is the index of the block's buffer in this dimension, or null.
  static const IterVar *axis_at(const Block &block, std::size_t dimension) {
    const Var *axis = block.body.indices[dimension].as<Var>();
    auto iter = std::ranges::find_if(block.iters, [&](const IterVar &x) { return axis && x.var == *axis; });
    return iter == block.iters.end() ? nullptr : &*iter;
  }

  /// Pads those dimensions of a temporary in which all of its writers can run past the shape.
  void pad(const Buffer &buffer) {
    std::vector<const Block *> writers = blocks_of(program_.body);
    std::erase_if(writers, [&](const Block *block) { return block->body.buffer != buffer; });
    const std::vector<bool> &cut = placements_.of(buffer).cut;
    for (std::size_t d = 0; d < buffer->shape.size(); ++d) {
      if (cut[d]) // a padded array would be larger
        continue;
      Expr extent = buffer->shape[d], begun; // the end of the first writer, which may be an init
      bool possible = true, filled = true;
      for (const Block *writer : writers) {
        const IterVar *iter = axis_at(*writer, d);
        if (!iter || !only_ends(*writer)) {
          possible = false;
          break;
        }
        Expr end = reach(*writer, *iter);
        extent = simplify(max(extent, end), bounds_);
        begun = begun.exists() ? begun : end;
        // Of the axis of the largest digit, idle threads would have values past the end.
        possible = possible && holds(highest(iter->binding, bounds_).value() < end) && holds(end <= begun) &&
                   (holds(end <= buffer->shape[d]) || in_whole_rows(*writer, *iter));
      }
      for (const Block *writer : writers) {
        if (!possible)
          break;
        const IterVar &iter = *axis_at(*writer, d);
        possible = is_copy(*writer) || loads_reach(*writer, iter, extent, {});
        const auto *source = writer->body.value.as<Load>();
        bool copies = source && !source->mask.exists() && same(fill_of(source->buffer), fill_of(buffer)) &&
                      loads_reach(*writer, iter, extent, buffer->shape[d]);
        filled = filled && ((is_copy(*writer) && fills(*writer)) || copies);
      }
      if (possible)
        padding_[{buffer, d}] = {extent, filled};
    }
  }

  /// Whether the term is the identity of the reducer past the end of the axis.
  bool term_vanishes(const Block &block, const IterVar &iter) {
    auto needed = needed_fills(block);
    return needed &&
           std::ranges::all_of(*needed,
                               [&](const NeededFill &x) {
                                 return same(fill_of(x.access->buffer), x.fill) &&
                                        std::ranges::any_of(x.access->indices, [&](const Expr &index) {
                                          return uses(index, iter.var);
                                        });
                               }) &&
           loads_reach(block, iter, reach(block, iter), iter.extent);
  }

  Stmt rewrite(const Stmt &stmt) {
    const auto *block = as<Block>(stmt);
    if (!block)
      return map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
    Block copy = *block;
    Expr mask;
    for (IterVar &iter : copy.iters) {
      if (!iter.guarded || !may_drop(*block, iter))
        continue;
      if (is_copy(*block)) {
        Expr inside = Expr(iter.var) < iter.extent;
        mask = mask.exists() ? mask && inside : inside;
      }
      iter.guarded = false;
      iter.extent = reach(*block, *std::ranges::find(block->iters, iter.var, &IterVar::var));
    }
    if (mask.exists()) {
      const auto *access = copy.body.value.as<Load>();
      const Expr fill = fill_of(block->body.buffer);
      copy.body.value = !access || (has_own_fill(*block) && !block->async)
                            ? branch(mask, copy.body.value, fill)
                            : load(access->buffer, access->indices, under_guard(mask, access->mask),
                                   access->mask.exists() ? access->fill : fill);
    }
    return make_block(std::move(copy));
  }

  bool may_drop(const Block &block, const IterVar &iter) {
    if (!holds(Expr(0) <= iter.binding))
      return false;
    if (iter.kind == IterKind::reduction)
      return term_vanishes(block, iter);
    bool padded = false;
    for (std::size_t d = 0; d < block.body.indices.size(); ++d) {
      if (!uses(block.body.indices[d], iter.var))
        continue;
      auto it = padding_.find({block.body.buffer, d});
      padded = block.body.indices[d].as<Var>() && it != padding_.end() &&
               holds(reach(block, iter) <= it->second.extent);
      if (!padded)
        return false;
    }
    return padded;
  }

  std::map<Buffer, Buffer> padded_buffers() const {
    std::map<Buffer, BufferNode> nodes;
    for (const auto &[key, padding] : padding_) {
      auto [buffer, d] = key;
      auto it = nodes.try_emplace(buffer, *buffer).first;
      it->second.shape[d] = padding.extent;
    }
    std::map<Buffer, Buffer> result;
    for (auto &[buffer, node] : nodes)
      result[buffer] = std::make_shared<const BufferNode>(std::move(node));
    return result;
  }

  const Program &program_;
  Bounds bounds_;
  Placements placements_;
  std::map<std::pair<Buffer, std::size_t>, Padding> padding_;
  std::map<Buffer, Expr> fills_; ///< of buffers that reductions read past the end
  std::set<Buffer> reduced_;
  std::map<const Block *, std::optional<IdleGuard>> idle_guards_;
  std::map<Buffer, std::vector<Expr>> conditions_; ///< bindings of guards that are no end of the buffer
};

} // namespace

Program with_filled_tails(const Program &program) {
  const ExecutedTiles tiles = over_executed_tiles(program);
  return with_bindings_of(Filler(tiles, program).run(), program);
}

} // namespace nestsmith
