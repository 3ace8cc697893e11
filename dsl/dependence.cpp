#include "dsl/dependence.h"

#include "dsl/region.h"

#include <algorithm>
#include <map>

namespace nestsmith {

namespace {

/// The indices of the accesses of a block to a buffer, in terms of loops.
struct ParameterAccess {
  std::vector<Expr> indices;
  bool writes;
};

std::vector<ParameterAccess> accesses_of(const Block &block, const Buffer &buffer, const Bounds &bounds) {
  std::vector<ParameterAccess> result;
  auto add = [&](const std::vector<Expr> &indices, bool writes) {
    ParameterAccess &access = result.emplace_back(ParameterAccess{{}, writes});
    for (const Expr &index : indices)
      access.indices.push_back(in_loops(index, block, bounds));
  };
  if (block.body.buffer == buffer)
    add(block.body.indices, true);
  for (const Load *load : loads_of(block))
    if (load->buffer == buffer)
      add(load->indices, false);
  return result;
}

/// Calls f(x, y) for the accesses that conflict, until it returns false. Returns whether it never did.
template <class F>
bool all_conflicts(const std::vector<ParameterAccess> &a, const std::vector<ParameterAccess> &b, const F &f) {
  return std::ranges::all_of(a, [&](const ParameterAccess &x) {
    return std::ranges::all_of(b, [&](const ParameterAccess &y) { return !(x.writes || y.writes) || f(x, y); });
  });
}

/// The elements of one dimension that either span contains, as one sum of `min` and new variables with known
/// ranges; none if the distance of the spans is unknown.
std::optional<Expr> common_form(const Span &a, const Span &b, Bounds &bounds) {
  auto part = [&](std::int64_t step, std::int64_t count) {
    Var var = make_var("part");
    bounds.set_extent(var, Expr(count));
    return Expr(var) * Expr(step);
  };
  auto offset = as_int(simplify(b.min - a.min, bounds)), x = as_int(a.extent), y = as_int(b.extent);
  if (!offset || !x || !y)
    return std::nullopt;
  Expr form = a.min;
  if (*offset == 0 && a.runs == b.runs && !a.runs.empty()) {
    for (const Run &run : a.runs)
      form = form + part(run.step, run.count);
    return form;
  }
  std::int64_t low = std::min<std::int64_t>(0, *offset), high = std::max(*x, *offset + *y);
  return form + Expr(low) + part(1, high - low);
}

/// Whether an element that both accesses touch determines the values of `kept`, which are the same variables in
/// both. All other loops vary.
bool determined(const ParameterAccess &x, const ParameterAccess &y, const Buffer &buffer,
                const std::vector<Var> &kept, Bounds bounds) {
  auto is_kept = [&](const Var &var) { return std::ranges::find(kept, var) != kept.end(); };
  auto varies = [&](const Var &var) { return !is_kept(var); };
  Region a = box(x.indices, buffer->shape, varies, bounds), b = box(y.indices, buffer->shape, varies, bounds);
  std::vector<Expr> forms;
  for (std::size_t d = 0; d < a.size(); ++d)
    if (auto form = common_form(a[d], b[d], bounds))
      forms.push_back(*form);
  return determine(
      forms, kept, [](const Var &) { return false; }, bounds);
}

/// Whether an element that both accesses touch is touched by `first` in the same iteration of the loop or in an
/// earlier one. In some dimension both begin at scale * loop + constant, and `second` reaches less than `scale`
/// beyond the begin of `first`.
bool never_later(const ParameterAccess &first, const ParameterAccess &second, const Buffer &buffer,
                 const Var &loop, const Bounds &bounds) {
  auto varies = [&](const Var &var) { return var != loop; };
  Region a = box(first.indices, buffer->shape, varies, bounds);
  Region b = box(second.indices, buffer->shape, varies, bounds);
  for (std::size_t d = 0; d < a.size(); ++d) {
    Linear begin = linearize(a[d].min, bounds);
    auto offset = as_int(simplify(b[d].min - a[d].min, bounds)), extent = as_int(b[d].extent);
    if (!offset || !extent || begin.terms.size() != 1)
      continue;
    const auto &[scale, digit] = begin.terms.front();
    const Var *var = digit.base.as<Var>();
    if (var && *var == loop && digit.div == 1 && digit.mod == 0 && *offset + *extent - 1 < scale)
      return true;
  }
  return false;
}

/// Whether no element is touched by both accesses, in any iteration.
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

/// Whether `first` touches each common element before `second` does. It comes first in the program, and `loops`
/// enclose both: its iteration of each loop must be the same or an earlier one.
bool comes_first(const Stmt &root, const Block &first, const Block &second, const Buffer &buffer,
                 const std::vector<Var> &loops) {
  Bounds bounds = loop_bounds(root);
  auto in_order = [&](const ParameterAccess &x, const ParameterAccess &y) {
    return determined(x, y, buffer, loops, bounds) || std::ranges::all_of(loops, [&](const Var &loop) {
             return determined(x, y, buffer, {loop}, bounds) || never_later(x, y, buffer, loop, bounds);
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
        return comes_first(root, first, second, buffer, loops_around(root, block, other));
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

/// Looks for races in one nest. All loops that are bound to an axis are one index in the kernel: `index`.
class Races {
public:
  Races(const Stmt &nest, const std::vector<const Block *> &blocks)
      : nest_(nest), bounds_(loop_bounds(nest)), blocks_(blocks) {
    std::map<Axis, std::int64_t> extents;
    walk(nest, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->axis()) {
        auto range = range_of(loop->extent, {});
        std::int64_t &most = extents[*loop->axis()];
        most = std::max(most, range ? range->high : std::int64_t{1} << 31);
        axis_of_[loop->var] = *loop->axis();
      }
      return true;
    });
    for (auto [axis, extent] : extents)
      if (extent > 1) {
        index_[axis] = make_var(std::string(name(axis)));
        bounds_.set_extent(index_[axis], Expr(extent));
      }
  }

  /// An axis whose indices may differ between conflicting accesses of blocks n and m that nothing orders; none
  /// if there is no such axis.
  std::optional<Axis> racing_axis(std::size_t n, std::size_t m, const Buffer &buffer) const {
    std::vector<ParameterAccess> a = in_kernel(*blocks_[n], buffer), b = in_kernel(*blocks_[m], buffer);
    std::vector<Var> all;
    for (const auto &[axis, var] : index_)
      all.push_back(var);
    auto same = [&](const Var &var) {
      return all_conflicts(a, b, [&](const ParameterAccess &x, const ParameterAccess &y) {
        // The other indices may vary, too; but those that the element determines help to determine this one.
        return determined(x, y, buffer, {var}, bounds_) || determined(x, y, buffer, all, bounds_);
      });
    };
    for (const auto &[axis, var] : index_)
      if (!same(var) && !(is_thread(axis) && barrier_between(n, m, buffer)))
        return axis;
    return std::nullopt;
  }

private:
  std::vector<ParameterAccess> in_kernel(const Block &block, const Buffer &buffer) const {
    std::vector<ParameterAccess> all = accesses_of(block, buffer, bounds_);
    for (ParameterAccess &access : all)
      for (Expr &index : access.indices)
        index = simplify(substitute(index,
                                    [&](const Var &var) {
                                      auto axis = axis_of_.find(var);
                                      auto found =
                                          axis == axis_of_.end() ? index_.end() : index_.find(axis->second);
                                      return found == index_.end() ? Expr() : Expr(found->second);
                                    }),
                         bounds_);
    return all;
  }

  /// Whether a barrier orders the two blocks, and conflicts are in one iteration of the loops around both: the
  /// first fills shared memory that a block up to the second reads.
  bool barrier_between(std::size_t n, std::size_t m, const Buffer &buffer) const {
    const Buffer &filled = blocks_[n]->body.buffer;
    if (filled->scope != Scope::shared)
      return false;
    bool read = false;
    for (std::size_t at = n + 1; at <= m; ++at)
      read = read || reads(*blocks_[at], filled);
    std::vector<Var> serial = loops_around(nest_, *blocks_[n], *blocks_[m]);
    std::erase_if(serial, [&](const Var &var) { return axis_of_.count(var) > 0; });
    return read && comes_first(nest_, *blocks_[n], *blocks_[m], buffer, serial);
  }

  const Stmt &nest_;
  Bounds bounds_;
  const std::vector<const Block *> &blocks_; ///< of the nest
  std::map<Var, Axis> axis_of_;              ///< of bound loops
  std::map<Axis, Var> index_;                ///< of axes with more than one index
};

} // namespace

std::optional<Race> unordered_accesses(const Stmt &nest) {
  std::optional<Races> races; // most nests have no blocks that conflict
  std::vector<const Block *> blocks = blocks_of(nest);
  for (std::size_t n = 0; n < blocks.size(); ++n)
    for (std::size_t m = n + 1; m < blocks.size(); ++m)
      for (const Buffer &buffer : conflicts(*blocks[n], *blocks[m])) {
        if (!races)
          races.emplace(nest, blocks);
        if (auto axis = races->racing_axis(n, m, buffer))
          return Race{blocks[n]->id, blocks[m]->id, buffer, *axis};
      }
  return std::nullopt;
}

} // namespace nestsmith
