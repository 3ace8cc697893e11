/// Proves that a program with filled tails gives the same results as before.

#include "tests/proofs/tails.h"

#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "tests/proofs/instance.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith::proofs {

namespace {

const IterVar *guard_that_went(const Block &was, const IterVar &now) {
  for (const IterVar &iter : was.iters)
    if (iter.var == now.var && iter.guarded && !now.guarded)
      return &iter;
  return nullptr;
}

/// A factor of a term without conversions, and the value with which the term is the identity of its reducer.
struct Factor {
  Expr expr, value;
};

/// Returns the factors of the term of a sum or a product, or the term of a maximum or a minimum; none if the
/// block reduces by another reducer.
std::vector<Factor> factors_of(const Block &block) {
  auto term = term_of(block);
  if (!block.reduces() || !term || block.reducer.definition())
    return {};
  bool multiplies = block.reducer == Reducer::sum || block.reducer == Reducer::product;
  Expr identity = identity_of(block.reducer, term->dtype());
  std::vector<Factor> factors{{*term, identity}};
  for (std::size_t n = 0; n < factors.size();) {
    Expr factor = factors[n].expr;
    if (const auto *product = factor.as<Binary>(); multiplies && product && product->op == BinaryOp::mul) {
      factors[n].expr = product->a;
      factors.push_back({product->b, identity});
    } else if (const auto *conversion = factor.as<Cast>()) {
      factors[n].expr = conversion->a;
    } else {
      ++n;
    }
  }
  for (Factor &factor : factors) // the value whose conversion is the identity
    if (DType dtype = factor.expr.dtype(); dtype != identity.dtype())
      factor.value = is_float(identity.dtype()) ? constant(dtype, identity.as<FloatImm>()->value)
                                                : constant(dtype, as_int(identity).value_or(0));
  return factors;
}

/// Whether a conversion of the value is the same number again.
bool is_kept_by_conversions(const Factor &factor, const Block &block) {
  Expr identity = identity_of(block.reducer, term_of(block)->dtype());
  return evaluate(cast(identity.dtype(), factor.value), {}) == evaluate(identity, {});
}

class Tails {
public:
  Tails(const Program &before, const Program &after)
      : before_(before), after_(after), was_(blocks_of(before.body)), now_(blocks_of(after.body)) {
    std::vector<Buffer> old = temporaries(before), padded = temporaries(after);
    for (std::size_t n = 0; n < std::min(old.size(), padded.size()); ++n)
      counts_[padded[n]] = old[n];
  }

  Proof run() {
    if (!is_otherwise_equal())
      return std::move(result_);
    for (std::size_t n = 0; n < now_.size(); ++n) {
      check_reads(*was_[n], *now_[n]);
      check_guards(*was_[n], *now_[n]);
    }
    while (!filled_left_.empty()) {
      Buffer buffer = filled_left_.back();
      filled_left_.pop_back();
      for (const Block *block : now_)
        if (block->body.buffer == buffer)
          check_zero(*block);
    }
    return std::move(result_);
  }

private:
  void fail(const Block &block, const std::string &what) {
    result_.failures.push_back(fmt::format("{}: tails of {}: {}", after_.name, block.id->name, what));
  }
  void claim(Instance &at, Claim kind, const Formula &formula, const Block &block, const std::string &what) {
    result_.ask(at.prover, kind, formula,
                fmt::format("{}: {} of {}: {}", after_.name, name(kind), block.id->name, what));
  }

  const std::vector<Expr> &counting_shape(const Buffer &buffer) const {
    auto it = counts_.find(buffer);
    return it == counts_.end() ? buffer->shape : it->second->shape;
  }
  bool is_cache(const Buffer &buffer) const {
    return counts_.count(buffer) > 0 && buffer->scope != Scope::global;
  }
  Formula counts(Instance &at, const Buffer &buffer, const std::vector<Expr> &indices) const {
    return at.within(indices, counting_shape(buffer));
  }

  /// Reverts the permitted changes of the pass and compares the programs.
  bool is_otherwise_equal() {
    std::size_t n = 0;
    auto undo = [&](const Stmt &stmt, const auto &self) -> Stmt {
      const auto *block = as<Block>(stmt);
      if (!block)
        return map_children(stmt, [&](const Stmt &child) { return self(child, self); });
      if (n == was_.size())
        return stmt;
      const Block &was = *was_[n++];
      Block copy = *block;
      for (IterVar &iter : copy.iters)
        if (const IterVar *old = guard_that_went(was, iter)) {
          iter.guarded = true;
          iter.extent = old->extent;
        }
      if (new_mask(was, copy))
        copy.body.value = was.body.value;
      return make_block(std::move(copy));
    };
    Program undone = after_;
    undone.body = undo(after_.body, undo);
    for (const auto &[padded, old] : counts_)
      undone.body = replace_buffer(undone.body, padded, old);
    if (print(undone) == print(before_))
      return true;
    result_.failures.push_back(
        fmt::format("{}: tails: more than guards, masks and paddings is another:\n{}\nwas\n{}", after_.name,
                    print(undone), print(before_)));
    return false;
  }

  /// Returns the load of a copy to which the pass has added a mask, or null. If the copy had a mask before, the
  /// fill must be the same.
  static const Load *new_mask(const Block &was, const Block &now) {
    const auto *old = was.body.value.as<Load>(), *access = now.body.value.as<Load>();
    if (!old || !access || !access->mask.exists() || same(was.body.value, now.body.value) ||
        old->buffer != access->buffer || !std::ranges::equal(old->indices, access->indices, same))
      return nullptr;
    return !old->mask.exists() || same(old->fill, access->fill) ? access : nullptr;
  }

  /// Makes the claims for the iterations that the old guards include.
  void check_reads(const Block &was, const Block &now) {
    Instance at(after_, now);
    at.prover.assume(at.guards(was));
    if (at.prover.contradictory())
      result_.unreached.push_back(fmt::format("{}: {} never ran", after_.name, now.id->name));
    if (const Load *access = new_mask(was, now))
      claim(at, Claim::tails, iff(at.condition(access->mask), was_read(at, was)), now,
            "masked where it was not");
    for (const Load *access : loads_of(now))
      if (counts_.count(access->buffer)) {
        Formula exists = counts(at, access->buffer, access->indices);
        if (access->mask.exists()) // which excludes elements that the load does not read
          exists = any({negate(at.condition(access->mask)), exists});
        claim(at, Claim::tails, exists, now, "reads past the end of " + access->buffer->name);
      }
  }

  /// Whether the copy read an element instead of the fill.
  static Formula was_read(Instance &at, const Block &was) {
    const auto &old = *was.body.value.as<Load>();
    return old.mask.exists() ? at.condition(old.mask) : truth(true);
  }

  /// Makes the claims for the iterations that a removed guard excluded.
  void check_guards(const Block &was, const Block &now) {
    for (const IterVar &iter : now.iters) {
      const IterVar *guard = guard_that_went(was, iter);
      if (!guard)
        continue;
      Instance at(after_, now);
      at.prover.assume(less_equal(at.integer(guard->extent), at.integer(guard->binding)));
      if (at.prover.contradictory())
        result_.unreached.push_back(fmt::format("{}: tails of {}: nothing lies past the guard of {} that went",
                                                after_.name, now.id->name, iter.var->name));
      if (iter.kind == IterKind::reduction)
        check_sum(at, now, iter);
      else if (!is_cache(now.body.buffer))
        fail(now, fmt::format("the guard of {} went from what writes to global memory", iter.var->name));
      else
        claim(at, Claim::tails, negate(counts(at, now.body.buffer, now.body.indices)), now,
              fmt::format("writes an element that counts where {} is past its end", iter.var->name));
    }
  }

  void check_sum(Instance &at, const Block &sum, const IterVar &axis) {
    std::vector<Factor> factors = factors_of(sum);
    if (factors.empty())
      fail(sum, fmt::format("the guard of {} went from what is no sum", axis.var->name));
    for (const Factor &factor : factors)
      if (is_kept_by_conversions(factor, sum))
        check_value(at, sum, factor.expr, factor.value,
                    fmt::format("where {} is past its end", axis.var->name));
      else
        fail(sum, fmt::format("a conversion changes {}", to_string(factor.value)));
  }

  /// Makes the claim for a block that writes to a buffer in `filled`.
  void check_zero(const Block &block) {
    Instance at(after_, block);
    at.prover.assume(negate(counts(at, block.body.buffer, block.body.indices)));
    check_value(at, block, block.body.value, filled_.at(block.body.buffer),
                fmt::format("past the end of {}", block.body.buffer->name));
  }

  /// Claims that the value is `expected`, a constant.
  void check_value(Instance &at, const Block &block, const Expr &value, const Expr &expected,
                   const std::string &where) {
    if (same(value, expected))
      return;
    const auto *access = value.as<Load>();
    if (!access)
      return fail(block,
                  fmt::format("{} is not known to be {} {}", to_string(value), to_string(expected), where));
    std::string what = fmt::format("{} is not {} {}", to_string(value), to_string(expected), where);
    bool masked = access->mask.exists();
    if (masked && same(access->fill, expected))
      return claim(at, Claim::tails, negate(at.condition(access->mask)), block, what);
    if (masked || !is_cache(access->buffer))
      return fail(block, what);
    auto [known, fresh] = filled_.try_emplace(access->buffer, expected);
    if (!same(known->second, expected))
      return fail(block, what);
    if (fresh)
      filled_left_.push_back(access->buffer);
    claim(at, Claim::tails, negate(counts(at, access->buffer, access->indices)), block, what);
  }

  const Program &before_, &after_;
  std::vector<const Block *> was_, now_;
  std::map<Buffer, Buffer> counts_; ///< padded temporaries, with their old buffers
  std::map<Buffer, Expr> filled_;   ///< buffers with a known value past their shapes
  std::vector<Buffer> filled_left_; ///< those whose writers are not yet checked
  Proof result_;
};

} // namespace

Proof prove_tails(const Program &before, const Program &after) { return Tails(before, after).run(); }

} // namespace nestsmith::proofs
