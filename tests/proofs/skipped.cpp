/// Proves that the terms of skipped tiles are absent.

#include "tests/proofs/skipped.h"

#include "dsl/ir/interpret.h"
#include "dsl/ir/skip_tiles.h"
#include "tests/proofs/instance.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace nestsmith::proofs {

namespace {

/// The term of one block in a skipped iteration.
class AbsentTerm {
public:
  AbsentTerm(const Program &program, const Block &block) : program_(program), at_(program, block) {}

  /// Asks whether the term is the identity where the condition is false, or the guards are. These are assumed,
  /// so that the condition follows from them then.
  void ask(const Block &block, const Expr &condition, const std::string &where, Proof &result) {
    at_.prover.assume(negate(at_.condition(condition)));
    auto term = block.reduces() ? term_of(block) : std::nullopt;
    Formula absent = truth(false);
    if (term) {
      Expr left = decided(*term), identity = identity_of(block.reducer, term->dtype());
      if (is_identity(left, identity))
        absent = truth(true);
      else if (undecided_)
        absent = negate(*undecided_);
    }
    result.ask(at_.prover, Claim::skipped, any({absent, at_.condition(condition)}), where);
  }

private:
  static bool is_identity(const Expr &e, const Expr &identity) {
    std::vector<Expr> parts = parts_of(e), wanted = parts_of(identity);
    for (std::size_t n = 0; n < wanted.size(); ++n)
      if (n >= parts.size() ||
          any_node(parts[n], [](const Expr &node) { return node.as<Load>() || node.as<Var>(); }) ||
          evaluate(parts[n], {}) != evaluate(wanted[n], {}))
        return false;
    return true;
  }

  /// The value of a condition on indices, if it is the same in all skipped instances.
  std::optional<bool> value_of(const Expr &condition) {
    if (reads_memory(condition))
      return std::nullopt;
    Formula holds = at_.condition(condition);
    if (at_.prover.prove(negate(holds)).proved())
      return false;
    if (at_.prover.prove(holds).proved())
      return true;
    undecided_ = holds;
    return std::nullopt;
  }

  /// The expression without the loads and choices that are decided.
  Expr decided(const Expr &e) {
    if (const auto *choice = e.as<Select>()) {
      auto value = value_of(choice->condition);
      return value ? decided(*value ? choice->when_true : choice->when_false) : e;
    }
    if (const auto *access = e.as<Load>()) {
      auto value = access->mask.exists() ? value_of(access->mask) : std::optional(true);
      if (!value)
        return e;
      Expr written = *value ? written_to(*access) : access->fill;
      return written.exists() ? decided(written) : e;
    }
    Expr result = map_children(e, [&](const Expr &child) { return decided(child); });
    const auto *product = result.as<Binary>();
    bool zero = product && product->op == BinaryOp::mul && !is_float(result.dtype()) &&
                (as_int(product->a) == 0 || as_int(product->b) == 0);
    return zero ? constant(result.dtype(), 0) : result;
  }

  /// What the only writer of a temporary stores to the element; null if there are several, or it is a sum.
  Expr written_to(const Load &access) const {
    const Block *writer = nullptr;
    for (const Block *block : blocks_of(program_.body))
      if (block->body.buffer == access.buffer)
        writer = writer || block->reduces() || block->init ? &several_ : block;
    if (!writer || writer == &several_)
      return {};
    std::map<Var, Expr> axes;
    for (std::size_t d = 0; d < access.indices.size(); ++d)
      if (const Var *axis = writer->body.indices[d].as<Var>())
        axes[*axis] = access.indices[d];
    for (const IterVar &iter : writer->iters)
      if (uses(writer->body.value, iter.var) && !axes.contains(iter.var))
        return {};
    return substitute(writer->body.value, axes);
  }

  inline static const Block several_;
  const Program &program_;
  Instance at_;
  std::optional<Formula> undecided_; ///< the last condition that has both values
};

} // namespace

Proof prove_skipped(const Program &program, FunctionRef<Expr(const For &)> condition_of) {
  Proof result;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!loop || !loop->skipping())
      return true;
    std::vector<const Block *> inside = blocks_of(loop->body);
    for (const Block *block : inside) {
      const Buffer &buffer = block->body.buffer;
      bool inner = buffer->role == Role::temporary;
      for (const Block *other : blocks_of(program.body))
        inner = inner && (!touches(*other, buffer) || std::ranges::find(inside, other) != inside.end());
      if (!inner)
        AbsentTerm(program, *block)
            .ask(*block, condition_of(*loop),
                 fmt::format("{}: skipped {} of {}", program.name, loop->var->name, block->id->name), result);
    }
    return true;
  });
  return result;
}

Proof prove_skipped(const Program &program) {
  return prove_skipped(program, [&](const For &loop) { return condition_of_iteration(program, loop); });
}

} // namespace nestsmith::proofs
