#include "dsl/schedule/primitives/tile.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith::primitives {

std::vector<Loop> tile(Schedule &schedule, Loop i, Loop j, std::vector<std::int64_t> factors) {
  Schedule::Edit edit(schedule, "tile", {LoopName{loop_name(i)}, LoopName{loop_name(j)}, factors});
  edit.loop(i);
  edit.loop(j);
  if (factors.size() != 2)
    edit.refuse("tile.factors",
                fmt::format("got {} factors, expected 2: the extents of a tile along {} and {}", factors.size(),
                            loop_name(i), loop_name(j)),
                {loop_name(i), loop_name(j)});
  if (i.var == j.var)
    edit.refuse("tile.nest", fmt::format("the loop {} is named twice; name two loops", loop_name(i)),
                {loop_name(i)});
  std::vector<Loop> handles;
  try {
    Schedule scratch = schedule;
    auto outer = scratch.split(i, {infer, factors[0]}), inner = scratch.split(j, {infer, factors[1]});
    handles = {outer[0], inner[0], outer[1], inner[1]};
    scratch.reorder(handles);
    std::vector<std::string> names;
    for (const Loop &handle : handles)
      names.push_back(handle.var->name);
    edit.commit(scratch.program().body, names);
  } catch (const ScheduleError &error) {
    const std::string &broken = error.requirement();
    const char *requirement = broken.starts_with("split.")     ? "tile.split"
                              : broken == "reorder.order"      ? "tile.order"
                              : broken.starts_with("reorder.") ? "tile.nest"
                                                               : broken.c_str();
    edit.refuse(requirement, fmt::format("{}: {}", error.directive(), error.message()),
                {loop_name(i), loop_name(j)});
  }
  return handles;
}

} // namespace nestsmith::primitives
