#include "dsl/primitives/split.h"

#include "dsl/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith::primitives {

namespace {

/// The factors with the inferred one filled in.
std::vector<std::int64_t> complete(const Schedule::Edit &edit, const For &loop,
                                   std::vector<std::int64_t> factors) {
  std::int64_t extent = as_int(loop.extent).value(), product = 1;
  std::int64_t *inferred = nullptr;
  if (factors.empty())
    edit.refuse("got no factor, expected at least one", {loop.var->name});
  if (factors.size() > 16)
    edit.refuse(fmt::format("got {} factors, expected at most 16", factors.size()), {loop.var->name});
  for (std::int64_t &factor : factors) {
    if (factor == infer) {
      if (inferred)
        edit.refuse("got two factors to infer, expected at most one; give one of them", {loop.var->name});
      inferred = &factor;
    } else if (factor < 1) {
      edit.refuse(fmt::format("got the factor {}, expected at least 1", factor), {loop.var->name});
    } else if (__builtin_mul_overflow(product, factor, &product) || product > (std::int64_t{1} << 31)) {
      edit.refuse("the product of the factors is larger than 2^31; give smaller ones", {loop.var->name});
    }
  }
  if (inferred)
    *inferred = (extent + product - 1) / product;
  else if (product < extent)
    edit.refuse(fmt::format("the factors give {} iterations, but {} has {}; give more, or let one be inferred",
                            product, loop.var->name, extent),
                {loop.var->name});
  return factors;
}

/// Whether every instance with loop >= its extent is past the end of one of the block's axes.
bool tail_is_clipped(const Block &block, const For &loop, const Bounds &bounds) {
  std::int64_t extent = as_int(loop.extent).value();
  for (const IterVar &iter : block.iters) {
    Linear binding = linearize(iter.binding, bounds);
    for (std::size_t n = 0; n < binding.terms.size(); ++n) {
      const Term &term = binding.terms[n];
      const Var *var = term.digit.base.as<Var>();
      if (!var || *var != loop.var || term.digit.mod != 0 || term.coefficient < 1)
        continue;
      Linear others = binding;
      others.terms.erase(others.terms.begin() + static_cast<std::ptrdiff_t>(n));
      auto rest = range_of(to_expr(others), bounds);
      if (rest &&
          rest->low + term.coefficient * floor_div(extent, term.digit.div) >= as_int(iter.extent).value())
        return true;
    }
  }
  return false;
}

} // namespace

std::vector<Loop> split(Schedule &schedule, Loop handle, std::vector<std::int64_t> given) {
  Schedule::Edit edit(schedule, "split", {LoopName{loop_name(handle)}, given});
  const For &loop = edit.loop(handle);
  edit.require_serial(loop);
  std::vector<std::int64_t> factors = complete(edit, loop, std::move(given));
  Bounds bounds = loop_bounds(edit.body());
  std::int64_t product = 1, extent = as_int(loop.extent).value();
  for (std::int64_t factor : factors)
    product *= factor;
  if (product > extent)
    for (const Block *block : blocks_of(loop.body))
      if (!tail_is_clipped(*block, loop, bounds))
        edit.refuse(
            fmt::format("the factors give {} iterations, but {} has {}, and it is not the outermost part of an "
                        "axis of block {}: the extra iterations would run twice; choose factors whose product "
                        "is {}",
                        product, loop.var->name, extent, block->id->name, extent),
            {loop.var->name, block->id->name});

  std::vector<Loop> handles;
  std::vector<std::string> names;
  Expr index = 0;
  for (std::size_t n = 0; n < factors.size(); ++n) {
    const char *side = n == 0 ? "outer" : "inner";
    std::string wanted = factors.size() == 2 ? fmt::format("{}_{}", loop.var->name, side)
                                             : fmt::format("{}_{}", loop.var->name, n);
    names.push_back(edit.name(wanted));
    handles.push_back({make_var(names.back())});
    bounds.set_extent(handles.back().var, Expr(factors[n]));
    index = index * Expr(factors[n]) + Expr(handles.back().var);
  }
  Stmt nest = substitute_loops(loop.body, [&](const Var &var) { return var == loop.var ? index : Expr(); });
  nest = refresh_bindings(nest, bounds);
  for (std::size_t n = factors.size(); n-- > 0;)
    nest = make_for({handles[n].var, Expr(factors[n]), LoopKind::serial, std::nullopt, nest});
  edit.commit(replace(edit.body(), path_to(edit.body(), loop.var).back(), nest), names);
  return handles;
}

} // namespace nestsmith::primitives
