#include "dsl/schedule/primitives/readers_of_box.h"

#include <algorithm>
#include <map>

namespace nestsmith {

namespace {

/// Finds a box of the consumer's axes that contains all instances that read one of a box of elements.
class AxesOfBox {
public:
  explicit AxesOfBox(const Block &consumer) : consumer_(consumer) {
    for (const IterVar &iter : consumer.iters)
      bounds_.set_extent(iter.var, iter.extent);
  }

  /// Adds one dimension. `bounds` are those of the loops. Returns whether the index is a constant plus a
  /// mixed-radix number of axes or of their digits whose values in the span are a box. The number may have a
  /// stride, and gaps between its digits: the elements in the gaps are not read.
  bool add(const Expr &index, const Expr &shape, Span span, const Bounds &bounds) {
    Linear number = linearize(index, bounds_);
    auto &terms = number.terms;
    bool whole = proves(span.min <= Expr(0), bounds) && proves(shape <= span.min + span.extent, bounds);
    if (terms.empty())
      return whole || take_one(span, number.constant, bounds);
    std::ranges::sort(terms, {}, &Term::coefficient);
    if (!take_multiples(span, number.constant, terms.front().coefficient, bounds))
      return false;
    for (std::size_t n = 0; n < terms.size(); ++n) {
      const auto &[coefficient, digit] = terms[n];
      const Var *var = digit.base.as<Var>();
      auto values = range_of(digit, bounds_);
      if (!var || !values)
        return false;
      auto own = std::optional(span);
      if (n + 1 < terms.size()) {
        std::int64_t radix = terms[n + 1].coefficient / coefficient;
        if (terms[n + 1].coefficient % coefficient != 0 || radix <= values->high)
          return false;
        own = lowest(span, radix, bounds);
      }
      if (!own)
        return false;
      digits_[*var].push_back({digit, *own, values->high + 1});
    }
    return true;
  }

  /// None if an axis does not follow from its digits, or if the box does not contain all of a sum.
  std::optional<Region> box() {
    Region region;
    bool parts = takes_parts(consumer_);
    for (const IterVar &iter : consumer_.iters) {
      auto span = span_of(iter);
      bool whole =
          span && as_int(span->min) == 0 && proves(iter.extent <= span->extent, bounds_) && span->runs.empty();
      if (!span || (iter.is_summed() && !whole && !parts))
        return std::nullopt;
      if (!iter.is_summed() || parts)
        region.push_back(*span);
    }
    return region;
  }

  std::vector<Expr> zeros; ///< the box is empty unless these expressions of loops are 0

private:
  struct Part {
    Digit digit;
    Span span;
    std::int64_t values; ///< of the digit
  };

  static bool is_multiple(const Expr &e, std::int64_t of, const Bounds &bounds) {
    return as_int(simplify(floormod(e, Expr(of)), bounds)) == 0;
  }

  /// The span contains the index in only one of the tiles of its extent.
  bool take_one(const Span &span, std::int64_t index, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    if (!extent || !span.runs.empty() || !is_multiple(span.min, *extent, bounds))
      return false;
    zeros.push_back(simplify(floordiv(span.min, Expr(*extent)) - Expr(floor_div(index, *extent)), bounds));
    return true;
  }

  /// Replaces a span by the span of the numbers n for which it contains constant + stride * n. A span that is
  /// shorter than the stride contains one of them or none.
  bool take_multiples(Span &span, std::int64_t constant, std::int64_t stride, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    if (stride < 1 || (stride > 1 && !(extent && span.runs.empty())))
      return false;
    Expr begin = simplify(span.min - Expr(constant), bounds);
    if (stride == 1 || *extent % stride == 0) {
      span.min = simplify(floordiv(begin + Expr(stride - 1), Expr(stride)), bounds);
      span.extent = stride == 1 ? span.extent : Expr(*extent / stride);
      return true;
    }
    if (constant % stride != 0 || stride % *extent != 0 || !is_multiple(begin, *extent, bounds))
      return false;
    zeros.push_back(simplify(floordiv(floormod(begin, Expr(stride)), Expr(*extent)), bounds));
    span = {simplify(floordiv(begin, Expr(stride)), bounds), Expr(1)};
    return true;
  }

  /// Takes the lowest digit from a span: either all its values in whole rows, or a part of one row.
  static std::optional<Span> lowest(Span &span, std::int64_t radix, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    if (!extent || !span.runs.empty())
      return std::nullopt;
    bool rows = *extent % radix == 0 && is_multiple(span.min, radix, bounds);
    if (!rows && !(radix % *extent == 0 && is_multiple(span.min, *extent, bounds)))
      return std::nullopt;
    Span low = rows ? Span{Expr(0), Expr(radix)}
                    : Span{simplify(floormod(span.min, Expr(radix)), bounds), span.extent};
    span = {simplify(floordiv(span.min, Expr(radix)), bounds), Expr(rows ? *extent / radix : 1)};
    return low;
  }

  /// Whether different values of the axis are different elements of the result. An axis for a guard only is not
  /// an index: its values are not independent of the other axes.
  bool is_index(const IterVar &iter) const { return indexes_result(consumer_, iter); }

  std::optional<Span> span_of(const IterVar &iter) {
    auto &parts = digits_[iter.var];
    if (parts.empty() && (is_index(iter) || iter.is_summed() || as_int(iter.extent) == 1))
      return Span{Expr(0), iter.extent};
    if (parts.size() == 1 && parts[0].digit.is_base())
      return parts[0].span;
    std::ranges::sort(parts, {}, [](const Part &part) { return part.digit.div; });
    Span result{Expr(0), Expr(1)};
    std::int64_t reached = 1, last = 0;
    for (const auto &[digit, span, values] : parts) {
      auto extent = as_int(span.extent);
      if (digit.div != reached || !extent || !span.runs.empty())
        return std::nullopt;
      reached *= values;
      result.min = result.min + span.min * Expr(digit.div);
      last += digit.div * (*extent - 1);
      auto &runs = result.runs; // the smallest step first
      if (!runs.empty() && runs.back().step * runs.back().count == digit.div)
        runs.back().count *= *extent;
      else if (*extent > 1)
        runs.push_back({digit.div, *extent});
    }
    if (!proves(iter.extent <= Expr(reached), bounds_))
      return std::nullopt;
    result.extent = Expr(last + 1);
    std::ranges::reverse(result.runs);
    if (result.runs.empty() || (result.runs.size() == 1 && result.runs.front().step == 1))
      result.runs.clear();
    return result;
  }

  const Block &consumer_;
  Bounds bounds_;
  std::map<Var, std::vector<Part>> digits_;
};

} // namespace

bool takes_parts(const Block &block) {
  return block.atomic && std::ranges::none_of(block.iters, [](const IterVar &x) { return x.first.exists(); });
}

std::optional<Instances> readers_of_box(const Block &consumer, const Buffer &link, const Region &made,
                                        const Bounds &bounds) {
  const Load *first = nullptr;
  AxesOfBox axes(consumer);
  for (const Load *access : loads_of(consumer)) {
    if (access->buffer != link)
      continue;
    if (first && !std::ranges::equal(first->indices, access->indices, same))
      return std::nullopt;
    for (std::size_t d = 0; d < made.size() && !first; ++d)
      if (!axes.add(access->indices[d], link->shape[d], made[d], bounds))
        return std::nullopt;
    first = access;
  }
  auto box = axes.box();
  bool sums = consumer.reduces();
  if (!box || (sums && !axes.zeros.empty())) // a sum has no guards of its own
    return std::nullopt;
  return Instances{*box, axes.zeros};
}

} // namespace nestsmith
