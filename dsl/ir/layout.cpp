#include "dsl/ir/layout.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_limits.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/identifier.h"
#include "dsl/expr/shared_results.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace nestsmith {

namespace {

constexpr std::size_t longest_map = 400; ///< characters; this also limits the nesting of brackets
constexpr std::int64_t too_many_elements = std::int64_t{1} << 60;

[[noreturn]] void no_map(const std::string &text, const std::string &what) {
  throw UserError(ExitCode::illegal_schedule,
                  fmt::format("'{}' is not an index map: {}; write it as \"i, k -> k, i\", with + - * // % on "
                              "indices and whole numbers",
                              text, what));
}

/// Parses "i, k -> i//4, k, i%4" by recursive descent.
class Parser {
public:
  explicit Parser(const std::string &text) : text_(text) {}

  std::vector<Var> logical() {
    std::vector<Var> vars;
    do {
      Var var = make_var(name());
      if (!vars_.emplace(var->name, var).second)
        fail(fmt::format("the index {} appears twice before ->", var->name));
      vars.push_back(var);
    } while (take(","));
    if (!take("->"))
      fail("expected -> after the logical indices");
    return vars;
  }
  std::vector<Expr> physical() {
    std::vector<Expr> exprs;
    do
      exprs.push_back(sum());
    while (take(","));
    if (at_ != text_.size())
      fail("expected the end");
    return exprs;
  }

private:
  [[noreturn]] void fail(const std::string &what) {
    no_map(text_, fmt::format("{} at character {}", what, at_ + 1));
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0)
      return false;
    at_ += token.size();
    skip();
    return true;
  }
  std::string name() {
    skip();
    std::size_t begin = at_;
    while (at_ < text_.size() && in_identifier(text_[at_]))
      ++at_;
    if (begin == at_ || std::isdigit(static_cast<unsigned char>(text_[begin]))) {
      at_ = begin;
      fail("expected an index");
    }
    return text_.substr(begin, at_ - begin);
  }

  Expr sum() {
    Expr result = product();
    while (true) {
      skip();
      bool arrow = text_.compare(at_, 2, "->") == 0;
      if (take("+"))
        result = result + product();
      else if (!arrow && take("-"))
        result = result - product();
      else
        return result;
    }
  }
  Expr product() {
    Expr result = operand();
    while (true)
      if (take("*"))
        result = result * operand();
      else if (take("//"))
        result = floordiv(result, operand());
      else if (take("%"))
        result = floormod(result, operand());
      else
        return result;
  }
  Expr operand() {
    if (take("(")) {
      Expr inside = sum();
      if (!take(")"))
        fail("expected )");
      return inside;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      return number();
    std::string word = name();
    auto it = vars_.find(word);
    if (it == vars_.end())
      fail(fmt::format("{} is not a logical index,", word));
    return it->second;
  }
  Expr number() {
    std::int64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > std::numeric_limits<std::int32_t>::max())
        fail("a number does not fit in 32 bits,");
    }
    return value;
  }

  const std::string &text_;
  std::size_t at_ = 0;
  std::map<std::string, Var> vars_;
};

/// Upper bound on the coefficients and divisors in canonical forms of `e`, for indices below 2^31.
double magnitude(const Expr &e, SharedResults<double> &known) {
  if (auto value = as_int(e))
    return std::abs(static_cast<double>(*value));
  const auto *op = e.as<Binary>();
  if (!op)
    return 0x1p31;
  return known(e, [&] {
    double a = magnitude(op->a, known), b = magnitude(op->b, known);
    return op->op == BinaryOp::add || op->op == BinaryOp::sub ? a + b : a * std::max(b, 1.0);
  });
}

/// "(0, 4)"
std::string tuple_text(const std::vector<std::int64_t> &values) {
  return fmt::format("({})", fmt::join(values, ", "));
}

/// Searches up to 16384 points of the box for two points that the map sends to the same place. Sets `whole` to
/// true if the box has no other points.
std::optional<std::string> find_collision(const IndexMap &map, std::vector<std::int64_t> box, bool &whole) {
  std::int64_t points = 1;
  whole = true;
  for (std::int64_t &extent : box) {
    std::int64_t kept = std::min(extent, std::max<std::int64_t>(16384 / points, 1));
    whole = whole && kept == extent;
    extent = kept;
    points *= kept;
  }
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> seen;
  std::map<Var, Scalar> environment;
  for (std::int64_t n = 0; n < points; ++n) {
    std::vector<std::int64_t> index(box.size()), place;
    std::int64_t rest = n;
    for (std::size_t d = box.size(); d-- > 0; rest /= box[d]) {
      index[d] = rest % box[d];
      environment[map.logical()[d]] = Scalar::of(DType::i64, index[d]);
    }
    for (const Expr &e : map.physical())
      place.push_back(evaluate(e, environment).as<std::int64_t>());
    auto [other, first] = seen.emplace(place, index);
    if (!first)
      return fmt::format("{} and {} both map to {}", tuple_text(other->second), tuple_text(index),
                         tuple_text(place));
  }
  return std::nullopt;
}

bool is_transposition(const IndexMap &map) {
  return map.physical().size() == 2 && map.logical().size() == 2 && map.physical()[0].as<Var>() &&
         map.physical()[1].as<Var>() && *map.physical()[0].as<Var>() == map.logical()[1] &&
         *map.physical()[1].as<Var>() == map.logical()[0];
}

std::string physical_text(const IndexMap &map) {
  std::string text;
  for (const Expr &e : map.physical())
    text += (text.empty() ? "" : ", ") + to_string(e);
  return text;
}

} // namespace

IndexMap::IndexMap(const std::string &text) {
  if (text.size() > longest_map)
    no_map(text.substr(0, 20) + "…", fmt::format("it has more than {} characters", longest_map));
  Parser parser(text);
  logical_ = parser.logical();
  physical_ = parser.physical();
  check();
}

void IndexMap::set(std::size_t rank, const std::function<std::vector<Expr>(const std::vector<Expr> &)> &f) {
  static constexpr const char *names[] = {"i", "j", "k", "l"};
  std::vector<Expr> indices;
  for (std::size_t n = 0; n < rank; ++n) {
    logical_.push_back(make_var(names[n]));
    indices.emplace_back(logical_.back());
  }
  physical_ = f(indices);
  check();
}

/// Checks that the indices are sums of digits of the logical indices, and are so small that index arithmetic
/// cannot overflow.
void IndexMap::check() const {
  auto fail = [&](const std::string &what) { no_map(to_string(*this), what); };
  if (physical_.empty())
    fail("it gives no index");
  for (const Expr &index : physical_) {
    if (!index.exists())
      fail("an index is a null expression");
    if (auto reason = too_large(index))
      no_map(fmt::format("of {} indices", logical_.size()), "an index " + *reason);
    walk(index, [&](const Expr &e) {
      if (as_int(e) && e.dtype() == DType::i64)
        return;
      if (const Var *var = e.as<Var>()) {
        if (std::find(logical_.begin(), logical_.end(), *var) == logical_.end())
          fail(fmt::format("{} is not a logical index", (*var)->name));
        return;
      }
      const auto *op = e.as<Binary>();
      bool sums = op && (op->op == BinaryOp::add || op->op == BinaryOp::sub);
      bool scales = op && op->op == BinaryOp::mul && (as_int(op->a) || as_int(op->b));
      bool divides =
          op && (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod) && as_int(op->b).value_or(0) > 0;
      if (!sums && !scales && !divides)
        fail(fmt::format("{} is not a sum, a product with a constant or a division by a positive constant",
                         nestsmith::to_string(e)));
    });
    if (SharedResults<double> known; magnitude(index, known) > 0x1p62)
      fail("its numbers are too large for index arithmetic");
  }
}

std::vector<Expr> IndexMap::operator()(const std::vector<Expr> &indices) const {
  internal_check(indices.size() == logical_.size(), "an index map takes as many indices as its buffer has");
  std::vector<Expr> result;
  for (const Expr &e : physical_)
    result.push_back(substitute(e, [&](const Var &var) {
      return indices[static_cast<std::size_t>(std::find(logical_.begin(), logical_.end(), var) -
                                              logical_.begin())];
    }));
  return result;
}

std::string to_string(const IndexMap &map) {
  std::string text;
  for (const Var &var : map.logical())
    text += (text.empty() ? "" : ", ") + var->name;
  return text + " -> " + physical_text(map);
}

IndexMap compose(const IndexMap &first, const IndexMap &second) {
  IndexMap both = first;
  both.physical_ = second(first.physical_);
  for (Expr &e : both.physical_)
    e = simplify(e);
  both.check();
  return both;
}

std::optional<std::string> not_invertible(const IndexMap &map, const std::vector<std::int64_t> &extents) {
  Bounds bounds;
  for (std::size_t d = 0; d < extents.size(); ++d)
    bounds.set(map.logical()[d], {0, extents[d] - 1});
  auto none_fixed = [](const Var &) { return false; };
  if (determine(map.physical(), map.logical(), none_fixed, bounds))
    return std::nullopt;
  bool whole = false;
  if (auto collision = find_collision(map, extents, whole))
    return collision;
  if (whole)
    return std::nullopt;
  return "it cannot be proven that all elements map to distinct places";
}

std::string to_string(const Layout &layout) {
  std::string text;
  auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  if (layout.map)
    add("stored " + to_string(*layout.map));
  for (const StrideAlignment &stride : layout.strides)
    add(fmt::format("stride {} padded to {} mod {}", stride.dim, stride.offset, stride.factor));
  if (layout.swizzle)
    add(fmt::format("swizzled {}, {}, {}", layout.swizzle->bits, layout.swizzle->base, layout.swizzle->shift));
  return text;
}

std::string describe(const std::shared_ptr<const Layout> &layout) {
  if (!layout)
    return "";
  std::string text;
  auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  if (layout->map)
    add(is_transposition(*layout->map) ? "transposed" : "stored as " + physical_text(*layout->map));
  if (!layout->strides.empty())
    add("rows padded");
  if (layout->swizzle)
    add("swizzled");
  return text;
}

bool is_fragment(const BufferNode &buffer) {
  return buffer.scope == Scope::warp && buffer.layout && buffer.layout->map;
}

PlacedLayout::PlacedLayout(const BufferNode &buffer, const std::vector<std::int64_t> &box)
    : layout_(buffer.layout ? *buffer.layout : Layout{}), fragment_(is_fragment(buffer)), lows_(box.size(), 0),
      extents_(box) {
  if (layout_.map) {
    Bounds bounds;
    std::vector<Expr> logical;
    for (std::size_t d = 0; d < box.size(); ++d) {
      logical.emplace_back(layout_.map->logical()[d]);
      bounds.set(layout_.map->logical()[d], {0, box[d] - 1});
    }
    lows_.clear();
    extents_.clear();
    for (const Expr &e : physical(logical)) {
      Range range = range_of(e, bounds).value_or(Range{0, too_many_elements});
      lows_.push_back(range.low);
      extents_.push_back(range.high - range.low + 1);
    }
  }
  strides_.assign(extents_.size(), 1);
  for (std::size_t d = extents_.size(); d-- > 0; elements_ = std::min(elements_, too_many_elements)) {
    for (const StrideAlignment &stride : layout_.strides)
      if (stride.dim == d)
        elements_ += floor_mod(stride.offset - elements_, stride.factor);
    strides_[d] = elements_;
    if (__builtin_mul_overflow(elements_, extents_[d], &elements_))
      elements_ = too_many_elements;
  }
  if (layout_.swizzle) { // an XOR never leaves a unit of this size, so round up to whole units
    std::int64_t unit = std::int64_t{1} << (layout_.swizzle->base + layout_.swizzle->bits);
    elements_ = (elements_ + unit - 1) / unit * unit;
  }
}

std::vector<std::int64_t> PlacedLayout::extents() const {
  if (extents_.empty() || strides_[0] * extents_[0] != elements_)
    return {elements_};
  std::vector<std::int64_t> result{extents_[0]};
  for (std::size_t d = 1; d < extents_.size(); ++d) {
    if (strides_[d - 1] % strides_[d] != 0)
      return {elements_};
    result.push_back(strides_[d - 1] / strides_[d]);
  }
  return result;
}

/// The indices of the place in memory, or of the register.
std::vector<Expr> PlacedLayout::physical(const std::vector<Expr> &indices) const {
  if (!layout_.map)
    return indices;
  std::vector<Expr> logical = indices;
  if (fragment_ && layout_.map->logical().size() > indices.size()) // all replicas are in the same register
    logical.emplace_back(0);
  std::vector<Expr> result = (*layout_.map)(logical);
  if (fragment_)
    result.erase(result.begin());
  return result;
}

/// A swizzle XORs the n bits from bit b on with the n bits from bit b + s on. The digits above and below stay
/// as they are:
/// [rule.swizzle] ((x >> (b + n)) << (b + n)) + ((x >> b & (1 << n) - 1 ^ x >> (b + s) & (1 << n) - 1) << b) +
///     (x & (1 << b) - 1) = x ^ (x >> s & ((1 << n) - 1 << b))
///     where 0 <= x, 0 <= b, b < 8, 0 < n, n < 8, n <= s, s < 16
/// [rule.swizzle.digits] (x >> f << f) + (x & (1 << f) - 1) = x, 0 <= x & (1 << f) - 1,
///     x & (1 << f) - 1 < 1 << f where 0 <= f, f < 32
Expr PlacedLayout::offset(const std::vector<Expr> &indices, const Bounds &bounds) const {
  std::vector<Expr> at = physical(indices);
  Expr flat = 0;
  for (std::size_t d = 0; d < at.size(); ++d)
    flat = flat + (at[d] - Expr(lows_[d])) * Expr(strides_[d]);
  flat = simplify(flat, bounds);
  if (!layout_.swizzle)
    return flat;
  auto [bits, base, shift] = *layout_.swizzle;
  auto power = [](std::int64_t n) { return Expr(std::int64_t{1} << n); };
  auto digit = [&](std::int64_t from) {
    return simplify(floormod(floordiv(flat, power(from)), power(bits)), bounds);
  };
  Expr high = floordiv(flat, power(base + bits)) * power(base + bits);
  Expr middle = bit_xor(digit(base), digit(base + shift));
  return simplify(high + middle * power(base) + floormod(flat, power(base)), bounds);
}

} // namespace nestsmith
