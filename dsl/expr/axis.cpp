#include "dsl/expr/axis.h"

#include "dsl/expr/error.h"

namespace nestsmith {

std::string_view name(Axis axis) {
  switch (axis) {
  case Axis::block_x:
    return "blockIdx.x";
  case Axis::block_y:
    return "blockIdx.y";
  case Axis::block_z:
    return "blockIdx.z";
  case Axis::cluster:
    return "cluster";
  case Axis::thread_x:
    return "threadIdx.x";
  case Axis::thread_y:
    return "threadIdx.y";
  case Axis::thread_z:
    return "threadIdx.z";
  case Axis::warp:
    return "warp";
  case Axis::lane:
    return "lane";
  }
  refuse_value("Axis", static_cast<int>(axis),
               "Axis::block_x, block_y, block_z, cluster, thread_x, thread_y, thread_z, warp or lane");
}

std::optional<Axis> parse_axis(std::string_view text) {
  for (Axis axis : all_axes)
    if (name(axis) == text)
      return axis;
  return std::nullopt;
}

} // namespace nestsmith
