#include "dsl/schedule/primitives/unroll.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::unroll = primitive<&Schedule::unroll>("unroll", {loop("loop")});

void Schedule::unroll(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::unroll, handle);
  const For &loop = edit.loop(handle);
  edit.require_serial("unroll.serial", loop);
  std::int64_t extent = edit.require_constant("unroll.constant", loop, "unrolled");
  if (extent > 1024)
    edit.refuse("unroll.extent",
                fmt::format("the loop {} has {} iterations, expected at most 1024; split it and unroll a part",
                            loop.var->name, extent),
                {loop.var->name});
  For copy = loop;
  copy.form = Unrolled{};
  edit.commit(edit.replace_loop(loop, std::move(copy)));
}

} // namespace nestsmith
