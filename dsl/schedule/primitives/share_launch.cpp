#include "dsl/schedule/primitives/share_launch.h"

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Also if the loops of thread blocks are inside of others: the nest of a product in waves.
bool is_on_blocks(const Stmt &nest) {
  const std::vector<const Block *> blocks = blocks_of(nest);
  return std::ranges::any_of(loops_of(path_to(nest, blocks.front()->id)),
                             [](const For *loop) { return loop->axis() && is_block(*loop->axis()); });
}

void check_follows(const Schedule::Edit &edit, const For &loop) {
  const std::vector<Stmt> nests = nests_of(edit.body());
  auto own = std::ranges::find_if(nests, [&](const Stmt &nest) { return as<For>(nest) == &loop; });
  if (own == nests.begin())
    edit.refuse(
        "share_launch.follows",
        fmt::format("no nest is before that of the loop {}, expected one whose launch it can share; name "
                    "the loop of a later nest",
                    loop.var->name),
        {loop.var->name});
  const Stmt &before = *std::prev(own);
  if (is_on_blocks(before))
    return;
  const std::string &block = blocks_of(before).front()->id->name;
  edit.refuse("share_launch.follows",
              fmt::format("no loop of the nest before {}, that of block {}, is bound to a block axis; bind one "
                          "first",
                          loop.var->name, block),
              {loop.var->name, block});
}

} // namespace

constinit const Primitive primitives::share_launch =
    primitive<&Schedule::share_launch>("share_launch", {loop("loop")});

void Schedule::share_launch(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::share_launch, handle);
  const For &loop = edit.loop(handle);
  const std::vector<const For *> around = edit.loops_around(loop.var);
  if (around.size() > 1)
    edit.refuse("share_launch.outermost",
                fmt::format("the loop {} is inside of {}, expected the outermost loop of a nest; name {}",
                            loop.var->name, around.front()->var->name, around.front()->var->name),
                {loop.var->name, around.front()->var->name});
  if (!loop.axis() || !is_block(*loop.axis()))
    edit.refuse("share_launch.outermost",
                fmt::format("the loop {} is {}, expected a loop that is bound to a block axis; use bind first",
                            loop.var->name, form_of(loop)),
                {loop.var->name});
  check_follows(edit, loop);
  if (loop.shares_launch())
    edit.refuse("share_launch.once",
                fmt::format("the loop {} shares the launch of the nest before it already; state it once",
                            loop.var->name),
                {loop.var->name});
  For copy = loop;
  std::get<BoundTo>(copy.form).shares_launch = true;
  edit.commit(edit.replace_loop(loop, std::move(copy)));
}

} // namespace nestsmith
