#include "dsl/expr/simplify.h"
#include "lowering/part_rewriter.h"
#include "lowering/parts_of_pipelines.h"
#include "lowering/unit.h"

#include <algorithm>
#include <map>
#include <set>

namespace nestsmith::kernel {

namespace {

class Partitioner {
public:
  /// `masks`: the program has masks that compare indices. They may hold in the middle of a loop only. The masks
  /// of filled tails exclude the last iterations only, in which the guards of the tails remain too.
  Partitioner(Kernel &kernel, bool masks) : kernel_(kernel), masks_(masks) {
    for (const ThreadIndex &index : kernel.indices)
      set_range(bounds_, index);
  }

  void run() { kernel_.body = split_blocks(rewrite(kernel_.body)); }

private:
  Stmt rewrite(const Stmt &stmt) {
    if (const auto *declare = as<Declare>(stmt)) {
      if (auto range = range_of(declare->value, bounds_))
        bounds_.set(declare->var, *range);
      return stmt;
    }
    const auto *loop = as<Loop>(stmt);
    if (!loop)
      return map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
    bounds_.set_extent(loop->var, loop->extent);
    Stmt inner = map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
    if (!loop->partitioned())
      return inner;
    origin_ = stmt->origin;
    return split_loop(*as<Loop>(inner));
  }

  struct Part {
    Stmt stmt;
    std::int64_t conditions;
  };

  static LoopForm without_partition(const Loop &loop) {
    return Serial{.copies = std::get<Serial>(loop.form).copies};
  }

  /// The iterations first … first + count - 1 of a loop.
  Part part(const Loop &loop, const Expr &first, const Expr &count) const {
    Bounds bounds = bounds_;
    Loop copy = loop;
    copy.form = without_partition(loop);
    copy.var = make_var(loop.var->name, loop.var->dtype);
    copy.extent = count;
    bounds.set_extent(copy.var, count);
    PartRewriter rewriter(bounds, masks_);
    bool once = as_int(count) == 1;
    rewriter.replace(loop.var, once ? first : Expr(copy.var) + first);
    copy.body = rewriter.rewrite_body(loop.body);
    Stmt stmt = once || !copy.body ? copy.body : make(std::move(copy), origin_);
    return {stmt, rewriter.conditions};
  }

  /// The iterations from `first` to `end`.
  struct Span {
    std::int64_t first, end;
  };

  std::int64_t conditions(const Loop &loop, Span span) const {
    return part(loop, span.first, span.end - span.first).conditions;
  }

  /// An iteration with the fewest conditions: the first one, unless others have fewer. Looks at few iterations:
  /// at all distances 2^n from both ends.
  std::int64_t cheapest(const Loop &loop, std::int64_t extent) const {
    std::vector<std::int64_t> probes;
    for (std::int64_t step = 1; step < extent; step *= 2)
      probes.insert(probes.end(), {step, extent - step});
    std::ranges::sort(probes);
    std::int64_t best = 0, fewest = conditions(loop, {0, 1});
    for (std::int64_t probe : probes)
      if (std::int64_t found = fewest == 0 ? fewest : conditions(loop, {probe, probe + 1}); found < fewest) {
        best = probe;
        fewest = found;
      }
    return best;
  }

  /// Separates the longest sequence of iterations that has no more conditions than a cheapest iteration alone.
  /// A longer sequence has at least the conditions of a shorter one, so a binary search finds each end.
  Stmt split_loop(const Loop &loop) const {
    if (!as_int(loop.extent))
      return split_ends(loop);
    std::int64_t extent = *as_int(loop.extent), at = masks_ ? cheapest(loop, extent) : 0;
    std::int64_t fewest = conditions(loop, {at, at + 1});
    Span full{at, at + 1};
    for (std::int64_t too_far = -1; full.first - too_far > 1;) {
      std::int64_t middle = too_far + (full.first - too_far) / 2;
      (conditions(loop, {middle, at + 1}) > fewest ? too_far : full.first) = middle;
    }
    for (std::int64_t too_far = extent + 1; too_far - full.end > 1;) {
      std::int64_t middle = full.end + (too_far - full.end) / 2;
      (conditions(loop, {full.first, middle}) > fewest ? too_far : full.end) = middle;
    }
    if (full.first == 0 && full.end == extent)
      return make(Loop{loop.var, loop.extent, without_partition(loop), loop.body}, origin_);
    std::vector<Stmt> parts;
    for (Span span : {Span{0, full.first}, full, Span{full.end, extent}})
      if (span.first < span.end)
        parts.push_back(part(loop, span.first, span.end - span.first).stmt);
    std::erase(parts, nullptr);
    return make_seq(std::move(parts));
  }

  /// Separates the last iteration of a loop whose extent depends on sizes, and the first ones if the others
  /// then have fewer conditions. The number of iterations may be less than that of the edges.
  Stmt split_ends(const Loop &loop) const {
    Edges edges = edges_of(loop);
    Part full = inside(loop, edges);
    if (full.conditions >= inside(loop, {0, 0}).conditions)
      return make(Loop{loop.var, loop.extent, without_partition(loop), loop.body}, origin_);
    if (edges.first == 0)
      return make_seq({full.stmt, part(loop, simplify(loop.extent - Expr(1)), 1).stmt});
    std::vector<Stmt> parts;
    for (std::int64_t n = 0; n < edges.first; ++n) // there is one iteration at least
      parts.push_back(part_if(loop, n, n == 0 ? boolean(true) : Expr(n) < loop.extent));
    if (full.stmt) {
      Loop some = *as<Loop>(full.stmt);
      some.extent = max(some.extent, Expr(0));
      parts.push_back(make(std::move(some), origin_));
    }
    for (std::int64_t n = edges.last; n > 0; --n) {
      Expr at = simplify(loop.extent - Expr(n));
      parts.push_back(part_if(loop, at, Expr(edges.first) <= at));
    }
    std::erase(parts, nullptr);
    return make_seq(std::move(parts));
  }

  /// The numbers of first and of last iterations or blocks that have code of their own.
  struct Edges {
    std::int64_t first, last;
  };
  static constexpr std::int64_t widest = 4; ///< edge that is looked for, if the extent depends on sizes

  /// The iterations between the edges.
  Part inside(const Loop &loop, Edges edges) const {
    return part(loop, edges.first, simplify(loop.extent - Expr(edges.first + edges.last)));
  }

  /// Null if nothing remains of the iteration.
  Stmt part_if(const Loop &loop, const Expr &iteration, const Expr &condition) const {
    Stmt body = part(loop, iteration, 1).stmt;
    return !body || is_true(condition) ? body : make(If{condition, body}, origin_);
  }

  Edges edges_of(const Loop &loop) const {
    Edges best{0, 1};
    bool fixed = !masks_; // or each step waits for the asynchronous copies of another step
    walk(loop.body, [&](const Stmt &stmt) {
      const Sync *sync = as<Sync>(stmt);
      fixed = fixed || (sync && sync->counts_groups(Queue::copies));
    });
    std::int64_t fewest = fixed ? 0 : inside(loop, best).conditions;
    for (std::int64_t first = 1; first <= widest && fewest > 0; ++first)
      if (std::int64_t found = inside(loop, {first, 1}).conditions; found < fewest) {
        best.first = first;
        fewest = found;
      }
    for (std::int64_t last = 0; last <= widest && best.first > 0; ++last)
      if (std::int64_t found = inside(loop, {best.first, last}).conditions;
          found < fewest || (last == 0 && found == fewest)) {
        best.last = last;
        fewest = found;
      }
    return best;
  }

  /// The code of the blocks that are inside along each partitioned axis.
  PartRewriter inside(const std::map<Var, Edges> &axes) const {
    Bounds full = bounds_;
    for (const ThreadIndex &index : kernel_.indices)
      if (auto axis = axes.find(index.var); axis != axes.end()) {
        Expr others = simplify(index.extent - Expr(axis->second.last));
        full.set_extent(index.var, others);
        if (!as_int(others))
          full.set(index.var, index.range());
        if (auto range = full.find(index.var); range && axis->second.first > 0)
          full.set(index.var, {axis->second.first, range->high});
      }
    return {full, masks_};
  }

  /// The edges of each partitioned axis: the last block, and the first ones if the others then have fewer
  /// conditions, which is so at the edges of masks.
  std::map<Var, Edges> edges(const Stmt &body) const {
    std::map<Var, Edges> axes;
    for (const ThreadIndex &index : kernel_.indices)
      if (index.partitioned)
        axes[index.var] = {0, 1};
    auto rewritten = [&] {
      PartRewriter rewriter = inside(axes);
      rewriter.rewrite(body);
      return rewriter;
    };
    for (const ThreadIndex &index : kernel_.indices) {
      if (!index.partitioned || !masks_)
        continue;
      PartRewriter now = rewritten();
      if (!now.depends_on(index.var))
        continue;
      std::int64_t fewest = now.conditions;
      Edges best = axes[index.var];
      for (std::int64_t first = 0; first <= widest; ++first)
        for (std::int64_t last = 0; last <= widest && fewest > 0; ++last) {
          auto extent = as_int(index.extent);
          if (first + last == 0 || (extent && first + last >= *extent))
            continue;
          axes[index.var] = {first, last};
          if (std::int64_t found = rewritten().conditions; found < fewest) {
            best = axes[index.var];
            fewest = found;
          }
        }
      axes[index.var] = best;
    }
    return axes;
  }

  /// Returns `if (inner) fast else slow`. The condition `inner` holds if no partitioned block index is at an
  /// edge: has its last value, for example. `fast` omits the guards that then hold. Returns the body if there
  /// are no such guards.
  Stmt split_blocks(const Stmt &body) const {
    std::map<Var, Edges> axes = edges(body);
    if (axes.empty())
      return body;
    Expr condition;
    auto require = [&](const Expr &part) { condition = condition.exists() ? condition && part : part; };
    std::vector<Origin> loops;
    bool tiles = true; // each edge is the last, partial tile
    for (const ThreadIndex &index : kernel_.indices)
      if (auto axis = axes.find(index.var); axis != axes.end()) {
        auto [first, last] = axis->second;
        loops.push_back(index.origin);
        tiles = tiles && first == 0 && last == 1;
        if (first > 0)
          require(Expr(first) <= Expr(index.var));
        if (last > 0)
          require(Expr(index.var) < simplify(index.extent - Expr(last)));
      }
    PartRewriter fast = inside(axes), slow(bounds_, masks_);
    Stmt full = fast.rewrite(body), edge = slow.rewrite(body);
    if (fast.conditions == slow.conditions)
      return split_tiles(body, slow, edge, loops);
    const If branch{condition, full, edge, {tiles ? Purpose::Kind::full_tiles : Purpose::Kind::no_edge}};
    return in_roles(body, branch, joined(loops), inside(axes), {bounds_, masks_});
  }

  /// In a kernel with roles, `branch` stands inside of each role, around the statements that differ: a loop of
  /// the role that has no conditions would otherwise stand in both versions, and two such loops that blocks
  /// execute at the same time evict each other from the cache of instructions. Looks at whole statements of a
  /// role, not into its loops. `branch` itself without roles.
  Stmt in_roles(const Stmt &stmt, const If &branch, const Origin &origin, PartRewriter fast,
                PartRewriter slow) const {
    if (kernel_.roles.empty())
      return make(branch, origin);
    if (const auto *role = as<If>(stmt); role && role->purpose.kind == Purpose::Kind::role) {
      If copy = *role;
      if (role->otherwise)
        copy.otherwise = in_roles(role->otherwise, branch, origin, fast, slow);
      fast.assume(role->condition);
      slow.assume(role->condition);
      copy.body = in_roles(role->body, branch, origin, std::move(fast), std::move(slow));
      return make(std::move(copy), stmt->origin);
    }
    const auto *seq = as<Seq>(stmt);
    std::vector<Stmt> out, versions, same; // `same`: those since the last one of `versions`
    auto end_versions = [&] {
      if (!versions.empty()) {
        If copy = branch;
        copy.body = fast.rewrite_body(make_seq(versions));
        copy.otherwise = slow.rewrite_body(make_seq(std::move(versions)));
        if (!copy.body) {
          copy.condition = logical_not(copy.condition);
          std::swap(copy.body, copy.otherwise);
        }
        if (copy.body)
          out.push_back(make(std::move(copy), origin));
      }
      out.insert(out.end(), same.begin(), same.end());
      versions.clear();
      same.clear();
    };
    for (const Stmt &child : seq ? seq->stmts : std::vector{stmt}) {
      const auto *declare = as<Declare>(child);
      const auto *role = as<If>(child);
      const Sync *sync = as<Sync>(child);
      const bool holds_roles = role && role->purpose.kind == Purpose::Kind::role;
      if (!declare && !holds_roles && differs(child, fast, slow)) {
        std::vector<Stmt> &before = versions.empty() ? out : versions;
        before.insert(before.end(), same.begin(), same.end());
        versions.push_back(child);
        same.clear();
        continue;
      }
      same.push_back(holds_roles ? in_roles(child, branch, origin, fast, slow) : child);
      if (declare || holds_roles || has_loop(child) || (sync && sync->declares()))
        end_versions();
      if (declare) {
        fast.enter(*declare);
        slow.enter(*declare);
      }
    }
    end_versions();
    return make_seq(std::move(out));
  }

  /// Whether the versions of a statement have other numbers of conditions.
  static bool differs(const Stmt &stmt, PartRewriter fast, PartRewriter slow) {
    for (PartRewriter *version : {&fast, &slow}) {
      version->conditions = 0;
      version->separate = true;
      version->rewrite(stmt);
    }
    return fast.conditions != slow.conditions;
  }

  /// Whether the statement has a loop that is not unrolled.
  static bool has_loop(const Stmt &stmt) {
    bool found = false;
    walk(stmt, [&](const Stmt &child) {
      const auto *loop = as<Loop>(child);
      found = found || (loop && std::holds_alternative<Serial>(loop->form));
    });
    return found;
  }

  /// The same if the last block is not the only one with a partial tile, because the index of the block counts
  /// rows and columns of tiles: the condition is that the tile ends inside.
  Stmt split_tiles(const Stmt &body, const PartRewriter &slow, const Stmt &edge,
                   const std::vector<Origin> &loops) const {
    std::set<Var> blocks;
    for (const ThreadIndex &index : kernel_.indices)
      if (!is_thread(index.axis))
        blocks.insert(index.var);
    std::vector<Expr> inside = slow.conditions_of_blocks(blocks);
    if (inside.empty())
      return body;
    PartRewriter fast(bounds_, masks_);
    fast.assume(inside, blocks);
    const PartRewriter assuming = fast;
    Stmt full = fast.rewrite(body);
    if (fast.conditions == slow.conditions)
      return body;
    Expr condition = inside.front();
    for (std::size_t n = 1; n < inside.size(); ++n)
      condition = condition && inside[n];
    return in_roles(body, {condition, full, edge, {Purpose::Kind::full_tiles}}, joined(loops), assuming,
                    {bounds_, masks_});
  }

  Kernel &kernel_;
  bool masks_;
  Bounds bounds_;
  Origin origin_; ///< of the loop that is split
};

bool asks_for_it(const Kernel &kernel) {
  bool found = std::any_of(kernel.indices.begin(), kernel.indices.end(),
                           [](const ThreadIndex &index) { return index.partitioned; });
  walk(kernel.body, [&](const Stmt &stmt) {
    const auto *loop = as<Loop>(stmt);
    found = found || (loop && loop->partitioned());
  });
  return found;
}

/// Whether a mask of the program orders indices.
bool compares_in_masks(const Program &program) {
  auto orders = [](const Expr &node) { return order_of_indices(node) != nullptr; };
  return std::ranges::any_of(blocks_of(program.body), [&](const Block *block) {
    return std::ranges::any_of(loads_of(*block), [&](const nestsmith::Load *access) {
      return access->mask.exists() && any_node(access->mask, orders);
    });
  });
}

} // namespace

void partition(Unit &unit) {
  Kernel &kernel = unit.kernel();
  if (asks_for_it(kernel))
    Partitioner(kernel, compares_in_masks(unit.schedule.program())).run();
  kernel.body = without_needless_parts(kernel);
}

} // namespace nestsmith::kernel
