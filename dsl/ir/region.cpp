#include "dsl/ir/region.h"

#include "dsl/expr/conjuncts.h"
#include "dsl/ir/ceilings.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace nestsmith {

Bounds loop_bounds(const Stmt &root) {
  Bounds bounds;
  walk(root, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt))
      bounds.set_extent(loop->var, loop->extent);
    return true;
  });
  return bounds;
}

Expr in_loops(const Expr &e, const Block &block, const Bounds &bounds) {
  Expr result = substitute(e, [&](const Var &var) {
    for (const IterVar &iter : block.iters)
      if (iter.var == var)
        return iter.binding;
    return Expr();
  });
  return simplify(result, bounds);
}

std::vector<Expr> in_loops(const std::vector<Expr> &indices, const Block &block, const Bounds &bounds) {
  std::vector<Expr> result;
  for (const Expr &index : indices)
    result.push_back(in_loops(index, block, bounds));
  return result;
}

/// The values of a sum of digits as runs, counted from its least value. Empty if the values have no gaps or are
/// not known.
static std::vector<Run> runs_of(const Linear &sum, const Bounds &bounds) {
  std::map<std::int64_t, std::int64_t> steps; // the greatest number of steps of each size
  for (const Term &term : sum.terms) {
    auto range = range_of(term.digit, bounds);
    if (!range || term.coefficient < 1)
      return {};
    if (range->high > range->low)
      steps[term.coefficient] += range->high - range->low;
  }
  std::vector<Run> runs; // the smallest step first
  std::int64_t reached = 0;
  for (auto [step, most] : steps) {
    reached += step * most;
    if (!runs.empty() && step == runs.back().step * runs.back().count) {
      runs.back().count *= most + 1;
      continue;
    }
    runs.push_back({step, most + 1});
    // If a step does not exceed the reach of the runs below it, merge it with the next smaller run. The merged
    // run may contain more values.
    for (std::size_t n = runs.size(); n > 1; --n) {
      std::int64_t below = 0;
      for (std::size_t m = 0; m + 1 < n; ++m)
        below += runs[m].step * (runs[m].count - 1);
      if (runs[n - 1].step > below)
        break;
      std::int64_t high =
          runs[n - 1].step * (runs[n - 1].count - 1) + runs[n - 2].step * (runs[n - 2].count - 1);
      std::int64_t both = std::gcd(runs[n - 1].step, runs[n - 2].step);
      runs[n - 2] = {both, high / both + 1};
      runs.pop_back();
    }
  }
  if (runs.empty() || (runs.size() == 1 && runs.front().step == 1))
    return {};
  std::reverse(runs.begin(), runs.end());
  return runs;
}

bool indexes_result(const Block &block, const IterVar &iter) {
  return std::ranges::any_of(block.body.indices, [&](const Expr &e) { return uses(e, iter.var); });
}

/// Whether the loop itself is a part of an axis that indexes the buffer, so that other elements belong to its
/// other iterations.
static bool is_part_of_index(const Block &block, const Var &loop) {
  return std::ranges::any_of(block.iters, [&](const IterVar &iter) {
    bool indexes = indexes_result(block, iter);
    std::vector<Term> terms =
        indexes && uses(iter.binding, loop) ? linearize(iter.binding, {}).terms : std::vector<Term>();
    std::erase_if(terms, [&](const Term &term) { return !uses(term.digit.base, loop); });
    return terms.size() == 1 && terms.front().digit.as_var();
  });
}

/// Removes the multiples that are greater than `last`.
static void cut_runs(std::vector<Run> &runs, std::int64_t last) {
  while (!runs.empty() && last / runs.front().step + 1 < runs.front().count) {
    runs.front().count = last / runs.front().step + 1;
    if (runs.front().count > 1)
      break;
    runs.erase(runs.begin());
  }
  if (runs.size() == 1 && runs.front().step == 1)
    runs.clear();
}

bool sums_over(const Block &block, const IterVar &axis, const Var &loop) {
  // After rfactor, the loop of the parts may occur in a quotient with another loop: (32*o + p)//R.
  if (axis.kind != IterKind::reduction || !uses(axis.binding, loop) || is_part_of_index(block, loop))
    return false;
  return !axis.first.exists() || uses(in_loops(Expr(axis.var) - axis.first, block, {}), loop);
}

namespace {

/// Whether the value follows from memory or from a condition, and not from loops alone.
bool is_data(const Expr &e) {
  return any_node(e, [](const Expr &node) { return node.as<Load>() || node.as<Select>(); });
}

/// Conditions that are farther from 0 are not used: sums of their constants could overflow.
constexpr std::int64_t farthest = std::int64_t{1} << 60;

/// Separates an index into a part of fixed variables and a part that varies.
class Separated {
public:
  Separated(const Expr &index, FunctionRef<bool(const Var &)> varies, const Bounds &bounds)
      : varies_(varies), bounds_(bounds) {
    Linear linear = linearize(index, bounds);
    fixed.constant = linear.constant;
    for (const Term &term : linear.terms) {
      if (!mixes(term.digit.base)) {
        add(term);
        continue;
      }
      Linear known = linearize(without_single(to_expr(Linear{{term}, 0})), bounds);
      fixed.constant += known.constant;
      for (const Term &part : known.terms)
        add(part);
    }
  }

  /// The values of the varying part while the guards hold; none if they are unknown or depend on sizes. Runs
  /// count from the least value, so guards raise it only without runs.
  std::optional<Range> range(const std::vector<LoopGuard> &guards) const {
    auto found = of_sizes_ ? std::nullopt : range_of(varying, bounds_);
    if (!found || guards.empty() || found->low == found->high)
      return found;
    std::vector<Ceiling> ceilings;
    for (const LoopGuard &guard : guards)
      add_ceilings(guard, ceilings);
    if (ceilings.empty())
      return found;
    if (auto high = highest_below(varying, ceilings, bounds_))
      found->high = std::clamp(*high, found->low, found->high);
    Linear negative = linearize(Expr(0) - to_expr(varying), bounds_);
    if (auto high = runs().empty() ? highest_below(negative, ceilings, bounds_) : std::nullopt)
      found->low = std::clamp(-*high, found->low, found->high);
    return found;
  }
  std::vector<Run> runs() const { return runs_of(varying, bounds_); }

  Linear fixed, varying;

private:
  struct Uses {
    bool varying = false, fixed = false;
  };
  Uses uses_in(const Expr &e) const {
    Uses found;
    walk(e, [&](const Expr &node) {
      if (const Var *var = node.as<Var>(); var && !(*var)->size)
        (varies_(*var) ? found.varying : found.fixed) = true;
    });
    return found;
  }

  bool mixes(const Expr &e) const {
    Uses found = uses_in(e);
    return found.varying && found.fixed;
  }
  /// The expression with the value of each variable that has only one.
  Expr without_single(const Expr &e) const {
    return simplify(substitute(e,
                               [&](const Var &var) {
                                 auto range = bounds_.find(var);
                                 return range && range->low == range->high ? Expr(range->low) : Expr();
                               }),
                    bounds_);
  }

  /// The condition on the part of the guard that varies, for the least values of the fixed part. None if the
  /// fixed part has no known least value.
  std::optional<Ceiling> varying_part(const LoopGuard &guard) const {
    Linear moves, stays, all = linearize(without_single(guard.value), bounds_);
    stays.constant = all.constant;
    for (const Term &term : all.terms)
      (uses_in(term.digit.base).varying ? moves : stays).terms.push_back(term);
    auto least = range_of(stays, bounds_);
    if (moves.terms.empty() || !least || least->low < -farthest || least->low > farthest)
      return std::nullopt;
    return Ceiling{std::move(moves), guard.extent - 1 - least->low};
  }

  /// Adds what a guard says of its sum, and of the number x if the sum is a multiple of x // d.
  /// [rule.region.below_multiple] x <= m//c where c > 0, c*x <= m
  /// [rule.region.above_multiple] 0 - x <= m//c where c > 0, 0 - c*x <= m
  /// [rule.region.below_quotient] x <= d*q + d - 1 where d > 0, x//d <= q
  /// [rule.region.above_quotient] 0 - x <= d*q where d > 0, 0 - x//d <= q
  void add_ceilings(const LoopGuard &guard, std::vector<Ceiling> &ceilings) const {
    auto ceiling = varying_part(guard);
    if (!ceiling)
      return;
    if (ceiling->sum.terms.size() == 1) {
      const auto &[factor, digit] = ceiling->sum.terms.front();
      std::int64_t extent = 0, steps = floor_div(ceiling->most, factor < 0 ? -factor : factor);
      if (digit.div > 1 && digit.mod == 0 && !__builtin_mul_overflow(digit.div, steps + (factor > 0), &extent))
        if (auto base = varying_part(factor > 0 ? LoopGuard{digit.base, extent}
                                                : LoopGuard{Expr(0) - digit.base, extent + 1}))
          ceilings.push_back(std::move(*base));
    }
    ceilings.push_back(std::move(*ceiling));
  }

  void add(const Term &term) {
    Uses found = uses_in(term.digit.base);
    of_sizes_ = of_sizes_ || (bounds_.has_extents() && any_node(term.digit.base, [&](const Expr &e) {
                                const Var *var = e.as<Var>();
                                return var && varies_(*var) && bounds_.find_extent(*var);
                              }));
    if (!is_data(term.digit.base) && !(found.varying && found.fixed))
      (found.varying ? varying : fixed).terms.push_back(term);
    else if (!add_quotient(term))
      varying.terms.push_back(term); // may have any value of its range
  }

  /// Separates k*((x + y)//d), where x is fixed and l <= y <= h: k*((x + l)//d) + k*part.
  /// [rule.region.quotient] (x + l)//d <= (x + y)//d, (x + y)//d <= (x + l)//d + (r + h - l)//d
  ///     where d > 0, l <= y, y <= h, (x + l) % d <= r
  bool add_quotient(const Term &term) {
    const auto &[base, div, mod] = term.digit;
    if (mod != 0 || uses_size(base) || is_data(base))
      return false;
    Linear x, y, all = linearize(base, bounds_);
    x.constant = all.constant;
    std::int64_t unit = div;
    for (const Term &part : all.terms) {
      Uses found = uses_in(part.digit.base);
      if (found.varying && found.fixed)
        return false;
      (found.varying ? y : x).terms.push_back(part);
      unit = found.varying ? unit : std::gcd(unit, part.coefficient);
    }
    auto r = range_of(y, bounds_);
    if (!r || all.terms.size() < 2)
      return false;
    x.constant += r->low;
    std::int64_t residue = div - unit + floor_mod(x.constant, unit);
    Var part = make_var("part");
    bounds_.set(part, {0, (residue + r->high - r->low) / div});
    fixed.terms.push_back({term.coefficient, {to_expr(x), div, 0}});
    varying.terms.push_back({term.coefficient, {part}});
    return true;
  }

  FunctionRef<bool(const Var &)> varies_;
  Bounds bounds_;
  bool of_sizes_ = false; ///< the extent depends on sizes
};

} // namespace

Region box(const std::vector<Expr> &indices, const std::vector<Expr> &shape,
           FunctionRef<bool(const Var &)> varies, const Bounds &bounds, const std::vector<LoopGuard> &guards) {
  Region region;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    Separated index(indices[n], varies, bounds);
    auto range = index.range(guards);
    if (!range) {
      region.push_back({Expr(0), shape[n]});
      continue;
    }
    index.fixed.constant += range->low;
    std::vector<Run> runs = index.runs();
    cut_runs(runs, range->high - range->low);
    region.push_back({to_expr(index.fixed), Expr(range->high - range->low + 1), std::move(runs)});
  }
  return region;
}

/// Adds the parts of the mask that compare with a constant.
static void add_conditions(const Expr &mask, const Block &block, const Bounds &bounds,
                           std::vector<LoopGuard> &guards) {
  for (const Expr &part : conjuncts_of(mask)) {
    const Binary *op = order_of_indices(part);
    if (!op)
      continue;
    Linear difference = linearize(in_loops(op->a - op->b, block, bounds), bounds);
    if (difference.constant < -farthest || difference.constant > farthest)
      continue;
    std::int64_t extent = (op->op == BinaryOp::le) - difference.constant;
    difference.constant = 0;
    guards.push_back({to_expr(difference), extent});
  }
}

std::vector<LoopGuard> loop_guards(const Block &block, const Expr &mask, const Bounds &bounds) {
  std::vector<LoopGuard> guards;
  for (const IterVar &iter : block.iters) {
    bool indexes = indexes_result(block, iter);
    if (iter.guarded && !iter.is_summed() && !indexes && as_int(iter.extent))
      guards.insert(guards.end(), {{iter.binding, *as_int(iter.extent)}, {Expr(0) - iter.binding, 1}});
  }
  add_conditions(mask, block, bounds, guards);
  return guards;
}

std::vector<LoopGuard> end_guards(const Block &block, const Expr &index, const Expr &extent, bool is_load,
                                  const Bounds &bounds) {
  std::vector<LoopGuard> guards;
  auto add = [&](const Expr &value, const Expr &end) {
    auto range = range_of(end, bounds);
    if (!range || range->high > farthest)
      return;
    guards.push_back({value, range->high});
    guards.push_back({Expr(0) - value, 1});
  };
  // The init of a sum executes also where the guard of a summed axis is false.
  for (const IterVar &iter : block.iters)
    if (iter.guarded && (is_load || !iter.is_summed()) && uses(index, iter.var))
      add(iter.binding, iter.extent);
  add(in_loops(index, block, bounds), extent);
  return guards;
}

Region hull(const Region &a, const Region &b, const std::vector<Expr> &shape, const Bounds &bounds) {
  Region result;
  for (std::size_t n = 0; n < a.size(); ++n) {
    bool same_start = same(a[n].min, b[n].min);
    auto offset = same_start ? std::optional<std::int64_t>(0) : as_int(simplify(b[n].min - a[n].min, bounds));
    auto x = as_int(a[n].extent), y = as_int(b[n].extent);
    if (!offset || !x || !y) {
      bool equal = same_start && same(a[n].extent, b[n].extent) && a[n].runs == b[n].runs;
      result.push_back(equal ? a[n] : Span{Expr(0), shape[n]});
      continue;
    }
    if (*offset == 0 && *x == *y && a[n].runs == b[n].runs) {
      result.push_back(a[n]);
      continue;
    }
    std::int64_t low = std::min<std::int64_t>(0, *offset), high = std::max(*x, *offset + *y);
    result.push_back({simplify(a[n].min + Expr(low), bounds), Expr(high - low)});
  }
  return result;
}

namespace {

class Collector {
public:
  Collector(const Buffer &buffer, FunctionRef<bool(const Var &)> varies, const Bounds &bounds,
            const WholeTiles *tiles)
      : buffer_(buffer), varies_(varies), bounds_(bounds), tiles_(tiles) {}

  void add(const Block &block, const std::vector<Expr> &indices, bool is_load, const Expr &mask = {}) {
    Region touched;
    std::vector<LoopGuard> always = loop_guards(block, mask, bounds_);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      std::vector<LoopGuard> guards = always, ends;
      if (tiles_ && !tiles_->contains(buffer_, d))
        ends = end_guards(block, indices[d], buffer_->shape[d], is_load, bounds_);
      guards.insert(guards.end(), ends.begin(), ends.end());
      Region one = box({in_loops(indices[d], block, bounds_)}, {buffer_->shape[d]}, varies_, bounds_, guards);
      touched.push_back(std::move(one.front()));
    }
    region = region ? hull(*region, touched, buffer_->shape, bounds_) : touched;
  }

  std::optional<Region> region;

private:
  const Buffer &buffer_;
  FunctionRef<bool(const Var &)> varies_;
  const Bounds &bounds_;
  const WholeTiles *tiles_;
};

} // namespace

std::optional<Region> region_read(const Stmt &stmt, const Buffer &buffer, FunctionRef<bool(const Var &)> varies,
                                  const Bounds &bounds, const WholeTiles *tiles) {
  Collector collector(buffer, varies, bounds, tiles);
  for (const Block *block : blocks_of(stmt))
    for (const Load *access : loads_of(*block))
      if (access->buffer == buffer)
        collector.add(*block, access->indices, true, access->mask);
  return collector.region;
}

std::optional<Region> region_written(const Stmt &stmt, const Buffer &buffer,
                                     FunctionRef<bool(const Var &)> varies, const Bounds &bounds,
                                     const WholeTiles *tiles) {
  Collector collector(buffer, varies, bounds, tiles);
  for (const Block *block : blocks_of(stmt))
    if (block->body.buffer == buffer)
      collector.add(*block, block->body.indices, false);
  return collector.region;
}

} // namespace nestsmith
