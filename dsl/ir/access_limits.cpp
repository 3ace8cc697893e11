#include "dsl/ir/access_limits.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/ir/size_bounds.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>

namespace nestsmith {

namespace {

/// Finds the limits of one block.
class LimitsOfBlock {
public:
  LimitsOfBlock(const Program &source, const Block &block, std::vector<AccessLimit> &found)
      : of_sizes_(!source.sizes.empty()), block_(block), bounds_(block), found_(found) {}

  void run() {
    visit(block_.body.value, nowhere_);
    if (block_.init)
      visit(block_.init->value, nowhere_);
  }

private:
  /// Conditions that hold where an expression is evaluated.
  using Facts = std::vector<Expr>;

  /// The facts and one more. Equal calls return the same object, so that `visit` meets a shared node once.
  const Facts &with(const Facts &facts, const Expr &condition, bool negated = false) {
    auto &more = facts_[{&facts, condition.get(), negated}];
    if (!more) {
      more = std::make_unique<Facts>(facts);
      more->push_back(negated ? logical_not(condition) : condition);
    }
    return *more;
  }

  void visit(const Expr &e, const Facts &facts) {
    if (!e.exists() || !seen_.insert({e.get(), &facts}).second)
      return;
    if (const auto *access = e.as<Load>()) {
      const Expr &mask = access->mask;
      const Facts &inside = mask.exists() ? with(facts, mask) : facts;
      visit(mask, facts);
      for (const Expr &index : access->indices)
        visit(index, inside);
      visit(access->fill, mask.exists() ? with(facts, mask, true) : facts);
      check(*access, inside);
    } else if (const auto *op = e.as<Binary>(); op && is_logical(op->op)) {
      visit(op->a, facts);
      visit(op->b, with(facts, op->a, op->op == BinaryOp::logical_or));
    } else {
      for_each_child(e, [&](const Expr &child) { visit(child, facts); });
    }
  }

  void check(const Load &access, const Facts &facts) {
    if (access.buffer == block_.body.buffer) // a sum or an update reads the element that it writes
      return;
    // As a tree, a shared expression may be larger than any time. Without sizes, no launcher needs its limits.
    auto is_large = [](const Expr &e) { return e.node().size > 256; };
    if (!of_sizes_ && (std::ranges::any_of(access.indices, is_large) || std::ranges::any_of(facts, is_large)))
      return;
    for (const MaskCase &mask : cases_of(facts))
      for (std::size_t d = 0; d < access.indices.size(); ++d)
        for (bool upper : {true, false})
          check_end(*access.buffer, d, access.indices[d], mask, upper, facts);
  }

  /// Whether the mask itself states that this is not negative, of any expression.
  static bool states_end(const MaskCase &mask, const Expr &distance) {
    return std::ranges::any_of(mask.slacks,
                               [&](const Expr &slack) { return as_int(simplify(slack - distance)) == 0; });
  }

  /// Requires that the index is less than the extent if `upper`, else that it is not negative.
  void check_end(const BufferNode &buffer, std::size_t dimension, const Expr &index, const MaskCase &mask,
                 bool upper, const Facts &facts) {
    if (of_sizes_ && states_end(mask, upper ? buffer.shape[dimension] - index - Expr(1) : index))
      return;
    const auto *choice = index.as<Select>();
    if (choice && of_sizes_) {
      check_end(buffer, dimension, choice->when_true, mask, upper, facts);
      return check_end(buffer, dimension, choice->when_false, mask, upper, facts);
    }
    if (index.node().data)
      return;
    const Expr &extent = buffer.shape[dimension];
    std::vector<Expr> ends = ends_of(index, mask, upper);
    auto holds = [&](const Expr &end) { return upper ? end <= extent : Expr(0) <= end; };
    for (const Expr &end : ends)
      if (upper ? at_most(end, extent) : at_most(0, end))
        return;
    if (std::ranges::any_of(mask.others, [&](const Expr &other) { return share_axis(other, index); }))
      return;
    std::string at = fmt::format("block {} reads {} at {} in dimension {}", block_.id->name, buffer.name,
                                 to_string(index), dimension);
    if (!of_sizes_)
      return check_points(at, index, as_int(extent).value(), facts);
    if (ends.empty())
      throw UserError(
          ExitCode::usage,
          fmt::format("{}, whose {} value is no expression of sizes that the launcher could compare with {}; "
                      "give the read the mask {}",
                      at, upper ? "greatest" : "least", upper ? to_string(extent) : "0",
                      to_string(upper ? index < extent : Expr(0) <= index)));
    if (std::ranges::any_of(ends, [&](const Expr &end) { return proves(logical_not(holds(end)), {}); }))
      throw UserError(
          ExitCode::usage,
          fmt::format("{}, whose {} value is {} by its axes and its mask, which is out of bounds for all "
                      "sizes, expected {}; give the read the mask {}, or change the shape",
                      at, upper ? "greatest" : "least",
                      to_string(upper ? simplify(ends.front() - Expr(1)) : ends.front()),
                      upper ? "less than " + to_string(extent) : std::string("at least 0"),
                      to_string(upper ? index < extent : Expr(0) <= index)));
    Expr end = ends.front(), condition = holds(end);
    for (const Expr &other : std::span(ends).subspan(1)) {
      end = upper ? min(end, other) : max(end, other);
      condition = condition || holds(other);
    }
    add({condition, upper ? end : Expr(0), upper ? extent : end,
         fmt::format("the {} of {} in dimension {}", upper ? "extent" : "least index", buffer.name,
                     dimension)});
  }

  /// Of a computation of constant shape: evaluates the index at points of the axes, because its greatest value
  /// may be less than the bound that the rules prove. If there are too many points, takes the ends of the axes
  /// and the values next to them.
  void check_points(const std::string &at, const Expr &index, std::int64_t extent, const Facts &facts) const {
    constexpr std::int64_t most_points = 4096;
    std::vector<std::pair<const IterVar *, std::vector<std::int64_t>>> axes;
    std::int64_t points = 1;
    for (const IterVar &iter : block_.iters)
      if (uses(index, iter.var) ||
          std::ranges::any_of(facts, [&](const Expr &e) { return uses(e, iter.var); })) {
        points = std::min(most_points + 1, points * std::min(most_points + 1, as_int(iter.extent).value()));
        axes.push_back({&iter, {}});
      }
    for (auto &[iter, values] : axes)
      for (std::int64_t end = *as_int(iter->extent), n = 0; n < end; ++n)
        if (points <= most_points || n < 2 || n >= end - 2)
          values.push_back(n);
        else
          n = end - 3;
    std::map<Var, Expr> point;
    std::int64_t left = most_points;
    check_points(at, index, extent, facts, axes, point, left);
  }
  void check_points(const std::string &at, const Expr &index, std::int64_t extent, const Facts &facts,
                    std::span<const std::pair<const IterVar *, std::vector<std::int64_t>>> axes,
                    std::map<Var, Expr> &point, std::int64_t &left) const {
    if (left <= 0)
      return;
    if (!axes.empty()) {
      for (std::int64_t value : axes.front().second) {
        point[axes.front().first->var] = Expr(value);
        check_points(at, index, extent, facts, axes.subspan(1), point, left);
      }
      return;
    }
    auto value = as_int(simplify(substitute(index, point)));
    --left;
    if (!value || (*value >= 0 && *value < extent) ||
        !std::ranges::all_of(facts, [&](const Expr &fact) { return proves(substitute(fact, point), {}); }))
      return;
    std::string where;
    for (const auto &[var, each] : point)
      where += fmt::format("{}{} = {}", where.empty() ? " where " : ", ", var->name, to_string(each));
    throw UserError(
        ExitCode::usage,
        fmt::format("{}, which is {}{}, expected at least 0 and less than {}; give the read a mask, or "
                    "change the shape",
                    at, *value, where, extent));
  }

  bool share_axis(const Expr &a, const Expr &b) const {
    return std::ranges::any_of(block_.iters,
                               [&](const IterVar &iter) { return uses(a, iter.var) && uses(b, iter.var); });
  }

  /// Ends of the values of the index where the mask holds: the index is less than each of them if `upper`, else
  /// at least each of them. No end implies another one.
  std::vector<Expr> ends_of(const Expr &index, const MaskCase &mask, bool upper) const {
    SizeBounds narrowed = bounds_;
    narrowed.narrow(mask);
    std::vector<Expr> ends;
    auto note = [&](const Expr &e) {
      Expr sum = simplify(upper ? e + Expr(1) : e, bounds_.axes());
      for (const auto *bounds : {&bounds_, static_cast<const SizeBounds *>(&narrowed)})
        if (Expr end = bounds->bound(sum, upper); end.exists() && range_of(end, {}))
          for (const Expr &each : operands_of(end, upper ? BinaryOp::min : BinaryOp::max))
            add_end(ends, each, upper);
    };
    note(index);
    for (const Expr &slack : mask.slacks)
      for (std::int64_t k : factors(index, slack, upper)) // a multiple of a slack is not negative
        note(upper ? index + slack * Expr(k) : index - slack * Expr(k));
    return ends;
  }

  static void add_end(std::vector<Expr> &ends, const Expr &end, bool upper) {
    auto implies = [&](const Expr &a, const Expr &b) { return upper ? at_most(a, b) : at_most(b, a); };
    if (std::ranges::any_of(ends, [&](const Expr &known) { return implies(known, end); }))
      return;
    std::erase_if(ends, [&](const Expr &known) { return implies(end, known); });
    ends.push_back(end);
  }

  /// The operands of nested minima or maxima, to which a constant may be added.
  static std::vector<Expr> operands_of(const Expr &e, BinaryOp of) {
    const auto *op = e.as<Binary>();
    bool sum = op && (op->op == BinaryOp::add || op->op == BinaryOp::sub) && as_int(op->b);
    if (!sum && !(op && op->op == of))
      return {e};
    std::vector<Expr> result;
    for (const Expr &each : operands_of(op->a, of))
      result.push_back(sum ? simplify(binary(op->op, each, op->b)) : each);
    if (!sum)
      for (const Expr &each : operands_of(op->b, of))
        result.push_back(each);
    return result;
  }

  /// The factors of the slack with which it cancels a term of the index.
  std::set<std::int64_t> factors(const Expr &index, const Expr &slack, bool upper) const {
    std::set<std::int64_t> result;
    Linear a = linearize(index, bounds_.axes()), b = linearize(slack, bounds_.axes());
    for (const Term &x : a.terms)
      for (const Term &y : b.terms)
        if (same(x.digit.base, y.digit.base) && x.digit.div == y.digit.div && x.digit.mod == y.digit.mod &&
            x.coefficient % y.coefficient == 0)
          if (std::int64_t k = x.coefficient / y.coefficient * (upper ? -1 : 1); k > 0)
            result.insert(k);
    return result;
  }

  void add(AccessLimit limit) {
    bool known =
        std::ranges::any_of(found_, [&](const AccessLimit &other) { return same(other.holds, limit.holds); });
    if (!known)
      found_.push_back(std::move(limit));
  }

  const bool of_sizes_; ///< whether the computation has sizes
  const Block &block_;
  SizeBounds bounds_;
  std::vector<AccessLimit> &found_;
  const Facts nowhere_;
  std::map<std::tuple<const Facts *, const ExprNode *, bool>, std::unique_ptr<Facts>> facts_;
  std::set<std::pair<const ExprNode *, const Facts *>> seen_;
};

} // namespace

std::vector<AccessLimit> access_limits(const Program &source) {
  std::vector<AccessLimit> found;
  for (const Block *block : blocks_of(source.body))
    LimitsOfBlock(source, *block, found).run();
  return found;
}

} // namespace nestsmith
