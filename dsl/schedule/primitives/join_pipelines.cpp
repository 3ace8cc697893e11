#include "dsl/schedule/primitives/join_pipelines.h"

#include "dsl/ir/pipeline.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::join_pipelines =
    primitive<&Schedule::join_pipelines>("join_pipelines", {loop("inner")});

void Schedule::join_pipelines(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::join_pipelines, handle);
  const For &loop = edit.loop(handle);
  if (!loop.is<Unrolled>() || loop.pipeline().empty() || loop.joined())
    edit.refuse(
        "join_pipelines.nested",
        fmt::format("the loop {} is {}{}, expected an unrolled and pipelined loop; use unroll and pipeline "
                    "first",
                    loop.var->name, loop.axis() ? "bound" : nestsmith::name(loop.form),
                    loop.joined()             ? " and joined already"
                    : loop.pipeline().empty() ? " and not pipelined"
                                              : ""),
        {loop.var->name});
  For copy = loop;
  std::get<Unrolled>(copy.form).joined = true;
  Program next = edit.program();
  Stmt made = make_for(std::move(copy));
  next.body = edit.replace_loop(loop, made);
  if (auto breach = find_join_breach(next, *as<For>(made)))
    edit.refuse(breach->requirement, breach->message, breach->culprits);
  edit.commit(next.body);
}

} // namespace nestsmith
