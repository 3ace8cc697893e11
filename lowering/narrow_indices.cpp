#include "dsl/expr/conjuncts.h"
#include "dsl/expr/error.h"
#include "dsl/expr/shared_results.h"
#include "dsl/expr/simplify.h"
#include "lowering/data_arithmetic.h"
#include "lowering/unit.h"
#include "lowering/value_ranges.h"

#include <limits>
#include <map>

namespace nestsmith::kernel {

namespace {

bool fits(const std::optional<Range> &range) {
  return range && range->low >= std::numeric_limits<std::int32_t>::min() &&
         range->high <= std::numeric_limits<std::int32_t>::max();
}

class Narrower {
public:
  void define(const Var &var, std::optional<Range> range) {
    if (range)
      bounds_.set(var, *range);
    narrowed_[var] = var->dtype == DType::i64 && fits(range) ? make_var(var->name, DType::i32) : var;
  }
  void define(const ThreadIndex &index) {
    define(index.var, index.range());
    set_range(bounds_, index);
  }
  Var define_size(const Var &size) {
    Var var = fits(range_of(size, bounds_)) ? make_size(size->name, *size->size, DType::i32) : size;
    return narrowed_[size] = var;
  }
  Var narrowed(const Var &var) const {
    auto it = narrowed_.find(var);
    return it == narrowed_.end() ? var : it->second;
  }

  /// i32 if this value and all its operands provably fit, else i64. An i32 in the program is data: indices are
  /// i64 there.
  Expr rewrite(const Expr &e) const {
    Done done;
    return rewrite(e, done);
  }

  /// Shifts the dividend of a floor operator that may be negative by a multiple of the divisor, so that it is
  /// not negative:
  /// [rule.from_zero] x//c = (x + n*c)//c - n, x % c = (x + n*c) % c, 0 <= x + n*c where c > 0, -n*c <= x
  /// [rule.from_zero.least] -n*c <= x where c > 0, n = -(l//c), l <= x
  /// Null if no shift is needed.
  Expr from_zero(const Expr &e) const {
    const auto *op = e.as<Binary>();
    if (!op || !is_index(op->a.dtype()) || (op->op != BinaryOp::floordiv && op->op != BinaryOp::floormod))
      return {};
    auto divisor = as_int(op->b);
    if (auto rough = rough_range(op->a, bounds_); rough && rough->low >= 0 && divisor && *divisor >= 1)
      return {};
    auto range = range_of(op->a, bounds_);
    auto least = range_of(op->b, bounds_);
    if (range && range->low >= 0 && least && least->low >= 1)
      return {};
    internal_check(range && divisor && *divisor >= 1, "a division that C++ does not define is left");
    std::int64_t n = -floor_div(range->low, *divisor);
    Expr shifted = binary(op->op, op->a + Expr(n * *divisor), op->b);
    return op->op == BinaryOp::floordiv ? shifted - Expr(n) : shifted;
  }

  Stmt rewrite(const Stmt &stmt) {
    if (const auto *declare = as<Declare>(stmt)) {
      define(declare->var, range_of(declare->value, bounds_));
      Var var = narrowed(declare->var);
      return make(Declare{var, cast(var->dtype, rewrite(declare->value))}, stmt->origin);
    }
    if (const auto *loop = as<Loop>(stmt)) {
      auto range = range_of(loop->extent, bounds_);
      define(loop->var, range ? std::optional(Range{0, range->high}) : std::nullopt); // with the exit value
      bounds_.set_extent(loop->var, loop->extent);
      Loop copy = *loop;
      copy.var = narrowed(loop->var);
      copy.extent = cast(copy.var->dtype, rewrite(loop->extent));
      copy.body = rewrite(loop->body);
      return make(std::move(copy), stmt->origin);
    }
    Stmt result = map_exprs(stmt, [&](const Expr &e) { return rewrite(e); });
    if (const auto *store = as<Store>(result)) { // a stored value has the type of its memory
      Store copy = *store;
      copy.value = cast(store->buffer->dtype, store->value);
      return copy.value.get() == store->value.get() ? result : make(std::move(copy), stmt->origin);
    }
    return map_children(result, [&](const Stmt &child) { return rewrite(child); });
  }

private:
  using Done = SharedResults<Expr>;

  /// The load with min(x, n) in place of variables x of its offset for which the mask requires x < n, if the
  /// offset fits i32 only then. Null otherwise. Where the mask is true, the offset is the same. An asynchronous
  /// copy computes the offset also where the mask is false, so n is a variable or a number. Past the end of a
  /// dimension, the offsets of sizes that are known at launch exceed i32, and products of 64 bits take five
  /// instructions more.
  Expr within_mask(const Load &access) const {
    if (access.indices.size() != 1 || !is_index(access.indices[0].dtype()))
      return {};
    std::map<Var, Expr> bounded;
    for (const Expr &condition : conjuncts_of(access.mask)) {
      const auto *op = condition.as<Binary>();
      const Var *var = op && op->op == BinaryOp::lt ? op->a.as<Var>() : nullptr;
      if (var && (as_int(op->b) || op->b.as<Var>()))
        bounded.try_emplace(*var, min(op->a, op->b));
    }
    if (bounded.empty() || fits(range_of(access.indices[0], bounds_)))
      return {};
    auto with = [&](const std::map<Var, Expr> &some) -> Expr {
      const Expr offset = substitute(access.indices[0], some);
      return fits(range_of(offset, bounds_))
                 ? load(access.buffer, {offset}, access.mask, access.fill, access.lanes)
                 : Expr();
    };
    for (const auto &one : bounded) // mostly one is enough
      if (Expr found = with({one}); found.exists())
        return found;
    return with(bounded);
  }

  Expr rewrite(const Expr &e, Done &done) const {
    return e.exists() ? done(e, [&] { return rewrite_node(e, done); }) : e;
  }

  Expr rewrite_node(const Expr &e, Done &done) const {
    if (const Var *var = e.as<Var>())
      return narrowed(*var);
    if (const auto *imm = e.as<IntImm>(); imm && imm->dtype == DType::i64)
      return fits(Range{imm->value, imm->value}) ? int_imm(imm->value, DType::i32) : e;
    if (Expr defined = define_on_data(e, bounds_, [&](const Expr &x) { return rewrite(x, done); });
        defined.exists())
      return defined;
    if (Expr shifted = from_zero(e); shifted.exists())
      return rewrite(shifted, done);
    if (const auto *op = e.as<Binary>(); op && op->a.dtype() == DType::i64) {
      Expr a = rewrite(op->a, done), b = rewrite(op->b, done);
      bool wide_shift = is_shift(op->op) && !shifts_within_width(DType::i32, range_of(op->b, bounds_));
      bool narrow = a.dtype() == DType::i32 && b.dtype() == DType::i32 && !wide_shift &&
                    (is_comparison(op->op) || fits(rough_range(e, bounds_)) || fits(range_of(e, bounds_)));
      return narrow ? binary(op->op, a, b) : binary(op->op, cast(DType::i64, a), cast(DType::i64, b));
    }
    if (const auto *vector = e.as<Pack>()) {
      std::vector<Expr> lanes;
      for (const Expr &element : vector->lanes)
        lanes.push_back(cast(e.dtype(), rewrite(element, done)));
      return pack(std::move(lanes));
    }
    if (const auto *choice = e.as<Select>(); choice && e.dtype() == DType::i64) {
      Expr a = rewrite(choice->when_true, done), b = rewrite(choice->when_false, done);
      if (a.dtype() == DType::i32 && b.dtype() == DType::i32 && !choice->branches)
        return select(rewrite(choice->condition, done), a, b);
      return map_children(e, [&](const Expr &child) { return cast(child.dtype(), rewrite(child, done)); });
    }
    if (const auto *access = e.as<Load>(); access && access->mask.exists())
      if (Expr bounded = within_mask(*access); bounded.exists())
        return rewrite(bounded, done);
    if (const auto *access = e.as<Load>();
        access && access->fill.exists() && access->buffer->dtype == DType::i64)
      return map_children(e, [&](const Expr &child) {
        return child.get() == access->fill.get() ? cast(child.dtype(), rewrite(child, done))
                                                 : rewrite(child, done);
      });
    return map_children(e, [&](const Expr &child) { return rewrite(child, done); });
  }

  Bounds bounds_;
  std::map<Var, Var> narrowed_;
};

} // namespace

void narrow_indices(Unit &unit) {
  Narrower narrower;
  for (SizeParameter &size : unit.kernel().sizes)
    size.var = narrower.define_size(size.size);
  for (ThreadIndex &index : unit.kernel().indices) {
    narrower.define(index);
    index.var = narrower.narrowed(index.var);
  }
  unit.kernel().body = narrower.rewrite(unit.kernel().body);
  unit.kernel().body = with_defined_results(unit.kernel());
}

} // namespace nestsmith::kernel
