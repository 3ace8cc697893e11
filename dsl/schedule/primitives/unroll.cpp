#include "dsl/schedule/primitives/unroll.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith::primitives {

void unroll(Schedule &schedule, Loop handle) {
  Schedule::Edit edit(schedule, "unroll", {LoopName{loop_name(handle)}});
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
  edit.commit(replace(edit.body(), path_to(edit.body(), loop.var).back(), make_for(std::move(copy))));
}

} // namespace nestsmith::primitives
