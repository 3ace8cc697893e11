#include "dsl/schedule/primitives/padded_copy.h"

#include "dsl/expr/conjuncts.h"

#include <algorithm>

namespace nestsmith {

namespace {

/// Whether a value follows from memory, which the copy would have to read where it executes.
bool follows_from_memory(const Expr &e) { return e.exists() && reads_memory(e); }

Bounds bounds_of_axes(const Block &block) {
  Bounds bounds;
  for (const IterVar &iter : block.iters)
    bounds.set_extent(iter.var, iter.extent);
  return bounds;
}

/// Rewrites conditions on the axes of a block as conditions on the indices of one of its reads.
///
///     x[i + d - 1] where 0 < i + d     =>     0 <= p, where p = i + d - 1
class OfElement {
public:
  OfElement(const Block &block, const Load &access, const std::vector<Var> &places)
      : block_(block), bounds_(bounds_of_axes(block)) {
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      Linear index = reduced(linearize(access.indices[d] - Expr(places[d]), bounds_));
      solve(index);
    }
  }

  /// Null if the value is not known to follow from the element. The copy evaluates it for elements that the
  /// block does not read, so no divisor may depend on the element.
  Expr operator()(const Expr &e) const {
    Expr result = rewritten(e);
    bool divides =
        result.exists() && any_node(result, [](const Expr &node) {
          const auto *op = node.as<Binary>();
          return op && (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod) && !is_fixed(op->b);
        });
    return divides ? Expr() : result;
  }

private:
  static bool is_fixed(const Expr &divisor) {
    return !any_node(divisor, [](const Expr &node) {
      const Var *var = node.as<Var>();
      return var && !(*var)->size;
    });
  }

  Expr rewritten(const Expr &e) const {
    if (const auto *op = e.as<Binary>(); op && is_logical(op->op)) {
      Expr a = rewritten(op->a), b = rewritten(op->b);
      return a.exists() && b.exists() ? binary(op->op, a, b) : Expr();
    }
    Expr result = simplify(substitute(e, values_), bounds_);
    if (!uses_axes(result))
      return result;
    const auto *op = comparison_of_indices(e);
    if (!op)
      return {};
    Expr difference = to_expr(reduced(linearize(op->a - op->b, bounds_)));
    return uses_axes(difference) ? Expr() : binary(op->op, difference, Expr(0));
  }

  /// An equation factor * digit = value, with a positive factor. The value has none of the digits that are
  /// solved.
  struct Solved {
    Digit digit;
    std::int64_t factor;
    Linear value;
  };

  static bool is_same(const Digit &a, const Digit &b) {
    return a.div == b.div && a.mod == b.mod && same(a.base, b.base);
  }

  bool uses_axes(const Expr &e) const {
    return std::ranges::any_of(block_.iters, [&](const IterVar &iter) { return uses(e, iter.var); });
  }

  static Expr scaled(const Linear &sum, std::int64_t by) { return to_expr(sum) * Expr(by); }

  /// The sum without the multiples of digits that are solved.
  Linear reduced(const Linear &sum) const {
    Expr result = Expr(sum.constant);
    for (const Term &term : sum.terms) {
      auto known = std::ranges::find_if(solved_, [&](const Solved &s) {
        return is_same(s.digit, term.digit) && term.coefficient % s.factor == 0;
      });
      result = result + (known == solved_.end() ? to_expr(Linear{{term}, 0})
                                                : scaled(known->value, term.coefficient / known->factor));
    }
    return linearize(result, bounds_);
  }

  /// Solves the equation sum = 0 for a digit of axes, if it has one: for a whole axis with the coefficient 1 or
  /// -1 if possible.
  void solve(const Linear &sum) {
    auto merit = [&](const Term &term) {
      return 2 * (term.coefficient == 1 || term.coefficient == -1) + (term.digit.as_var() != nullptr);
    };
    const Term *pivot = nullptr;
    for (const Term &term : sum.terms)
      if (uses_axes(term.digit.base) && (!pivot || merit(term) > merit(*pivot)))
        pivot = &term;
    if (!pivot)
      return;
    auto [coefficient, digit] = *pivot;
    Linear rest = sum;
    std::erase_if(rest.terms, [&](const Term &term) { return is_same(term.digit, digit); });
    std::int64_t factor = coefficient < 0 ? -coefficient : coefficient;
    Linear value = linearize(scaled(rest, coefficient < 0 ? 1 : -1), bounds_);
    solved_.push_back({digit, factor, value});
    for (Solved &other : solved_)
      other.value = reduced(other.value);
    if (factor != 1 || !digit.as_var() || uses(to_expr(value), *digit.base.as<Var>()))
      return;
    values_[*digit.base.as<Var>()] = to_expr(value);
    for (auto &[var, known] : values_)
      known = simplify(substitute(known, values_), bounds_);
  }

  const Block &block_;
  Bounds bounds_;
  std::vector<Solved> solved_;
  std::map<Var, Expr> values_; ///< of axes, as expressions of places and of axes that are not solved
};

/// The parts of a condition that all must hold.
void add_conjuncts(const Expr &condition, std::vector<Expr> &conjuncts) {
  for (const Expr &part : conjuncts_of(condition))
    if (!is_true(part) && std::ranges::none_of(conjuncts, [&](const Expr &known) { return same(known, part); }))
      conjuncts.push_back(part);
}

/// An expression that is at most 0 exactly if the comparison holds; null if it is no order of indices.
Expr excess(const Expr &condition) {
  const Binary *op = order_of_indices(condition);
  return op ? op->a - op->b + Expr(op->op == BinaryOp::lt ? 1 : 0) : Expr();
}

/// The comparison with its constants on the side that has no variables of its own: x - 1 < n is x < n + 1.
Expr with_constants_apart(const Expr &condition, const Bounds &bounds) {
  if (!excess(condition).exists())
    return condition;
  const auto &op = *condition.as<Binary>();
  Linear a = linearize(op.a, bounds), b = linearize(op.b, bounds);
  std::int64_t moved = a.terms.empty() ? b.constant : a.constant;
  return binary(op.op, simplify(op.a - Expr(moved), bounds), simplify(op.b - Expr(moved), bounds));
}

bool follows_from(const std::vector<Expr> &known, const Expr &condition, const Bounds &bounds) {
  Expr wanted = excess(condition);
  return proves(condition, bounds) || std::ranges::any_of(known, [&](const Expr &other) {
           Expr given = wanted.exists() ? excess(other) : Expr();
           return same(other, condition) || (given.exists() && proves(wanted <= given, bounds));
         });
}

/// One read of the buffer, in terms of the element that it accesses.
struct Read {
  std::vector<Expr> least, end; ///< of the indices; expressions of sizes
  std::vector<Expr> conjuncts;  ///< of the mask
  Expr fill;                    ///< null if the read has no mask
};

class Reads {
public:
  Reads(const Block &reader, const Buffer &buffer) : reader_(reader), buffer_(buffer) {
    for (std::size_t d = 0; d < buffer->shape.size(); ++d)
      places_.push_back(make_var("at"));
  }

  /// False if the mask or the fill is not known to be a function of the element.
  bool add(const Load &access) {
    Read read;
    Bounds bounds = bounds_of_axes(reader_);
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      const Expr &index = access.indices[d];
      bool data = index.node().data || index.dtype() != DType::i64;
      auto high = data ? std::nullopt : highest(index, bounds);
      auto low = data ? std::nullopt : highest(Expr(0) - index, bounds);
      if (access.mask.exists() && !(low && high))
        return false;
      Expr begin = low ? simplify(Expr(0) - *low) : Expr(0);
      Expr end = high ? simplify(*high + Expr(1)) : buffer_->shape[d];
      if (!access.mask.exists()) { // the read is inside of the buffer
        begin = proves(Expr(0) <= begin, {}) ? begin : Expr(0);
        end = proves(end <= buffer_->shape[d], {}) ? end : buffer_->shape[d];
      }
      read.least.push_back(begin);
      read.end.push_back(end);
    }
    if (access.mask.exists()) {
      if (follows_from_memory(access.mask) || follows_from_memory(access.fill))
        return false;
      OfElement of_element(reader_, access, places_);
      Expr mask = of_element(access.mask);
      read.fill = of_element(access.fill);
      if (!mask.exists() || !read.fill.exists() || (fill_.exists() && !same(fill_, read.fill)))
        return false;
      fill_ = read.fill;
      add_conjuncts(mask, read.conjuncts);
      add_conjuncts(mask, conjuncts_);
    }
    reads_.push_back(std::move(read));
    return true;
  }

  /// None if a condition of one read does not hold wherever another read accesses memory.
  std::optional<PaddedCopy> copy(const std::vector<std::string> &names) const {
    for (const Read &read : reads_) {
      Bounds bounds;
      std::map<Var, Expr> values;
      for (std::size_t d = 0; d < places_.size(); ++d) {
        Var offset = make_var("offset");
        bounds.set_extent(offset, simplify(read.end[d] - read.least[d]));
        values[places_[d]] = Expr(offset) + read.least[d];
      }
      std::vector<Expr> known;
      for (const Expr &condition : read.conjuncts)
        known.push_back(substitute(condition, values));
      for (const Expr &condition : conjuncts_)
        if (!follows_from(known, substitute(condition, values), bounds))
          return std::nullopt;
    }
    return with_ends(names);
  }

private:
  /// The hull of the buffer and of the reads, and the mask that keeps the copy inside of the buffer.
  std::optional<PaddedCopy> with_ends(const std::vector<std::string> &names) const {
    PaddedCopy copy;
    Bounds bounds;
    std::map<Var, Expr> values;
    for (std::size_t d = 0; d < places_.size(); ++d) {
      Expr begin = 0, end = buffer_->shape[d];
      for (const Read &read : reads_)
        if (!extend(begin, read.least[d], true) || !extend(end, read.end[d], false))
          return std::nullopt;
      copy.begin.push_back(begin);
      copy.shape.push_back(simplify(end - begin));
      copy.axes.push_back(make_var(names[d]));
      bounds.set_extent(copy.axes[d], copy.shape[d]);
      values[places_[d]] = Expr(copy.axes[d]) + begin;
    }
    std::vector<Expr> conjuncts;
    for (const Expr &condition : conjuncts_)
      add_conjuncts(with_constants_apart(simplify(substitute(condition, values), bounds), bounds), conjuncts);
    for (std::size_t d = 0; d < places_.size(); ++d) {
      Expr at = simplify(values.at(places_[d]));
      for (const Expr &inside : {Expr(0) <= at, at < buffer_->shape[d]})
        if (!follows_from(conjuncts, inside, bounds))
          conjuncts.push_back(with_constants_apart(inside, bounds));
    }
    for (const Expr &condition : conjuncts)
      copy.mask = copy.mask.exists() ? copy.mask && condition : condition;
    if (copy.mask.exists())
      copy.fill = fill_.exists() ? simplify(substitute(fill_, values), bounds) : constant(buffer_->dtype, 0);
    return copy;
  }

  /// The lesser of two ends, or the greater. False if it is not known.
  static bool extend(Expr &end, const Expr &other, bool down) {
    if (proves(down ? end <= other : other <= end, {}))
      return true;
    if (!proves(down ? other <= end : end <= other, {}))
      return false;
    end = other;
    return true;
  }

  const Block &reader_;
  const Buffer &buffer_;
  std::vector<Var> places_; ///< the indices of an element
  std::vector<Read> reads_;
  std::vector<Expr> conjuncts_; ///< of all masks
  Expr fill_;
};

} // namespace

std::vector<Expr> PaddedCopy::indices(const Load &access) const {
  std::vector<Expr> result;
  for (std::size_t d = 0; d < begin.size(); ++d)
    result.push_back(as_int(begin[d]) == 0 ? access.indices[d] : simplify(access.indices[d] - begin[d]));
  return result;
}

std::optional<PaddedCopy> padded_copy(const Block &reader, const Buffer &buffer,
                                      const std::vector<std::string> &axes) {
  Reads reads(reader, buffer);
  for (const Load *access : loads_of(reader))
    if (access->buffer == buffer && !reads.add(*access))
      return std::nullopt;
  return reads.copy(axes);
}

} // namespace nestsmith
