#include "dsl/schedule/primitives/join_pipelines.h"

#include "dsl/ir/pipeline.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith::primitives {

void join_pipelines(Schedule &schedule, Loop handle) {
  Schedule::Edit edit(schedule, "join_pipelines", {LoopName{loop_name(handle)}});
  const For &loop = edit.loop(handle);
  if (!loop.is<Unrolled>() || loop.pipeline().empty() || loop.joined())
    edit.refuse(
        "join_pipelines.nested",
        fmt::format("the loop {} is {}{}, expected an unrolled and pipelined loop; use unroll and pipeline "
                    "first",
                    loop.var->name, loop.axis() ? "bound" : name(loop.form),
                    loop.joined()             ? " and joined already"
                    : loop.pipeline().empty() ? " and not pipelined"
                                              : ""),
        {loop.var->name});
  For copy = loop;
  std::get<Unrolled>(copy.form).joined = true;
  Program next = edit.program();
  Stmt made = make_for(std::move(copy));
  next.body = replace(edit.body(), path_to(edit.body(), loop.var).back(), made);
  if (auto breach = find_join_breach(next, *as<For>(made)))
    edit.refuse(breach->requirement, breach->message, breach->culprits);
  edit.commit(next.body);
}

} // namespace nestsmith::primitives
