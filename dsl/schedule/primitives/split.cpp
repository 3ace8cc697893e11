#include "dsl/schedule/primitives/split.h"

#include "dsl/expr/expr_text.h"
#include "dsl/schedule/primitives/loop_names.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// The factors, with the inferred one first: "{infer, 4}". Without an inferred factor, it replaces the first.
std::string inferred_first(const std::vector<std::int64_t> &factors) {
  auto inferred = std::ranges::find(factors, infer);
  if (inferred == factors.end())
    inferred = factors.begin();
  std::string text = "{infer";
  for (auto factor = factors.begin(); factor != factors.end(); ++factor)
    if (factor != inferred)
      text += fmt::format(", {}", *factor);
  return text + "}";
}

/// The extents of the new loops. Only the outermost may depend on sizes.
std::vector<Expr> complete(const Schedule::Edit &edit, const For &loop,
                           const std::vector<std::int64_t> &factors) {
  auto extent = as_int(loop.extent);
  std::int64_t product = 1;
  std::optional<std::size_t> inferred;
  std::vector<Expr> result;
  if (factors.empty())
    edit.refuse("split.factors", "got no factor, expected at least one", {loop.var->name});
  if (factors.size() > 16)
    edit.refuse("split.factors", fmt::format("got {} factors, expected at most 16", factors.size()),
                {loop.var->name});
  for (std::int64_t factor : factors) {
    if (factor == infer) {
      if (inferred)
        edit.refuse("split.factors", "got two factors to infer, expected at most one; give one of them",
                    {loop.var->name});
      inferred = result.size();
    } else if (factor < 1) {
      edit.refuse("split.factors", fmt::format("got the factor {}, expected at least 1", factor),
                  {loop.var->name});
    } else if (__builtin_mul_overflow(product, factor, &product) || product > (std::int64_t{1} << 31)) {
      edit.refuse("split.factors", "the product of the factors is larger than 2^31; give smaller ones",
                  {loop.var->name});
    }
    result.emplace_back(factor);
  }
  if (!extent && inferred != std::size_t{0})
    edit.refuse("split.outermost",
                fmt::format("the loop {} has {} iterations, a number known only at launch; infer the first "
                            "factor and no other, as in {}{}",
                            loop.var->name, to_string(loop.extent), inferred_first(factors),
                            inferred ? "; reorder can then move the loop of the inferred factor inside" : ""),
                {loop.var->name});
  if (inferred)
    result[*inferred] = simplify(ceildiv(loop.extent, Expr(product)));
  else if (product < *extent)
    edit.refuse(
        "split.covers",
        fmt::format("the factors give {} iterations, but {} has {}; use larger factors, or infer one of them",
                    product, loop.var->name, *extent),
        {loop.var->name});
  return result;
}

} // namespace

bool tail_is_clipped(const Block &block, const For &loop, const Bounds &bounds) {
  for (const IterVar &iter : block.iters) {
    Linear binding = linearize(iter.binding, bounds);
    for (std::size_t n = 0; n < binding.terms.size(); ++n) {
      const Term &term = binding.terms[n];
      const Expr &base = term.digit.base;
      const auto *op = base.as<Binary>(); // loop // size
      const Var *var = (op && op->op == BinaryOp::floordiv && uses_size(op->b) ? op->a : base).as<Var>();
      if (!var || *var != loop.var || term.digit.mod != 0 || term.coefficient < 1)
        continue;
      Linear others = binding;
      others.terms.erase(others.terms.begin() + static_cast<std::ptrdiff_t>(n));
      auto rest = range_of(to_expr(others), bounds);
      Expr end = substitute(base, [&](const Var &v) { return v == loop.var ? loop.extent : Expr(); });
      if (rest &&
          proves(iter.extent <= Expr(rest->low) + Expr(term.coefficient) * floordiv(end, Expr(term.digit.div)),
                 bounds))
        return true;
    }
  }
  return false;
}

namespace {

/// Whether the loop is a part of an axis that indexes the buffer of the block, so that each iteration writes
/// other elements.
bool is_part_of_element(const Block &block, const For &loop, const Bounds &bounds) {
  return !is_loop_of_sum(block, loop.var) && std::ranges::any_of(block.iters, [&](const IterVar &iter) {
    bool indexes = indexes_result(block, iter);
    std::vector<Term> terms = indexes ? linearize(iter.binding, bounds).terms : std::vector<Term>();
    return std::ranges::any_of(terms, [&](const Term &term) {
      const Var *var = term.digit.as_var();
      return var && *var == loop.var;
    });
  });
}

} // namespace

constinit const Primitive primitives::split =
    primitive<Method<std::vector<Loop>, Loop, std::vector<std::int64_t>>{&Schedule::split}>(
        "split", {loop("loop"), factors("factors")});

std::vector<Loop> Schedule::split(Loop handle, std::vector<std::int64_t> given, Caller caller) {
  Edit edit(*this, caller, primitives::split, handle, given);
  const For &loop = edit.loop(handle);
  edit.require_serial("split.serial", loop);
  std::vector<Expr> factors = complete(edit, loop, given);
  Bounds bounds = loop_bounds(edit.body());
  Expr product = 1;
  for (const Expr &factor : factors)
    product = product * factor;
  product = simplify(product);
  std::vector<BlockId> unclipped;
  if (!proves(product <= loop.extent, bounds))
    for (const Block *block : blocks_of(loop.body)) {
      if (tail_is_clipped(*block, loop, bounds))
        continue;
      unclipped.push_back(block->id);
      // If the loop only repeated the sum, the guard axis would let each repetition pass for another instance.
      bool sums = block->reduces();
      if (sums && as_int(loop.extent) != 1 && !is_part_of_element(*block, loop, bounds))
        edit.refuse(
            "split.tail",
            fmt::format(
                "the factors give {} iterations, but {} has {}, and it is not the outermost part of an "
                "axis of the sum {}: the extra iterations would run twice; choose factors whose product "
                "is {}",
                to_string(product), loop.var->name, to_string(loop.extent), block->id->name,
                to_string(loop.extent)),
            {loop.var->name, block->id->name});
    }

  std::vector<Loop> handles;
  std::vector<std::string> names;
  Expr index = 0;
  for (std::size_t n = 0; n < factors.size(); ++n) {
    std::string suffix = factors.size() != 2 ? fmt::format("_{}", n) : n == 0 ? "_outer" : "_inner";
    handles.push_back({part_of_loop(edit, loop.var, suffix, n)});
    names.push_back(handles.back().var->name);
    bounds.set_extent(handles.back().var, factors[n]);
    index = index * factors[n] + Expr(handles.back().var);
  }
  Stmt nest = with_guards(loop.body, loop, unclipped);
  nest = substitute_loops(nest, [&](const Var &var) { return var == loop.var ? index : Expr(); });
  nest = refresh_bindings(nest, bounds);
  for (std::size_t n = factors.size(); n-- > 0;)
    nest = make_for({handles[n].var, factors[n], Serial{}, nest});
  edit.commit(edit.replace_loop(loop, nest), names);
  return handles;
}

} // namespace nestsmith
