#include "dsl/ir/term_order.h"

#include "dsl/expr/simplify.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <vector>

namespace nestsmith {

namespace {

/// Two loops of which the first must be outside.
struct Exchanged {
  const For *outer, *inner;
};

/// Compares the order of the loops with the significance of their digits.
class TermOrder {
public:
  TermOrder(const Block &block, std::vector<const For *> around) : around_(std::move(around)) {
    for (const For *loop : around_)
      bounds_.set_extent(loop->var, loop->extent);
    std::erase_if(around_, [&](const For *loop) { // fixed for an element, or of one iteration
      return as_int(loop->extent) == 1 || std::ranges::none_of(block.iters, [&](const IterVar &iter) {
               return iter.is_summed() && sums_over(block, iter, loop->var);
             });
    });
    for (const IterVar &iter : block.iters)
      if (iter.is_summed())
        std::ranges::move(by_significance(iter.binding), std::back_inserter(digits_));
    std::erase_if(digits_, [&](const Digit &digit) { return loops_of_digit(digit).empty(); });
  }

  std::optional<Exchanged> exchanged() const {
    for (std::size_t n = 0; n < digits_.size(); ++n) {
      if (auto found = exchanged_in(digits_[n].base))
        return found;
      if (auto found = n > 0 ? exchanged_in(digits_[n - 1], digits_[n]) : std::nullopt)
        return found;
    }
    return std::nullopt;
  }

private:
  /// The digits of a sum, those with the largest factors first.
  std::vector<Digit> by_significance(const Expr &sum) const {
    std::vector<Term> terms = linearize(sum, bounds_).terms;
    std::ranges::stable_sort(terms, std::ranges::greater(), &Term::coefficient);
    std::vector<Digit> digits;
    std::ranges::transform(terms, std::back_inserter(digits), &Term::digit);
    return digits;
  }

  /// The loops of the reduction that the digit uses, outermost first.
  std::vector<const For *> loops_of_digit(const Digit &digit) const {
    std::vector<const For *> used;
    std::ranges::copy_if(around_, std::back_inserter(used),
                         [&](const For *loop) { return uses(digit.base, loop->var); });
    return used;
  }

  std::optional<Exchanged> exchanged_in(const Digit &high, const Digit &low) const {
    if (same(high.base, low.base) && high.div > low.div)
      return std::nullopt;
    std::vector<const For *> first = loops_of_digit(high), second = loops_of_digit(low);
    auto place = [&](const For *loop) { return std::ranges::find(around_, loop); };
    if (place(first.back()) < place(second.front()))
      return std::nullopt;
    return Exchanged{first.back(), second.front()};
  }

  /// In the base of one digit, which several loops may make: 32*o + p.
  std::optional<Exchanged> exchanged_in(const Expr &base) const {
    std::vector<Digit> digits;
    if (!base.as<Var>())
      digits = by_significance(base);
    std::erase_if(digits, [&](const Digit &digit) { return loops_of_digit(digit).empty(); });
    for (std::size_t n = 1; n < digits.size(); ++n)
      if (auto found = exchanged_in(digits[n - 1], digits[n]))
        return found;
    return std::nullopt;
  }

  std::vector<const For *> around_; ///< the loops of the reduction, outermost first
  Bounds bounds_;
  std::vector<Digit> digits_; ///< of all reduction axes, the most significant first
};

} // namespace

std::optional<OrderBreach> find_order_breach(const Program &program) {
  for (const Block *block : blocks_of(program.body)) {
    if (!block->reduces() || is_commutative(block->reducer))
      continue;
    TermOrder order(*block, loops_of(path_to(program.body, block->id)));
    auto found = order.exchanged();
    if (!found)
      continue;
    std::string axes;
    for (const IterVar &iter : block->iters)
      if (iter.is_summed())
        axes += (axes.empty() ? "" : ", ") + iter.var->name;
    return OrderBreach{block->id, std::string(name(block->reducer)), axes, found->outer->var,
                       found->inner->var};
  }
  return std::nullopt;
}

} // namespace nestsmith
