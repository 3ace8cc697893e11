#include "dsl/hardware/match.h"

#include "dsl/ir/region.h"

#include <algorithm>
#include <numeric>

namespace nestsmith {

std::optional<Nest> nest_below(const For &loop, const Bounds &bounds) {
  Nest nest;
  const For *inner = &loop;
  while (true) {
    auto extent = as_int(inner->extent);
    if (!extent || (inner != &loop && !inner->is<Serial>()))
      return std::nullopt;
    if (*extent != 1)
      nest.loops.push_back({inner->var, *extent});
    const auto *next = as<For>(inner->body);
    if (!next)
      break;
    inner = next;
  }
  const auto *block = as<Block>(inner->body);
  if (!block)
    return std::nullopt;
  auto placed = [&](const Expr &e) { return in_loops(e, *block, bounds); };
  nest.body = block->body;
  for (Expr &index : nest.body.indices)
    index = placed(index);
  nest.body.value = rebuild(nest.body.value, [&](const Expr &e) { return e.as<Var>() ? placed(e) : e; });
  return nest;
}

namespace {

/// The access with simplified indices.
Expr simplify_indices(const Expr &access, const Bounds &bounds) {
  return map_children(access, [&](const Expr &x) { return is_index(x.dtype()) ? simplify(x, bounds) : x; });
}

/// Compares with one assignment of loops.
class Matcher {
public:
  /// `written` is the element that the nest stores to. `simplified` has the operands of the nest with
  /// simplified indices, which are the same for all assignments. `swapped`: the factors of products are in the
  /// other order.
  Matcher(const Intrinsic &intrinsic, const Nest &nest, const std::vector<std::size_t> &order, bool swapped,
          const Expr &written, std::map<const ExprNode *, Expr> &simplified, const Bounds &bounds)
      : intrinsic_(intrinsic), nest_(nest), swapped_(swapped), written_(written), simplified_(simplified),
        bounds_(bounds) {
    for (std::size_t n = 0; n < order.size(); ++n)
      result.loops[intrinsic.meaning.loops[n].var] = nest.loops[order[n]].var;
  }

  bool run() {
    const Store &expected = intrinsic_.meaning.body;
    return match(load(expected.buffer, expected.indices), written_) && match(expected.value, nest_.body.value);
  }

  Match result;
  Difference difference;
  int matched = 0; ///< operands and operators before the difference

private:
  bool match(const Expr &meaning, const Expr &e) {
    if (!match_here(meaning, e))
      return false;
    ++matched;
    return true;
  }
  bool match_here(const Expr &meaning, const Expr &e) {
    if (meaning.dtype() != e.dtype())
      return differ(meaning, e);
    if (const auto *formal = meaning.as<Load>())
      return bind(*formal, meaning, e);
    if (const auto *expected = meaning.as<Cast>()) {
      const auto *got = e.as<Cast>();
      return got ? match(expected->a, got->a) : differ(meaning, e);
    }
    if (const auto *expected = meaning.as<Select>()) {
      const auto *got = e.as<Select>();
      return got && expected->branches == got->branches
                 ? match(expected->condition, got->condition) && match(expected->when_true, got->when_true) &&
                       match(expected->when_false, got->when_false)
                 : differ(meaning, e);
    }
    if (const auto *expected = meaning.as<Not>()) {
      const auto *got = e.as<Not>();
      return got ? match(expected->a, got->a) : differ(meaning, e);
    }
    const auto *expected = meaning.as<Binary>(), *got = e.as<Binary>();
    if (!expected)
      return same(meaning, e) || differ(meaning, e);
    if (!got || expected->op != got->op)
      return differ(meaning, e);
    if (swapped_ && expected->op == BinaryOp::mul)
      return match(expected->a, got->b) && match(expected->b, got->a);
    return match(expected->a, got->a) && match(expected->b, got->b);
  }

  bool bind(const Load &formal, const Expr &meaning, const Expr &e) {
    Expr &placed = simplified_[e.get()];
    if (!placed.exists())
      placed = rebuild(e, [&](const Expr &node) {
        const auto *access = node.as<Load>();
        return access ? simplify_indices(node, bounds_) : node;
      });
    bool by_value = intrinsic_.operand(formal.buffer).as<ByValue>() && formal.buffer != stored();
    if (!by_value && !placed.as<Load>())
      return differ(meaning, e);
    for (const NestLoop &loop : intrinsic_.meaning.loops)
      if (uses(placed, result.loops.at(loop.var)) &&
          std::ranges::none_of(formal.indices, [&](const Expr &x) { return same(x, Expr(loop.var)); }))
        return differ(meaning, e);
    if (auto [known, fresh] = placed_.emplace(formal.buffer, placed); !fresh)
      return same(known->second, placed) || differ(meaning, e);
    result.operands[formal.buffer] = e;
    return true;
  }
  const Buffer &stored() const { return intrinsic_.meaning.body.buffer; }

  bool differ(const Expr &meaning, const Expr &e) {
    difference = {e, meaning};
    return false;
  }

  const Intrinsic &intrinsic_;
  const Nest &nest_;
  bool swapped_;
  const Expr &written_;
  std::map<const ExprNode *, Expr> &simplified_;
  const Bounds &bounds_;
  std::map<Buffer, Expr> placed_; ///< the operands, with simplified indices
};

/// Whether the loops of the meaning over which it sums keep their order.
bool keeps_sums(const Nest &meaning, const std::vector<std::size_t> &order) {
  std::vector<std::size_t> sums;
  for (std::size_t n = 0; n < order.size(); ++n)
    if (std::ranges::none_of(meaning.body.indices,
                             [&](const Expr &x) { return same(x, Expr(meaning.loops[n].var)); }))
      sums.push_back(order[n]);
  return std::ranges::is_sorted(sums);
}

/// Matches a reduction over the lanes. In a program, the value is a combination of the element and a term. In a
/// kernel, it is what lowering made of that, so only its operands are read.
std::optional<Match> match_lanes(const Intrinsic &intrinsic, const Nest &nest, const Bounds &bounds,
                                 Difference *difference) {
  const NestLoop &lanes = intrinsic.meaning.loops.front();
  if (nest.loops.size() != 1 || nest.loops.front().extent != lanes.extent)
    return std::nullopt;
  const Var &loop = nest.loops.front().var;
  const Expr element = load(nest.body.buffer, nest.body.indices), &value = nest.body.value;
  Expr term;
  if (const auto *combination = value.as<Call>()) {
    bool fits = combination->function == &intrinsic.combines->combine;
    if (fits && combination->arguments[0].as<Load>() && combination->arguments[1].as<Load>())
      term = combination->arguments[1];
  } else {
    walk(value, [&](const Expr &e) {
      const auto *access = e.as<Load>();
      if (access && access->buffer != nest.body.buffer)
        term = e;
    });
  }
  if (!term.exists() || uses(simplify_indices(element, bounds), loop)) {
    if (difference)
      *difference = {value, intrinsic.meaning.body.value};
    return std::nullopt;
  }
  Match result;
  result.operands = {{intrinsic.operands[0].formal, term}, {intrinsic.operands[1].formal, element}};
  result.loops = {{lanes.var, loop}};
  return result;
}

} // namespace

std::optional<Match> match(const Intrinsic &intrinsic, const Nest &nest, const Bounds &bounds,
                           Difference *difference) {
  if (intrinsic.combines)
    return match_lanes(intrinsic, nest, bounds, difference);
  const Nest &meaning = intrinsic.meaning;
  if (nest.loops.size() != meaning.loops.size())
    return std::nullopt;
  std::vector<std::size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), 0);
  const Expr written = load(nest.body.buffer, nest.body.indices);
  std::map<const ExprNode *, Expr> simplified; // its keys live as long as the nest and `written`
  int furthest = -1;
  do {
    bool fits = keeps_sums(meaning, order);
    for (std::size_t n = 0; n < order.size(); ++n)
      fits = fits && meaning.loops[n].extent == nest.loops[order[n]].extent;
    if (!fits)
      continue;
    for (bool swapped : {false, true}) {
      Matcher matcher(intrinsic, nest, order, swapped, written, simplified, bounds);
      if (matcher.run())
        return std::move(matcher.result);
      if (swapped) // the difference is that of the factors as they are
        continue;
      if (difference && matcher.matched > furthest)
        *difference = matcher.difference;
      furthest = std::max(furthest, matcher.matched);
    }
  } while (std::ranges::next_permutation(order).found);
  return std::nullopt;
}

std::vector<Expr> loops_of(const Intrinsic &intrinsic, const Match &match, const Operand &operand) {
  std::vector<Expr> loops;
  for (const Expr &index : indices_of(intrinsic.meaning, operand.formal))
    loops.emplace_back(match.loops.at(*index.as<Var>()));
  return loops;
}

} // namespace nestsmith
