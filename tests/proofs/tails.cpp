/// Proves that a program with filled tails gives the same results as before.

#include "tests/proofs/tails.h"

#include "dsl/ir/printer.h"
#include "tests/proofs/instance.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::proofs {

namespace {

const IterVar *guard_that_went(const Block &was, const IterVar &now) {
  for (const IterVar &iter : was.iters)
    if (iter.var == now.var && iter.guarded && !now.guarded)
      return &iter;
  return nullptr;
}

/// Whether the masked elements are 0.
bool fills_zeros(const Load &access) {
  return access.mask.exists() && same(access.fill, constant(access.buffer->dtype, 0));
}

/// Returns the factors of the term of a sum without conversions, or none if the block is not a sum.
std::vector<Expr> factors_of(const Block &block) {
  const auto *sum = block.body.value.as<Binary>();
  const auto *old = sum && sum->op == BinaryOp::add ? sum->a.as<Load>() : nullptr;
  bool own = old && !old->mask.exists() && old->buffer == block.body.buffer;
  if (!own || !std::equal(old->indices.begin(), old->indices.end(), block.body.indices.begin(), same))
    return {};
  std::vector<Expr> factors{sum->b};
  for (std::size_t n = 0; n < factors.size();) {
    Expr factor = factors[n];
    if (const auto *product = factor.as<Binary>(); product && product->op == BinaryOp::mul) {
      factors[n] = product->a;
      factors.push_back(product->b);
    } else if (const auto *conversion = factor.as<Cast>()) {
      factors[n] = conversion->a;
    } else {
      ++n;
    }
  }
  return factors;
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
    while (!zero_left_.empty()) {
      Buffer buffer = zero_left_.back();
      zero_left_.pop_back();
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

  /// Returns the load of a copy to which the pass has added a mask, or null. If the copy had no mask before,
  /// the fill must be 0.
  static const Load *new_mask(const Block &was, const Block &now) {
    const auto *old = was.body.value.as<Load>(), *access = now.body.value.as<Load>();
    if (!old || !access || !access->mask.exists() || same(was.body.value, now.body.value) ||
        old->buffer != access->buffer || !std::ranges::equal(old->indices, access->indices, same))
      return nullptr;
    return (old->mask.exists() ? same(old->fill, access->fill) : fills_zeros(*access)) ? access : nullptr;
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
    std::vector<Expr> factors = factors_of(sum);
    if (factors.empty())
      fail(sum, fmt::format("the guard of {} went from what is no sum", axis.var->name));
    for (const Expr &factor : factors)
      check_value(at, sum, factor, fmt::format("where {} is past its end", axis.var->name));
  }

  /// Makes the claim for a block that writes to a buffer in `zero`.
  void check_zero(const Block &block) {
    Instance at(after_, block);
    at.prover.assume(negate(counts(at, block.body.buffer, block.body.indices)));
    check_value(at, block, block.body.value, fmt::format("past the end of {}", block.body.buffer->name));
  }

  /// Claims that the value is 0.
  void check_value(Instance &at, const Block &block, const Expr &value, const std::string &where) {
    if (same(value, constant(value.dtype(), 0)))
      return;
    const auto *access = value.as<Load>();
    if (!access)
      return fail(block, fmt::format("{} is not known to be 0 {}", to_string(value), where));
    std::string what = fmt::format("{} is not 0 {}", to_string(value), where);
    if (fills_zeros(*access))
      return claim(at, Claim::tails, negate(at.condition(access->mask)), block, what);
    if (bool masked = access->mask.exists(); masked || !is_cache(access->buffer))
      return fail(block, what);
    if (zero_.insert(access->buffer).second)
      zero_left_.push_back(access->buffer);
    claim(at, Claim::tails, negate(counts(at, access->buffer, access->indices)), block, what);
  }

  const Program &before_, &after_;
  std::vector<const Block *> was_, now_;
  std::map<Buffer, Buffer> counts_; ///< padded temporaries, with their old buffers
  std::set<Buffer> zero_;
  std::vector<Buffer> zero_left_; ///< buffers in `zero` whose writers are not yet checked
  Proof result_;
};

} // namespace

Proof prove_tails(const Program &before, const Program &after) { return Tails(before, after).run(); }

} // namespace nestsmith::proofs
