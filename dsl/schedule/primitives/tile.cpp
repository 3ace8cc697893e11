#include "dsl/schedule/primitives/tile.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::tile =
    primitive<Method<std::vector<Loop>, Loop, Loop, std::vector<std::int64_t>>{&Schedule::tile}>(
        "tile", {outer_loop("i"), next_loop("j", "i"), factors("factors", 2)});

std::vector<Loop> Schedule::tile(Loop i, Loop j, std::vector<std::int64_t> factors, Caller caller) {
  Edit edit(*this, caller, primitives::tile, i, j, factors);
  edit.loop(i);
  edit.loop(j);
  if (factors.size() != 2)
    edit.refuse("tile.factors",
                fmt::format("got {} factors, expected 2: the extents of a tile along {} and {}", factors.size(),
                            name(i), name(j)),
                {name(i), name(j)});
  if (i.var == j.var)
    edit.refuse("tile.nest", fmt::format("the loop {} is named twice; name two loops", name(i)), {name(i)});
  std::vector<Loop> handles;
  try {
    Schedule scratch = *this;
    auto split = [&](Loop loop, std::size_t n) {
      const std::vector<std::string> &chosen = edit.chosen_names();
      return scratch.split(loop, {infer, factors[n]},
                           chosen.size() == 4 ? named(chosen[n], chosen[n + 2]) : Caller());
    };
    auto outer = split(i, 0), inner = split(j, 1);
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
    edit.refuse(requirement, fmt::format("{}: {}", error.directive(), error.message()), {name(i), name(j)});
  }
  return handles;
}

} // namespace nestsmith
