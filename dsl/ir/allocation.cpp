#include "dsl/ir/allocation.h"

#include "dsl/expr/error.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/roles.h"

#include <algorithm>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// A block that writes or reads the buffer, and the loops around it.
struct User {
  const Block *block;
  std::vector<const For *> loops;
  std::vector<const Load *> loads; ///< of the buffer
};

/// One store or load of the buffer, with its indices in terms of the loops around it.
struct PlacedAccess {
  const User *user;
  std::vector<Expr> indices;
  bool write;
  std::vector<LoopGuard> guards;
  std::vector<std::vector<LoopGuard>> ends = {}; ///< for each dimension that is no whole tile, its end_guards
  Region touched = {};                           ///< the box over all iterations that share the buffer
};

class Placer {
public:
  Placer(const Program &program, const Bounds &bounds, const WholeTiles &tiles, const Buffer &buffer)
      : bounds_(bounds), tiles_(tiles), result_{buffer, {}, {}, {}, {}, 1, true} {
    for (const Block *block : blocks_of(program.body)) {
      std::vector<const Load *> loads = loads_of(*block);
      std::erase_if(loads, [&](const Load *load) { return load->buffer != buffer; });
      of_role_ = of_role_ || (block->body.buffer == buffer && role_of(program, block->id));
      if (block->body.buffer == buffer || !loads.empty())
        users_.push_back({block, loops_of(path_to(program.body, block->id)), std::move(loads)});
    }
  }

  Placement run() {
    find_loops();
    find_axes();
    for (const User &user : users_) {
      if (user.block->body.buffer == result_.buffer)
        add(user, user.block->body.indices, true);
      for (const Load *load : user.loads)
        add(user, load->indices, false, load->mask);
    }
    find_box();
    if (result_.buffer->scope != Scope::local)
      for (Region *region : {&result_.region, &tile_})
        for (Span &span : *region)
          span.runs.clear();
    result_.elements = 0;
    if (std::any_of(result_.region.begin(), result_.region.end(),
                    [](const Span &span) { return !as_int(span.extent); }))
      return std::move(result_);
    result_.filled_by_owner = result_.filled_by_owner && owners_fill();
    result_.slots = slots_of(result_.buffer, result_.loops, of_role_);
    if (result_.buffer->scope == Scope::warp &&
        !is_fragment(*result_.buffer)) // an obligation requires a layout
      return std::move(result_);
    std::int64_t elements = PlacedLayout(*result_.buffer, result_.box()).elements();
    result_.elements = elements_of_copies(*result_.buffer, elements, result_.slots.count);
    return std::move(result_);
  }

private:
  void find_loops() {
    bool written = std::any_of(users_.begin(), users_.end(),
                               [&](const User &user) { return user.block->body.buffer == result_.buffer; });
    internal_check(written, "a temporary is never written");
    result_.loops = users_.front().loops;
    for (const auto &[block, loops, loads] : users_) {
      std::size_t common = 0;
      while (common < result_.loops.size() && common < loops.size() && result_.loops[common] == loops[common])
        ++common;
      result_.loops.resize(common);
    }
  }

  /// Whether each index on the axis has its own copy of the buffer.
  bool is_private(Axis axis) const {
    switch (result_.buffer->scope) {
    case Scope::local:
      return true;
    case Scope::warp:
      return !determines(axis, Axis::lane);
    default:
      return !is_thread(axis);
    }
  }

  /// Each thread has its own copy of a local buffer, and each warp of a fragment. In one thread, all loops that
  /// are bound to one thread axis have the same value, so one variable represents all of them.
  void find_axes() {
    for (const For *loop : result_.loops)
      if (!loop->axis() || is_private(*loop->axis()))
        fixed_.insert(loop->var);
    if (!in_registers(result_.buffer->scope))
      return;
    std::map<Axis, Expr> axes;
    for (const For *loop : result_.loops)
      if (loop->axis())
        axes[*loop->axis()] = loop->var;
    for (const auto &[block, loops, loads] : users_)
      for (std::size_t n = result_.loops.size(); n < loops.size(); ++n)
        if (loops[n]->axis() && is_private(*loops[n]->axis()))
          rename(*loops[n], axes);
  }

  /// Expresses the variable of a bound loop by the variables of other loops on the same axis. `axes` contains
  /// the index on each axis.
  void rename(const For &loop, std::map<Axis, Expr> &axes) {
    Axis axis = *loop.axis();
    auto thread = axes.find(Axis::thread_x), warp = axes.find(Axis::warp), lane = axes.find(Axis::lane);
    bool parts = warp != axes.end() && lane != axes.end();
    if (is_part_of_warps(axis) && thread != axes.end() && !axes.count(axis)) {
      axes[axis] = axis == Axis::warp ? floordiv(thread->second, Expr(lanes_per_warp))
                                      : floormod(thread->second, Expr(lanes_per_warp));
    } else if (axis == Axis::thread_x && thread == axes.end() && parts) {
      axes[axis] = warp->second * Expr(lanes_per_warp) + lane->second;
    }
    // If only the warp is known, or only the lane, the thread is another unknown. That its warp is the known
    // one is not used: what is proved for all pairs of a warp and a thread is true of those that exist.
    Expr index = axes.try_emplace(axis, loop.var).first->second;
    renamed_[loop.var] = index;
    if (const Var *var = index.as<Var>())
      fixed_.insert(*var);
  }

  void add(const User &user, const std::vector<Expr> &indices, bool write, const Expr &mask = {}) {
    const Buffer &buffer = result_.buffer;
    PlacedAccess access{&user, {}, write, loop_guards(*user.block, mask, bounds_)};
    for (std::size_t d = 0; d < indices.size(); ++d) {
      access.indices.push_back(in_thread(in_loops(indices[d], *user.block, bounds_)));
      access.ends.emplace_back();
      if (tiles_.contains(buffer, d))
        continue;
      access.ends[d] = end_guards(*user.block, indices[d], buffer->shape[d], !write, bounds_);
      for (LoopGuard &guard : access.ends[d])
        guard.value = in_thread(guard.value);
    }
    accesses_.push_back(std::move(access));
  }

  /// The expression of loops in terms of the loops that represent the thread axes.
  Expr in_thread(const Expr &e) const {
    if (renamed_.empty())
      return e;
    return simplify(substitute(e,
                               [&](const Var &var) {
                                 auto it = renamed_.find(var);
                                 return it == renamed_.end() ? Expr() : it->second;
                               }),
                    bounds_);
  }

  void find_box() {
    auto varies = [&](const Var &var) { return !fixed_.count(var); };
    const auto &shape = result_.buffer->shape;
    result_.cut.assign(shape.size(), false);
    bool first = true;
    for (PlacedAccess &access : accesses_) {
      access.touched = box(access.indices, shape, varies, bounds_, access.guards);
      Region ended = access.touched;
      for (std::size_t d = 0; d < ended.size(); ++d) {
        if (access.ends[d].empty())
          continue;
        std::vector<LoopGuard> guards = access.guards;
        guards.insert(guards.end(), access.ends[d].begin(), access.ends[d].end());
        ended[d] = box({access.indices[d]}, {shape[d]}, varies, bounds_, guards).front();
        if (!same(ended[d].min, access.touched[d].min) || !same(ended[d].extent, access.touched[d].extent))
          result_.cut[d] = true;
      }
      tile_ = first ? access.touched : hull(tile_, access.touched, shape, bounds_);
      result_.region = first ? ended : hull(result_.region, ended, shape, bounds_);
      first = false;
    }
  }

  /// Whether the access, a store, touches every element of the tile of all accesses. False if its index in a
  /// dimension is guarded and its box covers the whole dimension of the buffer, because the guard may exclude
  /// some elements.
  bool touches_tile(const PlacedAccess &access) const {
    const Block &block = *access.user->block;
    for (std::size_t d = 0; d < access.touched.size(); ++d) {
      const Span &part = access.touched[d], &all = tile_[d];
      bool guarded = std::ranges::any_of(block.iters, [&](const IterVar &iter) {
        return iter.guarded && uses(block.body.indices[d], iter.var);
      });
      bool whole = guarded && as_int(part.min) == 0 && same(part.extent, result_.buffer->shape[d]);
      if (whole || as_int(simplify(part.min - all.min, bounds_)) != 0 || !same(part.extent, all.extent) ||
          part.runs != all.runs)
        return false;
    }
    return true;
  }

  /// Whether a guard on an axis that indexes nothing excludes some iterations of loops below the placement, and
  /// so some threads. A guard on the index of the thread itself excludes threads that read the buffer, unless
  /// all reads are below the same guard.
  bool is_guarded_apart(const PlacedAccess &access) const {
    const Block &block = *access.user->block;
    return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
      auto is_fixed = [&](const Expr &node) {
        const Var *var = node.as<Var>();
        return !var || (*var)->size || (fixed_.count(*var) > 0 && (!is_bound(*var) || all_reads_have(iter)));
      };
      bool indexes = indexes_result(block, iter);
      return iter.guarded && !indexes && any_node(iter.binding, [&](const Expr &e) { return !is_fixed(e); });
    });
  }

  bool is_bound(const Var &var) const {
    return renamed_.contains(var) ||
           std::ranges::any_of(result_.loops, [&](const For *x) { return x->var == var && x->axis(); });
  }

  bool all_reads_have(const IterVar &guard) const {
    return std::ranges::all_of(accesses_, [&](const PlacedAccess &access) {
      return access.write || std::ranges::any_of(access.user->block->iters, [&](const IterVar &iter) {
               return iter.guarded && same(in_thread(iter.binding), in_thread(guard.binding)) &&
                      same(iter.extent, guard.extent);
             });
    });
  }

  /// Whether, in each thread, each write access writes every element of the tile. This requires that the loops
  /// in its indices have as many iterations as the tile has elements, and that different iterations write
  /// different elements.
  bool owners_fill() const {
    if (renamed_.empty())
      return true;
    std::int64_t elements = 1;
    for (const Span &span : tile_) {
      if (!as_int(span.extent))
        return false;
      elements *= elements_of(span);
    }
    return std::all_of(accesses_.begin(), accesses_.end(), [&](const PlacedAccess &access) {
      if (!access.write)
        return true;
      if (is_guarded_apart(access))
        return false;
      std::int64_t iterations = 1;
      std::vector<Var> used;
      for (const For *loop : access.user->loops)
        if (!fixed_.count(loop->var) && !renamed_.count(loop->var) &&
            std::any_of(access.indices.begin(), access.indices.end(),
                        [&](const Expr &index) { return uses(index, loop->var); })) {
          used.push_back(loop->var);
          iterations *= as_int(loop->extent).value();
        }
      return iterations == elements && touches_tile(access) &&
             determine(
                 access.indices, used, [&](const Var &var) { return fixed_.count(var) > 0; }, bounds_);
    });
  }

  const Bounds &bounds_;
  const WholeTiles &tiles_;
  std::vector<User> users_;
  bool of_role_ = false; ///< a role fills the buffer
  Placement result_;
  Region tile_; ///< the box of the loops, as if no access ended early
  std::set<Var> fixed_;
  std::map<Var, Expr> renamed_; ///< loops below the placement that bind a thread axis again
  std::vector<PlacedAccess> accesses_;
};

} // namespace

std::int64_t elements_of(const Span &span) {
  if (span.runs.empty())
    return as_int(span.extent).value();
  std::int64_t elements = 1;
  for (const Run &run : span.runs)
    elements *= run.count;
  return elements;
}

std::int64_t elements_of_copies(const BufferNode &buffer, std::int64_t elements, std::int64_t count) {
  if (count == 1 || buffer.scope != Scope::shared)
    return elements * count;
  std::int64_t unit = shared_alignment / byte_size(buffer.dtype);
  return (elements + unit - 1) / unit * unit * count;
}

Placement place(const Program &program, const Buffer &buffer) { return Placements(program).of(buffer); }

const Placement &Placements::of(const Buffer &buffer) {
  auto known = made_.find(buffer);
  return known == made_.end()
             ? made_.emplace(buffer, Placer(program_, bounds_, tiles_, buffer).run()).first->second
             : known->second;
}

std::vector<std::int64_t> Placement::box() const {
  std::vector<std::int64_t> extents;
  for (const Span &span : region)
    extents.push_back(elements_of(span));
  return extents;
}

std::string_view owner_of(Scope scope) {
  return scope == Scope::local ? "thread" : scope == Scope::warp ? "warp" : "block";
}

std::vector<Stmt> nests_of(const Stmt &root) {
  const auto *seq = as<Seq>(root);
  return seq ? seq->stmts : std::vector<Stmt>{root};
}

std::map<Axis, std::int64_t> axis_extents(const Stmt &nest) {
  return axis_extents(nest, [](const For &) { return true; });
}

std::map<Axis, std::int64_t> axis_extents(const Stmt &nest, FunctionRef<bool(const For &)> counts) {
  std::map<Axis, std::int64_t> extents;
  walk(nest, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt); loop && loop->axis() && counts(*loop)) {
      auto range = range_of(loop->extent, {});
      std::int64_t &most = extents[*loop->axis()];
      most = std::max(most, range ? range->high : std::int64_t{1} << 31);
    }
    return true;
  });
  if (!extents.count(Axis::warp) && !extents.count(Axis::lane))
    return extents;
  std::int64_t warps = std::max<std::int64_t>(extents[Axis::warp], 1);
  if (auto threads = extents.find(Axis::thread_x); threads != extents.end()) {
    warps = std::max(warps, threads->second / lanes_per_warp);
    extents.erase(threads);
  }
  extents[Axis::warp] = warps;
  extents[Axis::lane] = lanes_per_warp;
  return extents;
}

std::int64_t threads_of(const Program &program) {
  std::int64_t most = 1;
  for (const Stmt &nest : nests_of(program.body))
    most = std::max(most, threads_of_roles(program, nest));
  return most;
}

} // namespace nestsmith
