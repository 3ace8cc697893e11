#include "dsl/schedule/primitives/snake.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::snake =
    primitive<&Schedule::snake>("snake", {outer_loop("outer"), inner_loop("inner", "outer")});

void Schedule::snake(Loop outer_handle, Loop inner_handle, Caller caller) {
  Edit edit(*this, caller, primitives::snake, outer_handle, inner_handle);
  const For &outer = edit.loop(outer_handle), &inner = edit.loop(inner_handle);
  for (const For *loop : {&outer, &inner})
    if (!loop->is<Unrolled>())
      edit.refuse("snake.unrolled",
                  fmt::format("the loop {} is {}, expected an unrolled loop; unroll it first", loop->var->name,
                              nestsmith::name(loop->form)),
                  {loop->var->name});
  if (Var around = inner.reversed_by())
    edit.refuse("snake.once",
                fmt::format("the loop {} already runs backwards in odd iterations of {}; reverse it once",
                            inner.var->name, around->name),
                {inner.var->name});
  if (!inner.pipeline().empty())
    edit.refuse("snake.once",
                fmt::format("the loop {} is pipelined, which fixes the order of its iterations; choose a loop "
                            "inside of it",
                            inner.var->name),
                {inner.var->name});
  For copy = inner;
  copy.form = Unrolled{{}, outer.var};
  edit.commit(edit.replace_loop(inner, std::move(copy)));
}

} // namespace nestsmith
