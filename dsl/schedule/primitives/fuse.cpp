#include "dsl/schedule/primitives/fuse.h"

#include "dsl/schedule/primitives/loop_names.h"

#include <fmt/format.h>

namespace nestsmith {

/// Advice for making the inner loop the body of the outer loop.
static std::string remedy(const Schedule::Edit &edit, const For &outer, const For &inner) {
  bool swapped = find_loop(inner.body, outer.var) != nullptr;
  const For &around = swapped ? inner : outer, &below = swapped ? outer : inner;
  if (!find_loop(around.body, below.var))
    return "name two loops of one nest";
  for (const For *loop : edit.loops_around(below.var))
    if (find_loop(loop->body, below.var) && !find_loop(loop->body, around.var) && !as<For>(loop->body))
      return fmt::format(
          "the body of {} has other statements beside {}: fuse the loops before moving blocks into "
          "their nest",
          loop->var->name, below.var->name);
  return "make them adjacent with reorder, outer loop first";
}

constinit const Primitive primitives::fuse =
    primitive<&Schedule::fuse>("fuse", {outer_loop("outer"), inner_loop("inner", "outer")});

Loop Schedule::fuse(Loop outer_handle, Loop inner_handle, Caller caller) {
  Edit edit(*this, caller, primitives::fuse, outer_handle, inner_handle);
  const For &outer = edit.loop(outer_handle);
  const For &inner = edit.loop(inner_handle);
  edit.require_serial("fuse.serial", outer);
  edit.require_serial("fuse.serial", inner);
  const auto *child = as<For>(outer.body);
  if (!child || child->var != inner.var)
    edit.refuse("fuse.nested",
                fmt::format("the body of {} is not exactly the loop {}; {}", outer.var->name, inner.var->name,
                            remedy(edit, outer, inner)),
                {outer.var->name, inner.var->name});

  auto most = [](const For &loop) { return range_of(loop.extent, {}).value().high; };
  std::int64_t iterations = 0;
  if (__builtin_mul_overflow(most(outer), most(inner), &iterations) || iterations > std::int64_t{1} << 60)
    edit.refuse(
        "fuse.extent",
        fmt::format("{} and {} have more than 2^60 iterations together; fuse fewer loops{}", outer.var->name,
                    inner.var->name,
                    uses_size(outer.extent) || uses_size(inner.extent) ? ", or state smaller sizes" : ""),
        {outer.var->name, inner.var->name});

  Expr extent = simplify(outer.extent * inner.extent);
  Loop fused{fused_loop(edit, outer.var, inner.var)};
  Bounds bounds = loop_bounds(edit.body());
  bounds.set_extent(fused.var, extent);
  Stmt nest = substitute_loops(inner.body, [&](const Var &var) {
    if (var == outer.var)
      return floordiv(fused.var, inner.extent);
    return var == inner.var ? floormod(fused.var, inner.extent) : Expr();
  });
  nest = make_for({fused.var, extent, Serial{}, refresh_bindings(nest, bounds)});
  edit.commit(edit.replace_loop(outer, nest), {fused.var->name});
  return fused;
}

} // namespace nestsmith
