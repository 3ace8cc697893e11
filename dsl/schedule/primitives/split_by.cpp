#include "dsl/schedule/primitives/split_by.h"

#include "dsl/expr/expr_text.h"
#include "dsl/ir/workload_info.h"
#include "dsl/schedule/primitives/loop_names.h"
#include "dsl/schedule/primitives/split.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

constinit const Primitive primitives::split_by =
    primitive<Method<std::vector<Loop>, Loop, std::string>{&Schedule::split_by}>("split_by",
                                                                                 {loop("loop"), size("size")});

static Var size_named(const Schedule::Edit &edit, const std::string &name) {
  std::vector<std::string> names;
  for (const Var &size : edit.program().sizes) {
    const bool of_array = is_of_array(edit.program().params, size);
    if (size->name == name && of_array)
      edit.refuse(
          "split_by.size",
          fmt::format("an array has the size '{}', which may be 0; declare a size that no array has, as in "
                      "w.size(\"part\"), and let the launch choose it",
                      name));
    if (size->name == name)
      return size;
    if (!of_array)
      names.push_back(size->name);
  }
  edit.refuse("split_by.size",
              fmt::format("the computation declares no size '{}'{}; declare it, as in w.size(\"{}\")", name,
                          names.empty() ? "" : fmt::format(", but {}", fmt::join(names, ", ")), name));
}

std::vector<Loop> Schedule::split_by(Loop handle, std::string name, Caller caller) {
  Edit edit(*this, caller, primitives::split_by, handle, name);
  const For &loop = edit.loop(handle);
  edit.require_serial("split_by.serial", loop);
  const Expr size = size_named(edit, name);
  Bounds bounds = loop_bounds(edit.body());
  for (const Block *block : blocks_of(loop.body))
    if (!tail_is_clipped(*block, loop, bounds))
      edit.refuse(
          "split_by.tail",
          fmt::format("the last part may be partial, and {} is not the outermost part of an axis of block "
                      "{}: nothing excludes the iterations past its end; split the loop of the whole axis",
                      loop.var->name, block->id->name),
          {loop.var->name, block->id->name});
  const std::array<Expr, 2> extents = {simplify(ceildiv(loop.extent, size)), size};
  const std::vector<Loop> handles = {{part_of_loop(edit, loop.var, "_outer", 0)},
                                     {part_of_loop(edit, loop.var, "_inner", 1)}};
  for (std::size_t n : {0, 1})
    bounds.set_extent(handles[n].var, extents.at(n));
  const Expr index = Expr(handles[0].var) * size + Expr(handles[1].var);
  Stmt nest = with_guards(loop.body, loop, {});
  nest = substitute_loops(nest, [&](const Var &var) { return var == loop.var ? index : Expr(); });
  nest = refresh_bindings(nest, bounds);
  for (std::size_t n : {1, 0})
    nest = make_for({handles[n].var, extents.at(n), Serial{}, nest});
  edit.commit(edit.replace_loop(loop, nest), {handles[0].var->name, handles[1].var->name});
  return handles;
}

} // namespace nestsmith
