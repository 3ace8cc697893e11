#include "dsl/hardware/vector_access.h"

#include "dsl/expr/conjuncts.h"
#include "dsl/expr/error.h"
#include "dsl/hardware/match.h"
#include "lowering/unit.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith::kernel {

namespace {

/// Rewrites one vectorized or tensorized loop.
class Vectorizer {
public:
  Vectorizer(Kernel &kernel, const std::map<Var, Expr> &definitions, const Bounds &bounds, const Loop &loop)
      : kernel_(kernel), definitions_(definitions), bounds_(bounds), loop_(loop),
        lanes_(as_int(loop.extent).value()) {}

  Stmt run() { return rewrite(loop_.body); }

private:
  // ---- statements

  using Gathered = std::set<const ExprNode *>;

  Stmt rewrite(const Stmt &stmt) {
    origin_ = stmt->origin;
    return visit(stmt, Overloaded{
                           [&](const Declare &x) { return declare(x); },
                           [&](const Loop &) -> Stmt { internal_error("a loop below a loop over lanes"); },
                           [&](const If &x) {
                             If copy = x;
                             copy.condition = uniform(x.condition);
                             copy.body = rewrite(x.body);
                             return make(std::move(copy), stmt->origin);
                           },
                           [&](const Seq &x) {
                             std::vector<Stmt> stmts;
                             for (const Stmt &child : x.stmts)
                               stmts.push_back(rewrite(child));
                             return make_seq(std::move(stmts));
                           },
                           [&](const Store &x) {
                             const auto *form = std::get_if<Tensorized>(&loop_.form);
                             return form ? call_for(form->intrinsic, x) : store(x);
                           },
                           [&](const Call &) -> Stmt { internal_error("a call between lanes"); },
                           [&](const BulkCopy &) -> Stmt { internal_error("a bulk copy between lanes"); },
                           [&](const Sync &x) -> Stmt {
                             internal_error(fmt::format("synchronisation between lanes: {}", x.name()));
                           },
                       });
  }

  /// A variable whose value differs between lanes keeps its name for the value in lane 0.
  Stmt declare(const Declare &x) {
    Var first = make_var(x.var->name);
    Expr value = at(x.value, 0);
    auto motion = motion_of(x.value);
    for (std::int64_t n = 0; n < lanes_; ++n)
      in_lanes_[x.var].push_back(motion ? Expr(first) + Expr(motion->steps[static_cast<std::size_t>(n)])
                                        : at(x.value, n));
    own_[x.var] = x.value;
    bounds_.set(first, range_of(expanded(value), bounds_).value());
    return make(Declare{first, value}, origin_);
  }

  /// The mask of an asynchronous copy: what is the same in all lanes, or null, and the number of the first
  /// lanes in which the rest holds; null if there is no rest.
  struct Existing {
    Expr mask, count;
  };
  Existing existing(const Expr &mask) const {
    Existing result;
    for (const Expr &condition : mask.exists() ? conjuncts_of(mask) : std::vector<Expr>()) {
      const Expr whole = expanded(condition);
      if (is_uniform(whole, loop_.var, lanes_, bounds_) ||
          !holds_in_first_lanes(whole, loop_.var, lanes_, bounds_)) {
        const Expr same = uniform(condition);
        result.mask = result.mask.exists() ? result.mask && same : same;
        continue;
      }
      const Binary &op = *order_of_indices(condition);
      const Expr end = op.op == BinaryOp::le ? op.b + Expr(1) : op.b, left = at(end, 0) - at(op.a, 0);
      result.count = result.count.exists() ? min(result.count, left) : left;
    }
    if (result.count.exists()) {
      const bool begins = proves(Expr(0) <= expanded(result.count), bounds_);
      result.count = min(begins ? result.count : max(result.count, Expr(0)), Expr(lanes_));
    }
    return result;
  }

  /// One asynchronous copy of a vector, or one for each lane.
  Stmt copy(const Store &x) {
    const auto &source = *x.value.as<Load>();
    auto is_vector_of = [&](const Buffer &buffer, const Expr &offset) {
      auto motion = motion_of(offset);
      return motion && motion->contiguous() && may_start(buffer, offset);
    };
    std::vector<Stmt> stmts;
    Store made = x;
    const Expr from = with_uniform_masks(source.indices[0]);
    if (is_vector_of(x.buffer, x.indices[0]) && is_vector_of(source.buffer, from)) {
      made.indices = {at(x.indices[0], 0)};
      made.lanes = static_cast<int>(lanes_);
      const Existing elements = existing(source.mask);
      made.count = elements.count;
      made.value = load(source.buffer, {at(from, 0)}, elements.mask,
                        elements.mask.exists() ? uniform(source.fill) : Expr(), made.lanes);
      align(x.buffer);
      align(source.buffer);
      return make(std::move(made), origin_);
    }
    for (std::int64_t n = 0; n < lanes_; ++n) {
      made.indices = {at(x.indices[0], n)};
      made.value = at(x.value, n);
      stmts.push_back(make(made, origin_));
    }
    return make_seq(std::move(stmts));
  }

  Stmt store(const Store &x) {
    if (x.async)
      return copy(x);
    std::vector<Stmt> stmts;
    Gathered gathered;
    gather(x.value, stmts, {}, gathered);
    auto motion = x.buffer->scope == Scope::local ? std::nullopt : motion_of(x.indices[0]);
    if (motion && motion->contiguous() && may_start(x.buffer, x.indices[0])) {
      Store vector = x;
      vector.indices = {at(x.indices[0], 0)};
      vector.lanes = static_cast<int>(lanes_);
      std::vector<Expr> values;
      for (std::int64_t n = 0; n < lanes_; ++n)
        values.push_back(at(x.value, n));
      vector.value = argument(values);
      align(x.buffer);
      stmts.push_back(make(std::move(vector), origin_));
      return make_seq(std::move(stmts));
    }
    for (std::int64_t n = 0; n < lanes_; ++n)
      stmts.push_back(make(Store{x.buffer, {at(x.indices[0], n)}, at(x.value, n)}, origin_));
    return make_seq(std::move(stmts));
  }

  /// Replaces the store of a sum over the lanes by the store of one call of the intrinsic.
  Stmt call_for(const Intrinsic &intrinsic, const Store &x) {
    std::vector<Stmt> stmts;
    Expr old = load(x.buffer, x.indices);
    Gathered gathered;
    gather(x.value, stmts, old, gathered);
    auto found = match(intrinsic, {{{loop_.var, lanes_}}, {x.buffer, x.indices, x.value}}, bounds_);
    internal_check(found.has_value(), "a nest does not mean what its intrinsic means");
    std::vector<Expr> arguments;
    for (const Operand &operand : intrinsic.operands) {
      std::vector<Expr> elements;
      for (std::int64_t n = 0; n < (operand.formal->shape.empty() ? 1 : lanes_); ++n)
        elements.push_back(at(found->operands.at(operand.formal), n));
      arguments.push_back(argument(elements));
    }
    Store result = x;
    result.indices = {at(x.indices[0], 0)};
    result.value = call(intrinsic.function, std::move(arguments));
    stmts.push_back(make(std::move(result), origin_));
    return make_seq(std::move(stmts));
  }

  /// The argument that consists of these lanes: a vector variable, if they are its lanes 0, 1, … in order;
  /// otherwise a pack.
  static Expr argument(const std::vector<Expr> &lanes) {
    if (lanes.size() == 1)
      return lanes.front();
    const auto *first = lanes.front().as<Lane>();
    for (std::size_t n = 0; n < lanes.size() && first; ++n) {
      const auto *element = lanes[n].as<Lane>();
      if (!element || element->vector != first->vector || element->index != static_cast<int>(n))
        first = nullptr;
    }
    return first ? Expr(first->vector) : pack(lanes);
  }

  // ---- expressions

  /// Expands declared variables. The result contains only loop variables and thread indices.
  Expr expanded(const Expr &e) const {
    return substitute(e, [&](const Var &var) {
      if (auto own = own_.find(var); own != own_.end())
        return expanded(own->second);
      auto outer = definitions_.find(var);
      return outer == definitions_.end() ? Expr() : expanded(outer->second);
    });
  }

  /// The value in lane n.
  Expr at(const Expr &e, std::int64_t n) const {
    return replace_nodes(e, [&](const Expr &node) {
      for (const auto &[known, var] : vectors_)
        if (known.get() == node.get())
          return var->lanes == 1 ? Expr(var) : lane(var, static_cast<int>(n));
      if (const Var *var = node.as<Var>()) {
        auto own = in_lanes_.find(*var);
        return *var == loop_.var        ? Expr(n)
               : own == in_lanes_.end() ? Expr()
                                        : own->second[static_cast<std::size_t>(n)];
      }
      return node.as<Load>() ? load_at(node, n) : Expr();
    });
  }
  Expr load_at(const Expr &e, std::int64_t n) const {
    Expr result = map_children(e, [&](const Expr &child) { return at(child, n); });
    const auto *access = result.as<Load>();
    if (result.get() == e.get())
      return result;
    bool tile = access->buffer->role == Role::temporary; // offsets into parameters keep their readable form
    Expr offset = tile ? simplify(access->indices[0], bounds_) : access->indices[0];
    return load(access->buffer, {offset}, access->mask, access->fill);
  }

  std::optional<Motion> motion_of(const Expr &e) const {
    return motion_along(expanded(e), loop_.var, lanes_, bounds_);
  }

  /// A mask of a load in the index of an asynchronous copy that is the same in all lanes, or holds in the first
  /// lanes only, becomes that of the first lane, so that the rules see that all lanes load one element.
  Expr with_uniform_masks(const Expr &index) const {
    auto as_in_first = [&](const Expr &condition) {
      return is_uniform(condition, loop_.var, lanes_, bounds_) ||
             holds_in_first_lanes(condition, loop_.var, lanes_, bounds_);
    };
    return replace_nodes(index, [&](const Expr &node) {
      const auto *access = node.as<Load>();
      if (!access || !access->mask.exists() ||
          !std::ranges::all_of(conjuncts_of(expanded(access->mask)), as_in_first))
        return Expr();
      return load(access->buffer, access->indices, at(access->mask, 0), access->fill);
    });
  }

  Expr uniform(const Expr &condition) const {
    if (!condition.exists())
      return condition;
    internal_check(is_uniform(expanded(condition), loop_.var, lanes_, bounds_),
                   "a guard differs between lanes");
    return at(condition, 0);
  }

  /// Emits loads from memory before the statement, each load once, if its lanes form a vector or all load the
  /// same element. The load `own` stays in place.
  void gather(const Expr &e, std::vector<Stmt> &stmts, const Expr &own, Gathered &gathered) {
    if (e.may_recur() && !gathered.insert(e.get()).second)
      return;
    if (const auto *op = e.as<Binary>(); op && is_logical(op->op))
      return gather(op->a, stmts, own, gathered); // the right operand's loads are conditional
    if (const auto *choice = e.as<Select>(); choice && choice->branches)
      return gather(choice->condition, stmts, own, gathered); // loads of both values are conditional
    const auto *access = e.as<Load>();
    if (!access)
      return for_each_child(e, [&](const Expr &child) { gather(child, stmts, own, gathered); });
    if (access->buffer->scope == Scope::local || (own.exists() && same(e, own)))
      return;
    for (const auto &[known, var] : vectors_)
      if (same(known, e)) {
        vectors_.emplace_back(e, var);
        return;
      }
    auto motion = motion_of(access->indices[0]);
    bool vector = motion && motion->contiguous() && may_start(access->buffer, access->indices[0]);
    bool one_fill = !access->fill.exists() || is_uniform(expanded(access->fill), loop_.var, lanes_, bounds_);
    if (!motion || !one_fill || !(vector || motion->still()))
      return;
    int lanes = motion->still() ? 1 : static_cast<int>(lanes_);
    Expr value =
        load(access->buffer, {at(access->indices[0], 0)}, uniform(access->mask), uniform(access->fill), lanes);
    if (lanes > 1)
      align(access->buffer);
    Var var = make_data(access->buffer->name + (lanes > 1 ? "_v" : "_s"), access->buffer->dtype, lanes);
    stmts.push_back(make(Declare{var, value}, origin_));
    vectors_.emplace_back(e, var);
  }

  /// Whether a vector may start at this offset. The obligations prove this for parameters, and for accesses to
  /// tiles that are contiguous in the program. Other accesses to tiles become contiguous only here, because the
  /// first iterations of a loop are peeled. If such an access is not aligned, or has another length than the
  /// vectors of its type, it is done lane by lane.
  bool may_start(const Buffer &buffer, const Expr &offset) const {
    bool may = is_vector(buffer->dtype, lanes_) &&
               is_multiple(in_lane(expanded(offset), loop_.var, 0, bounds_), lanes_, bounds_);
    internal_check(may || buffer->role == Role::temporary, "a vector access is not aligned");
    return may;
  }

  /// Records the alignment that vector accesses need.
  void align(const Buffer &buffer) {
    std::int64_t bytes = lanes_ * byte_size(buffer->dtype);
    for (Allocation &allocation : kernel_.shared)
      if (allocation.buffer == buffer)
        allocation.alignment = std::max(allocation.alignment, bytes);
    if (buffer->scope == Scope::global) // a parameter or a workspace
      kernel_.aligned[buffer] = std::max(kernel_.aligned[buffer], bytes);
  }

  Kernel &kernel_;
  const std::map<Var, Expr> &definitions_; ///< declared outside of the loop
  Bounds bounds_;
  const Loop &loop_;
  std::int64_t lanes_;
  std::map<Var, Expr> own_;                   ///< declared in the loop
  std::map<Var, std::vector<Expr>> in_lanes_; ///< the values of these variables in each lane
  std::vector<std::pair<Expr, Var>> vectors_; ///< emitted loads and their variables
  Origin origin_;                             ///< of the statement that is rewritten
};

} // namespace

void vectorize(Unit &unit) {
  Kernel &kernel = unit.kernel();
  std::map<Var, Expr> definitions;
  Bounds bounds;
  for (const ThreadIndex &index : kernel.indices)
    set_range(bounds, index);
  walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<Loop>(stmt))
      bounds.set_extent(loop->var, loop->extent);
    if (const auto *declare = as<Declare>(stmt))
      definitions[declare->var] = declare->value;
  });
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) {
    const auto *loop = as<Loop>(stmt);
    if (loop && loop->over_lanes())
      return Vectorizer(kernel, definitions, bounds, *loop).run();
    return map_children(stmt, rewrite);
  };
  Stmt body = rewrite(kernel.body);
  if (body == kernel.body)
    return;
  kernel.body = std::move(body);
  place_declarations(unit); // per-lane values have become common values
}

} // namespace nestsmith::kernel
