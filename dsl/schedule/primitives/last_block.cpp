#include "dsl/schedule/primitives/last_block.h"

#include "dsl/ir/last_block.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

bool is_bound_to_block(const For &loop) { return loop.axis() && !is_thread(*loop.axis()); }

void check_around(const Schedule::Edit &edit, const For &loop, const std::vector<const For *> &around) {
  if (around.empty())
    edit.refuse("last_block.around",
                fmt::format("no loop is around {}, so no statement can follow it in the same nest; use "
                            "reverse_compute_at to move the reader into a loop around {}",
                            loop.var->name, loop.var->name),
                {loop.var->name});
  for (const For *outer : around)
    if (!is_bound_to_block(*outer))
      edit.refuse(
          "last_block.around",
          fmt::format("the loop {} around {} is {}, but the thread blocks that share a counter must have "
                      "one value of each loop around {}; bind {} to a block axis",
                      outer->var->name, loop.var->name, form_of(*outer), loop.var->name, outer->var->name),
          {outer->var->name, loop.var->name});
}

bool is_followed(const Stmt &nest, const Var &loop) {
  return std::ranges::any_of(find_last_blocks(nest), [&](const LastBlock &last) {
    return last.loop->var == loop && !last.after.empty();
  });
}

} // namespace

constinit const Primitive primitives::last_block =
    primitive<&Schedule::last_block>("last_block", {loop("loop")});

void Schedule::last_block(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::last_block, handle);
  const For &loop = edit.loop(handle);
  if (!is_bound_to_block(loop))
    edit.refuse("last_block.axis",
                fmt::format("the loop {} is {}, expected a loop that is bound to a block axis; use bind first",
                            loop.var->name, form_of(loop)),
                {loop.var->name});
  Path path = path_to(edit.body(), loop.var);
  std::vector<const For *> around = loops_of(path);
  around.pop_back();
  check_around(edit, loop, around);
  const Stmt nest = edit.nest_of(loop.var);
  for (const LastBlock &marked : find_last_blocks(nest)) {
    const For &other = *marked.loop;
    if (&other == &loop || !(find_loop(other.body, loop.var) || find_loop(loop.body, other.var)))
      edit.refuse(
          "last_block.once",
          fmt::format("the loop {} already has a last block that continues, and of two such loops one must be "
                      "below the other; leave one of the two statements in a nest of its own",
                      other.var->name),
          {other.var->name, loop.var->name});
  }
  For copy = loop;
  std::get<BoundTo>(copy.form).last_block = true;
  Stmt changed = make_for(std::move(copy));
  if (!is_followed(replace(nest, path.back(), changed), loop.var))
    edit.refuse("last_block.after",
                fmt::format("no statement follows {} in the loop {}, so the last block has nothing to execute; "
                            "use reverse_compute_at to move the reader of the results to {}",
                            loop.var->name, around.back()->var->name, around.back()->var->name),
                {loop.var->name});
  edit.commit(replace(edit.body(), path.back(), changed));
}

} // namespace nestsmith
