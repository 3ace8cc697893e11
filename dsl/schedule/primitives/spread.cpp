#include "dsl/schedule/primitives/spread.h"

#include "dsl/ir/pipeline.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::spread = primitive<&Schedule::spread>("spread", {loop("loop")});

void Schedule::spread(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::spread, handle);
  const For &loop = edit.loop(handle);
  if (!loop.is<Unrolled>() || !loop.pipeline().empty() || loop.spread() || loop.reversed_by())
    edit.refuse(
        "spread.unrolled",
        fmt::format("the loop {} is {}{}, expected an unrolled loop whose iterations have no other order; "
                    "use unroll first",
                    loop.var->name, loop.axis() ? "bound" : nestsmith::name(loop.form),
                    !loop.pipeline().empty() ? " and pipelined"
                    : loop.spread()          ? " and spread already"
                    : loop.reversed_by()     ? " and runs backwards"
                                             : ""),
        {loop.var->name});
  For copy = loop;
  std::get<Unrolled>(copy.form).spread = true;
  Program next = edit.program();
  Stmt made = make_for(std::move(copy));
  next.body = edit.replace_loop(loop, made);
  if (auto breach = find_spread_breach(next, *as<For>(made)))
    edit.refuse(breach->requirement, breach->message, breach->culprits);
  edit.commit(next.body);
}

} // namespace nestsmith
