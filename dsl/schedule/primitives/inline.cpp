#include "dsl/schedule/primitives/inline.h"

#include <algorithm>

namespace nestsmith {

bool is_plain(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices) {
  if (indices.size() != block.iters.size())
    return false;
  return std::all_of(block.iters.begin(), block.iters.end(), [&](const IterVar &iter) {
    std::size_t found = indices.size(), times = 0;
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (const Var *var = indices[d].as<Var>(); var && *var == iter.var) {
        found = d;
        ++times;
      }
    return times == 1 && iter.kind == IterKind::spatial && same(iter.extent, buffer->shape[found]);
  });
}

namespace {

/// Takes the element apart into the digits of the axes, and puts the axes together again.
class Inverter {
public:
  explicit Inverter(const Block &block) : block_(block) {
    for (const IterVar &iter : block.iters)
      bounds_.set_extent(iter.var, iter.extent);
  }

  /// Whether `index` is a constant plus a mixed-radix number in bounds; its digits follow from `element`.
  bool take_apart(const Expr &index, const Expr &shape, const Expr &element) {
    Linear number = linearize(index, bounds_);
    auto &terms = number.terms;
    if (!proves(Expr(0) <= index, bounds_) || !proves(index < shape, bounds_) ||
        std::ranges::any_of(terms, [](const Term &x) { return x.coefficient < 1 || !x.digit.base.as<Var>(); }))
      return false;
    std::ranges::sort(terms, std::greater(), &Term::coefficient);
    Expr rest = element - Expr(number.constant);
    for (std::size_t n = 0; n < terms.size(); ++n) {
      const auto &[coefficient, digit] = terms[n];
      std::optional<Range> below = Range{0, 0};
      if (n + 1 < terms.size())
        below = range_of(Linear{{terms.begin() + static_cast<std::ptrdiff_t>(n) + 1, terms.end()}, 0}, bounds_);
      auto values = range_of(digit, bounds_);
      if (!below || below->low != 0 || below->high >= coefficient || !values || values->low != 0)
        return false;
      Expr value = floordiv(rest, Expr(coefficient));
      rest = floormod(rest, Expr(coefficient));
      if (!digit.is_base())
        result_.conditions.push_back({value, Expr(values->high + 1)});
      digits_[*digit.base.as<Var>()].push_back({digit, value});
    }
    result_.conditions.push_back({rest, Expr(1)});
    return true;
  }

  /// None if an axis does not follow from its digits.
  std::optional<Inverse> put_together() {
    for (const IterVar &iter : block_.iters) {
      auto &digits = digits_[iter.var];
      std::ranges::sort(digits, {}, [](const Part &part) { return part.digit.div; });
      std::int64_t reached = 1; // 0: all values
      Expr value = 0;
      for (const auto &[digit, of_element] : digits) {
        if (digit.div != reached)
          return std::nullopt;
        reached = digit.div * digit.mod;
        value = value + of_element * Expr(digit.div);
      }
      if (iter.is_summed() || !(reached == 0 || proves(iter.extent <= Expr(reached), bounds_)))
        return std::nullopt;
      result_.axes[iter.var] = value;
    }
    return std::move(result_);
  }

private:
  struct Part {
    Digit digit;
    Expr of_element;
  };
  const Block &block_;
  Bounds bounds_;
  std::map<Var, std::vector<Part>> digits_;
  Inverse result_;
};

} // namespace

std::optional<Inverse> invert(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices,
                              const std::vector<Expr> &element) {
  Inverter inverter(block);
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (!inverter.take_apart(indices[d], buffer->shape[d], element[d]))
      return std::nullopt;
  return inverter.put_together();
}

Expr replace_loads(const Expr &e, const Buffer &buffer, const std::function<Expr(const Load &)> &f) {
  std::vector<std::pair<Expr, Expr>> replaced; // equal loads become one value
  return rebuild(e, [&](const Expr &node) {
    const auto *access = node.as<Load>();
    if (!access || access->buffer != buffer)
      return node;
    for (const auto &[known, value] : replaced)
      if (same(known, node))
        return value;
    return replaced.emplace_back(node, f(*access)).second;
  });
}

/// Puts the loads of `e` under a mask. Their values do not matter where the mask is false.
static Expr protect(const Expr &e, const Expr &mask) {
  return rebuild(e, [&](const Expr &node) {
    const auto *access = node.as<Load>();
    if (!access)
      return node;
    return load(access->buffer, access->indices, access->mask.exists() ? mask && access->mask : mask,
                access->fill.exists() ? access->fill : constant(access->buffer->dtype, 0));
  });
}

Expr masked(const Expr &e, const Expr &mask, const Expr &fill) {
  if (!mask.exists())
    return e;
  if (const auto *access = e.as<Load>(); access && !access->mask.exists())
    return load(access->buffer, access->indices, mask, fill);
  return select(mask, protect(e, mask), fill);
}

const Block *writer_after(const Stmt &root, const Buffer &buffer, const BlockId &after) {
  bool passed = false;
  for (const Block *block : blocks_of(root)) {
    if (passed && block->body.buffer == buffer)
      return block;
    passed = passed || block->id == after;
  }
  return nullptr;
}

} // namespace nestsmith
