#include "dsl/expr/index_rewriter.h"

#include "dsl/expr/numbers.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace nestsmith {

namespace {

constexpr std::int64_t least_i64 = std::numeric_limits<std::int64_t>::min(),
                       most_i64 = std::numeric_limits<std::int64_t>::max();

/// The values of the type as far as an i64 represents them. For u64, `unknown` is set if it does not.
struct BitValues {
  Range range{least_i64, most_i64};
  bool unknown = false; ///< the value may be 2^63 or more
};

/// A known range that is not in that of the type is of a sum that may wrap around.
BitValues bit_values_of(DType type, std::optional<Range> known) {
  if (type == DType::u64) // constants from 2^63 on are negative as i64
    return known && known->low >= 0 ? BitValues{*known} : BitValues{{0, most_i64}, true};
  Range all = with_number(type, []<class T>() -> Range {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
      return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    return {least_i64, most_i64};
  });
  return {known && all.low <= known->low && known->high <= all.high ? *known : all};
}

/// The bits in which numbers of the range differ from their sign: 0 … 2^n - 1.
std::int64_t digits_of(Range r) {
  return fill_bits(std::max(r.low < 0 ? ~r.low : 0, r.high < 0 ? ~r.high : r.high));
}

std::optional<Range> unless_all(Range r) {
  return r.low == least_i64 && r.high == most_i64 ? std::nullopt : std::optional(r);
}

std::optional<Range> of_shift_left(Range x, Range amount, std::int64_t width) {
  std::int64_t from = std::max<std::int64_t>(amount.low, 0), to = std::min(amount.high, width - 1);
  bool goes_out = amount.low < 0 || amount.high >= width;
  if (from > to)
    return Range{0, 0};
  Range result = goes_out ? Range{0, 0} : Range{most_i64, least_i64};
  for (std::int64_t by : {from, to})
    for (std::int64_t end : {x.low, x.high}) {
      std::int64_t value = 0;
      if (by == 63 ? end != 0 : __builtin_mul_overflow(end, std::int64_t{1} << by, &value))
        return std::nullopt;
      result = {std::min(result.low, value), std::max(result.high, value)};
    }
  return result;
}

Range of_shift_right(Range x, Range amount) {
  std::int64_t from = amount.low < 0 ? 0 : std::min<std::int64_t>(amount.low, 63);
  std::int64_t to = amount.low < 0 ? 63 : std::min<std::int64_t>(amount.high, 63);
  return {std::min(x.low >> from, x.low >> to), std::max(x.high >> from, x.high >> to)};
}

} // namespace

/// [rule.range.and] 0 <= x & y, x & y <= y where 0 <= y
/// [rule.range.and.signs] 0 - h - 1 <= x & y, x & y <= max(x, y)
///     where h & (h + 1) = 0, 0 - h - 1 <= x, x <= h, 0 - h - 1 <= y, y <= h, 0 <= h
/// [rule.range.or] x <= x | y, x | y <= h where h & (h + 1) = 0, 0 <= x, x <= h, 0 <= y, y <= h
/// [rule.range.or.signs] min(x, y) <= x | y, x | y <= h where h & (h + 1) = 0, 0 <= h, x <= h, y <= h
/// [rule.range.or.negative] x | y < 0 where x < 0
/// [rule.range.xor] 0 <= x ^ y, x ^ y <= h where h & (h + 1) = 0, 0 <= x, x <= h, 0 <= y, y <= h
/// [rule.range.xor.signs] 0 - h - 1 <= x ^ y, x ^ y <= h
///     where h & (h + 1) = 0, 0 - h - 1 <= x, x <= h, 0 - h - 1 <= y, y <= h, 0 <= h
/// [rule.range.not] 0 - h - 1 <= x ^ -1, x ^ -1 <= 0 - l - 1 where l <= x, x <= h
/// [rule.range.shift] l >> s <= x >> s, x >> s <= h >> s where l <= x, x <= h, 0 <= s, s < 64
/// [rule.range.shift.amount] x >> t <= x >> s where 0 <= x, 0 <= s, s <= t, t < 64
/// [rule.range.shift.negative] x >> s <= x >> t where x < 0, 0 <= s, s <= t, t < 64
std::optional<Range> range_of_bits(BinaryOp op, DType type, std::optional<Range> x, std::optional<Range> y) {
  BitValues a = bit_values_of(type, x), b = bit_values_of(type, y);
  Range p = a.range, q = b.range;
  std::int64_t digits = std::max(digits_of(p), digits_of(q));
  switch (op) {
  case BinaryOp::bit_and:
    if (a.unknown || b.unknown)
      return a.unknown && b.unknown ? std::nullopt : std::optional(Range{0, a.unknown ? q.high : p.high});
    if (p.low >= 0 || q.low >= 0)
      return Range{0, p.low < 0 ? q.high : q.low < 0 ? p.high : std::min(p.high, q.high)};
    return unless_all({-digits - 1, std::max(p.high, q.high)});
  case BinaryOp::bit_or:
    if (a.unknown || b.unknown)
      return std::nullopt;
    if (p.low >= 0 && q.low >= 0)
      return Range{std::max(p.low, q.low), digits};
    if (p.high < 0 || q.high < 0)
      return unless_all({std::min(p.low, q.low), -1});
    return unless_all({std::min(p.low, q.low), fill_bits(std::max(p.high, q.high))});
  case BinaryOp::bit_xor:
    if (a.unknown || b.unknown)
      return std::nullopt;
    if (q.low == -1 && q.high == -1)
      return unless_all({~p.high, ~p.low});
    return unless_all({p.low >= 0 && q.low >= 0 ? 0 : -digits - 1, digits});
  case BinaryOp::shift_left: {
    auto result =
        a.unknown ? std::nullopt : of_shift_left(p, b.unknown ? Range{0, most_i64} : q, 8 * byte_size(type));
    bool fits = result && bit_values_of(type, {}).range.low <= result->low &&
                result->high <= bit_values_of(type, {}).range.high;
    return fits ? result : std::nullopt;
  }
  case BinaryOp::shift_right: {
    Range by = b.unknown ? Range{0, most_i64} : q;
    if (!a.unknown)
      return unless_all(of_shift_right(p, by));
    if (by.low < 1)
      return std::nullopt;
    return Range{0, by.low > 63 ? 0 : static_cast<std::int64_t>(~std::uint64_t{0} >> by.low)};
  }
  default:
    return std::nullopt;
  }
}

/// Rewrites operators on the bits of index arithmetic to sums, quotients and remainders.
/// [rule.bits.shift_left] x << 0 = x, x << s + 1 = (x << s)*2 where 0 <= s, s < 62
/// [rule.bits.not] x ^ -1 = 0 - x - 1
/// [rule.bits.low] (x >> s << s) + (x & (1 << s) - 1) = x, 0 <= x & (1 << s) - 1, x & (1 << s) - 1 < 1 << s
///     where 0 <= s, s < 62
/// [rule.bits.field] x & ((1 << k) - 1 << s) = (x >> s & (1 << k) - 1) << s where 0 <= s, 0 <= k, s + k < 62
/// [rule.bits.high] x & 0 - (1 << s) = x >> s << s where 0 <= s, s < 62
/// [rule.bits.disjoint] x | y = x + y, x ^ y = x + y where 0 <= s, s < 62, x >> s << s = x, 0 <= y, y < 1 << s
std::optional<LinearForm> IndexRewriter::linearize_bits(const Expr &e, const Binary &op) {
  constexpr std::int64_t most_bits = 60;
  if (e.node().data || !is_index(e.dtype()))
    return std::nullopt;
  auto power = [](std::int64_t n) { return std::int64_t{1} << n; };
  auto amount = as_int(op.b);
  bool known_shift = amount && *amount >= 0 && *amount <= most_bits;
  switch (op.op) {
  case BinaryOp::shift_left:
    return known_shift ? std::optional(scale(linearize(op.a), power(*amount))) : std::nullopt;
  case BinaryOp::shift_right:
    return known_shift ? std::optional(divide(linearize(op.a), power(*amount))) : std::nullopt;
  case BinaryOp::bit_and:
    for (const auto &[x, y] : {std::pair(op.a, op.b), std::pair(op.b, op.a)})
      if (auto mask = as_int(y); mask && *mask != 0) {
        int from = std::countr_zero(static_cast<std::uint64_t>(*mask));
        std::int64_t digits = *mask >> from; // -1: all from there on
        if (from > most_bits || digits >= power(most_bits) || (digits & (digits + 1)) != 0)
          continue;
        LinearForm field = divide(linearize(x), power(from));
        return scale(digits < 0 ? std::move(field) : modulo(field, digits + 1), power(from));
      }
    return std::nullopt;
  case BinaryOp::bit_or:
  case BinaryOp::bit_xor:
    if (complemented(op))
      return sum(scale(linearize(op.a), -1), {{}, 1}, -1);
    for (const auto &[x, y] : {std::pair(op.a, op.b), std::pair(op.b, op.a)}) {
      LinearForm high = linearize(x), low = linearize(y);
      auto r = range(low);
      if (!r || r->low < 0 || r->high >= power(most_bits))
        continue;
      std::int64_t unit = fill_bits(r->high) + 1;
      if (high.constant % unit == 0 &&
          std::ranges::all_of(high.terms, [&](const Term &term) { return term.coefficient % unit == 0; }))
        return sum(std::move(high), low, 1);
    }
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace nestsmith
