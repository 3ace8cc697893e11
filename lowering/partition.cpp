#include "dsl/expr/simplify.h"
#include "lowering/unit.h"

#include <algorithm>
#include <map>
#include <set>

namespace nestsmith::kernel {

namespace {

/// The number of conditions that all must hold.
std::int64_t parts_of_condition(const Expr &condition) {
  if (is_true(condition))
    return 0;
  const auto *both = condition.as<Binary>();
  return both && both->op == BinaryOp::logical_and ? parts_of_condition(both->a) + parts_of_condition(both->b)
                                                   : 1;
}

/// Copies code for a subset of the iterations. The copy has new variables, and it omits the conditions that
/// hold in all of these iterations.
class PartRewriter {
public:
  PartRewriter(Bounds bounds, bool separate) : separate(separate), bounds_(std::move(bounds)) {}

  bool separate; ///< counts the parts of a mask; otherwise a mask counts once

  /// Conditions on the block that hold in these iterations: results of `conditions_of_blocks`.
  void assume(std::vector<Expr> conditions, std::set<Var> blocks) {
    assumed_ = std::move(conditions);
    blocks_ = std::move(blocks);
  }

  void replace(const Var &var, const Expr &value) { values_[var] = value; }
  /// The number of remaining conditions: guards and masks, or their parts.
  std::int64_t conditions = 0;
  /// Whether a remaining condition depends on the variable.
  bool depends_on(const Var &var) const {
    return std::ranges::any_of(left_, [&](const Expr &condition) { return uses(condition, var); });
  }

  /// For each remaining condition, one on these indices of the block under which it holds in all iterations.
  std::vector<Expr> conditions_of_blocks(const std::set<Var> &blocks) const {
    std::vector<Expr> found;
    for (const Expr &condition : left_)
      add_conditions(condition, blocks, found);
    return found;
  }

  /// Null if nothing remains.
  Stmt rewrite(const Stmt &stmt) {
    Stmt result = rewrite_parts(stmt);
    return result && (as<Declare>(result) || does_something(result)) ? result : nullptr;
  }

  /// Below a condition `x < c` or `x / d < c`, where c and d are constants, the range of x is shorter.
  void assume(const Expr &condition) {
    const auto *op = condition.as<Binary>();
    if (op && op->op == BinaryOp::logical_and) {
      assume(op->a);
      return assume(op->b);
    }
    if (!op || op->op != BinaryOp::lt || op->a.dtype() != DType::i64)
      return;
    Linear less = linearize(op->a - op->b, bounds_);
    if (less.terms.size() != 1 || less.terms.front().coefficient != 1 || less.terms.front().digit.mod != 0)
      return;
    const Digit &digit = less.terms.front().digit;
    const Var *var = digit.base.as<Var>();
    auto range = var ? bounds_.find(*var) : std::nullopt;
    if (range && -less.constant * digit.div <= range->high)
      bounds_.set(*var, {range->low, std::max(range->low, -less.constant * digit.div - 1)});
  }

  /// A declaration that stays outside of the copy, which uses its variable.
  void enter(const Declare &declare) {
    definitions_[declare.var] = expanded(declare.value);
    if (auto range = range_of(declare.value, bounds_))
      bounds_.set(declare.var, *range);
  }

  /// Rewrites the body of a guard or a loop. Null if only declarations remain.
  Stmt rewrite_body(const Stmt &stmt) {
    Stmt body = rewrite(stmt);
    return body && as<Declare>(body) ? nullptr : body;
  }

private:
  static bool does_something(const Stmt &stmt) {
    bool found = false;
    walk(stmt, [&](const Stmt &child) {
      found = found || as<Store>(child) || as<BulkCopy>(child) || as<Sync>(child);
    });
    return found;
  }

  Stmt rewrite_parts(const Stmt &stmt) {
    return visit(
        stmt, Overloaded{
                  [&](const Declare &x) -> Stmt {
                    Expr value = rewrite(x.value);
                    Var var = fresh(x.var);
                    definitions_[var] = expanded(value);
                    if (auto range = range_of(value, bounds_))
                      bounds_.set(var, *range);
                    return make(Declare{var, value}, stmt->origin);
                  },
                  [&](const Loop &x) -> Stmt {
                    Loop copy = x;
                    copy.extent = rewrite(x.extent);
                    copy.var = fresh(x.var);
                    bounds_.set_extent(copy.var, copy.extent);
                    copy.body = rewrite_body(x.body);
                    return copy.body ? make(std::move(copy), stmt->origin) : nullptr;
                  },
                  [&](const If &x) { return rewrite_branch(x, stmt->origin); },
                  [&](const Seq &x) -> Stmt {
                    std::vector<Stmt> stmts;
                    for (const Stmt &child : x.stmts)
                      stmts.push_back(rewrite(child));
                    std::erase(stmts, nullptr);
                    return stmts.empty() ? nullptr : make_seq(std::move(stmts));
                  },
                  [&](const Store &) { return map_exprs(stmt, [&](const Expr &e) { return rewrite(e); }); },
                  [&](const Call &) -> Stmt { internal_error("a call before the pass flatten"); },
                  [&](const BulkCopy &) { return map_exprs(stmt, [&](const Expr &e) { return rewrite(e); }); },
                  [&](const Sync &x) -> Stmt { // each part has statements of its own
                    Sync copy = x;
                    if (Var declared = x.declares())
                      copy.set_declared(fresh(declared));
                    for (Expr *operand : copy.uses())
                      *operand = rewrite(*operand);
                    return make(std::move(copy), stmt->origin);
                  },
              });
  }

  Var fresh(const Var &var) {
    Var copy = make_var(var->name, var->dtype);
    values_[var] = copy;
    return copy;
  }

  Expr rewrite(const Expr &e) {
    Expr result = substitute(e, [&](const Var &var) {
      auto it = values_.find(var);
      return it == values_.end() ? Expr() : it->second;
    });
    return rebuild(result, [&](const Expr &node) { return without_mask(node); });
  }

  Expr without_mask(const Expr &e) {
    const auto *access = e.as<Load>();
    if (!access || !access->mask.exists())
      return e;
    Expr mask = left_of(access->mask);
    note(mask);
    return is_true(mask) ? load(access->buffer, access->indices)
                         : load(access->buffer, access->indices, mask, access->fill);
  }

  void note(const Expr &left) {
    conditions += separate ? parts_of_condition(left) : !is_true(left);
    if (!is_true(left))
      left_.push_back(expanded(left));
  }

  /// The conjuncts of `condition` that are not proved to hold; the constant true if all conjuncts are proved.
  Expr left_of(const Expr &condition) const {
    if (const auto *both = condition.as<Binary>(); both && both->op == BinaryOp::logical_and) {
      Expr a = left_of(both->a), b = left_of(both->b);
      return is_true(a) ? b : (is_true(b) ? a : a && b);
    }
    bool holds = proves(condition, bounds_) || proves(expanded(condition), bounds_) || is_assumed(condition);
    return holds ? boolean(true) : condition;
  }

  bool is_assumed(const Expr &condition) const {
    if (assumed_.empty())
      return false;
    std::vector<Expr> needed;
    add_conditions(expanded(condition), blocks_, needed);
    return !needed.empty() &&
           std::ranges::any_of(assumed_, [&](const Expr &known) { return same(known, needed.front()); });
  }

  /// Of tile*64 + thread + 32*n < 1000, for example, this is tile*64 < 905, if thread is less than 32 and n
  /// less than 2. Adds nothing for other conditions.
  void add_conditions(const Expr &condition, const std::set<Var> &blocks, std::vector<Expr> &found) const {
    const auto *op = condition.as<Binary>();
    if (op && op->op == BinaryOp::logical_and) {
      add_conditions(op->a, blocks, found);
      return add_conditions(op->b, blocks, found);
    }
    if (!op || op->op != BinaryOp::lt || op->a.dtype() != DType::i64)
      return;
    Linear of_block, rest = linearize(op->a - op->b, bounds_);
    auto is_of_block = [&](const Expr &node) {
      const Var *var = node.as<Var>();
      return var && blocks.contains(*var);
    };
    auto is_of_other = [&](const Expr &node) {
      const Var *var = node.as<Var>();
      return (var && !blocks.contains(*var) && !(*var)->size) || node.as<Load>();
    };
    bool moves = false;
    for (const Term &term : rest.terms) {
      if (any_node(term.digit.base, is_of_other))
        continue;
      moves = moves || any_node(term.digit.base, is_of_block);
      of_block.terms.push_back(term);
    }
    std::erase_if(rest.terms, [&](const Term &term) { return !any_node(term.digit.base, is_of_other); });
    bool mixed = std::ranges::any_of(rest.terms,
                                     [&](const Term &term) { return any_node(term.digit.base, is_of_block); });
    auto range = range_of(to_expr(rest), bounds_);
    if (!moves || mixed || !range)
      return;
    Expr needed = to_expr(of_block) < Expr(-range->high);
    if (std::ranges::none_of(found, [&](const Expr &other) { return same(other, needed); }))
      found.push_back(needed);
  }

  /// Substitutes the definitions of declared variables. Comparisons with sizes need this, because the intervals
  /// of the variables are not precise enough.
  Expr expanded(const Expr &e) const {
    return substitute(e, [&](const Var &var) {
      auto it = definitions_.find(var);
      return it == definitions_.end() ? Expr() : it->second;
    });
  }

  Stmt rewrite_branch(const If &x, const Origin &origin) {
    If copy = x;
    copy.condition = left_of(rewrite(x.condition));
    if (is_true(copy.condition))
      return rewrite_body(x.body);
    if (proves(logical_not(copy.condition), bounds_))
      return x.otherwise ? rewrite_body(x.otherwise) : nullptr;
    if (x.purpose.kind != Purpose::Kind::with_terms) // it remains in each part
      note(copy.condition);
    Bounds outside = bounds_;
    assume(copy.condition);
    copy.body = rewrite_body(x.body);
    bounds_ = std::move(outside);
    copy.otherwise = x.otherwise ? rewrite_body(x.otherwise) : nullptr;
    if (!copy.body && copy.otherwise) {
      copy.condition = logical_not(copy.condition);
      std::swap(copy.body, copy.otherwise);
    }
    return copy.body ? make(std::move(copy), origin) : nullptr;
  }

  Bounds bounds_;
  std::map<Var, Expr> values_, definitions_;
  std::vector<Expr> left_; ///< the remaining conditions
  std::vector<Expr> assumed_;
  std::set<Var> blocks_;
};

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
    Stmt full = fast.rewrite(body);
    if (fast.conditions == slow.conditions)
      return body;
    Expr condition = inside.front();
    for (std::size_t n = 1; n < inside.size(); ++n)
      condition = condition && inside[n];
    PartRewriter assuming(bounds_, masks_);
    assuming.assume(inside, blocks);
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
  auto orders = [](const Expr &node) {
    const auto *op = node.as<Binary>();
    return op && (op->op == BinaryOp::lt || op->op == BinaryOp::le) && op->a.dtype() == DType::i64 &&
           !op->a.node().data && !op->b.node().data;
  };
  return std::ranges::any_of(blocks_of(program.body), [&](const Block *block) {
    return std::ranges::any_of(loads_of(*block), [&](const nestsmith::Load *access) {
      return access->mask.exists() && any_node(access->mask, orders);
    });
  });
}

} // namespace

void partition(Unit &unit) {
  if (asks_for_it(unit.kernel()))
    Partitioner(unit.kernel(), compares_in_masks(unit.schedule.program())).run();
}

} // namespace nestsmith::kernel
