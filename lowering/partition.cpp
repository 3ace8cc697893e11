#include "dsl/simplify.h"
#include "lowering/unit.h"

#include <algorithm>
#include <map>

namespace nestsmith::kernel {

namespace {

/// Copies code for a subset of the iterations. The copy has new variables, and it omits the conditions that
/// hold in all of these iterations.
class PartRewriter {
public:
  explicit PartRewriter(Bounds bounds) : bounds_(std::move(bounds)) {}

  void replace(const Var &var, const Expr &value) { values_[var] = value; }
  /// The number of remaining conditions: guards and masks.
  std::int64_t conditions = 0;

  /// Null if nothing remains.
  Stmt rewrite(const Stmt &stmt) {
    Stmt result = rewrite_parts(stmt);
    return result && (as<Declare>(result) || does_something(result)) ? result : nullptr;
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
      found = found || as<Store>(child) || as<Barrier>(child) || as<Commit>(child) || as<Wait>(child) ||
              as<Arrive>(child);
    });
    return found;
  }

  Stmt rewrite_parts(const Stmt &stmt) {
    return visit(stmt,
                 Overloaded{
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
                     [&](const Barrier &) -> Stmt { return stmt; },
                     // Each part has statements of its own.
                     [&](const Commit &x) { return make(x, stmt->origin); },
                     [&](const Wait &x) { return make(x, stmt->origin); },
                     [&](const Arrive &x) -> Stmt {
                       Arrive copy = x;
                       copy.last = fresh(x.last);
                       copy.index = rewrite(x.index);
                       copy.arrivals = rewrite(x.arrivals);
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
    conditions += !is_true(mask);
    return is_true(mask) ? load(access->buffer, access->indices)
                         : load(access->buffer, access->indices, mask, access->fill);
  }

  /// The conjuncts of `condition` that are not proved to hold; the constant true if all conjuncts are proved.
  Expr left_of(const Expr &condition) const {
    if (const auto *both = condition.as<Binary>(); both && both->op == BinaryOp::logical_and) {
      Expr a = left_of(both->a), b = left_of(both->b);
      return is_true(a) ? b : (is_true(b) ? a : a && b);
    }
    return proves(condition, bounds_) || proves(expanded(condition), bounds_) ? boolean(true) : condition;
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
    ++conditions;
    copy.body = rewrite_body(x.body);
    copy.otherwise = x.otherwise ? rewrite_body(x.otherwise) : nullptr;
    if (!copy.body && copy.otherwise) {
      copy.condition = logical_not(copy.condition);
      std::swap(copy.body, copy.otherwise);
    }
    return copy.body ? make(std::move(copy), origin) : nullptr;
  }

  Bounds bounds_;
  std::map<Var, Expr> values_, definitions_;
};

class Partitioner {
public:
  explicit Partitioner(Kernel &kernel) : kernel_(kernel) {
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
    return loop->partitioned() ? split_loop(*as<Loop>(inner), inner->origin) : inner;
  }

  struct Part {
    Stmt stmt;
    std::int64_t conditions;
  };

  static LoopForm without_partition(const Loop &loop) {
    return Serial{.copies = std::get<Serial>(loop.form).copies};
  }

  /// The iterations first … first + count - 1 of a loop.
  Part part(const Loop &loop, const Origin &origin, const Expr &first, const Expr &count) const {
    Bounds bounds = bounds_;
    Loop copy = loop;
    copy.form = without_partition(loop);
    copy.var = make_var(loop.var->name, loop.var->dtype);
    copy.extent = count;
    bounds.set_extent(copy.var, count);
    PartRewriter rewriter(bounds);
    bool once = as_int(count) == 1;
    rewriter.replace(loop.var, once ? first : Expr(copy.var) + first);
    copy.body = rewriter.rewrite_body(loop.body);
    Stmt stmt = once || !copy.body ? copy.body : make(std::move(copy), origin);
    return {stmt, rewriter.conditions};
  }

  /// Separates a sequence of leading iterations that has no more conditions than the first iteration alone. A
  /// longer sequence has at least the conditions of a shorter one, so a binary search finds the longest.
  Stmt split_loop(const Loop &loop, const Origin &origin) const {
    if (!as_int(loop.extent))
      return split_last(loop, origin);
    std::int64_t extent = *as_int(loop.extent);
    std::int64_t best = part(loop, origin, 0, 1).conditions, full = 1, too_long = extent + 1;
    while (too_long - full > 1) {
      std::int64_t middle = full + (too_long - full) / 2;
      (part(loop, origin, 0, middle).conditions > best ? too_long : full) = middle;
    }
    if (full == extent)
      return make(Loop{loop.var, loop.extent, without_partition(loop), loop.body}, origin);
    return make_seq({part(loop, origin, 0, full).stmt, part(loop, origin, full, extent - full).stmt});
  }

  /// Separates the last iteration. This is the only possible split if the extent depends on sizes.
  Stmt split_last(const Loop &loop, const Origin &origin) const {
    Expr full = simplify(loop.extent - Expr(1));
    Part inside = part(loop, origin, 0, full);
    if (inside.conditions >= part(loop, origin, 0, loop.extent).conditions)
      return make(Loop{loop.var, loop.extent, without_partition(loop), loop.body}, origin);
    return make_seq({inside.stmt, part(loop, origin, full, 1).stmt});
  }

  /// Returns `if (inner) fast else slow`. The condition `inner` holds if no partitioned block index has its
  /// last value. `fast` omits the guards that then hold. Returns the body if there are no such guards.
  Stmt split_blocks(const Stmt &body) const {
    Bounds full = bounds_;
    Expr condition;
    std::vector<Origin> loops;
    for (const ThreadIndex &index : kernel_.indices)
      if (index.partitioned) {
        loops.push_back(index.origin);
        Expr others = simplify(index.extent - Expr(1));
        full.set_extent(index.var, others);
        if (!as_int(others))
          full.set(index.var, index.range());
        Expr inside = Expr(index.var) < others;
        condition = condition.exists() ? condition && inside : inside;
      }
    if (!condition.exists())
      return body;
    PartRewriter inside(full), edge(bounds_);
    Stmt fast = inside.rewrite(body), slow = edge.rewrite(body);
    return inside.conditions == edge.conditions
               ? body
               : make(If{condition, "all tiles are full", fast, slow}, joined(loops));
  }

  Kernel &kernel_;
  Bounds bounds_;
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

} // namespace

void partition(Unit &unit) {
  if (asks_for_it(unit.kernel))
    Partitioner(unit.kernel).run();
}

} // namespace nestsmith::kernel
