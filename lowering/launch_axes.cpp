#include "lowering/launch_axes.h"

#include "dsl/ir/access_limits.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace nestsmith {

namespace {

/// Collects the loops on each axis.
class Indices {
public:
  Indices(const Program &program, const Target &target) {
    for (Axis axis : block_axes)
      limits_[axis] = target.grid_extent[dimension(axis)];
    walk(program.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->axis())
        bound_[is_thread(*loop->axis()) ? *loop->axis() : whole_of(*loop->axis())].push_back(loop);
      return true;
    });
    if (!bound_.count(Axis::warp) && !bound_.count(Axis::lane))
      return;
    for (Axis axis : {Axis::thread_x, Axis::warp, Axis::lane}) {
      std::ranges::copy(bound_[axis], std::back_inserter(on_threads_));
      bound_.erase(axis);
    }
    threads_ = threads_of(program);
  }

  std::vector<kernel::ThreadIndex> make() const {
    std::vector<kernel::ThreadIndex> indices;
    if (threads_)
      indices.push_back(
          {Axis::thread_x, make_var("tid"), Expr(*threads_), *threads_, false, origin_of(on_threads_)});
    for (const auto &[axis, loops] : bound_)
      if (const Expr &extent = loops.front()->extent; as_int(extent) != 1)
        indices.push_back({axis, make_var(name_of(axis, loops)), extent,
                           limits_.count(axis) ? limits_.at(axis) : as_int(extent).value(),
                           loops.front()->partitioned(), origin_of(loops)});
    return indices;
  }

private:
  std::string name_of(Axis axis, const std::vector<const For *> &loops) const {
    if (loops.front()->axis() == Axis::cluster)
      return "rank";
    if (loops.size() == 1 && name_in_kernel(*loops.front()->var) == loops.front()->var->name)
      return loops.front()->var->name;
    bool flat = !bound_.count(Axis::thread_y) && !bound_.count(Axis::thread_z);
    if (axis == Axis::thread_x && flat)
      return "tid";
    return fmt::format("{}{}", is_thread(axis) ? 't' : 'b', "xyz"[dimension(axis)]);
  }

  std::map<Axis, std::vector<const For *>> bound_;
  std::vector<const For *> on_threads_; ///< the loops on threadIdx.x, if the kernel has loops on warps or lanes
  std::map<Axis, std::int64_t> limits_;
  std::optional<std::int64_t> threads_; ///< on threadIdx.x, if the kernel has loops on warps or lanes
};

} // namespace

std::vector<kernel::ThreadIndex> indices_of(const Program &program, const Target &target) {
  return Indices(program, target).make();
}

std::vector<kernel::Assumption> assumptions_of(const Program &program, const Program &source,
                                               const std::vector<kernel::ThreadIndex> &indices) {
  std::vector<kernel::Assumption> result;
  for (const Var &var : program.sizes) {
    const Size &size = *var->size;
    Expr value(var);
    result.push_back({Expr(size.min) <= value, value, var->name, fmt::format("at least {}", size.min)});
    result.push_back({value <= Expr(size.max), value, var->name, fmt::format("at most {}", size.max)});
    if (size.multiple_of != 1)
      result.push_back({equal(floormod(value, size.multiple_of), 0), value, var->name,
                        fmt::format("a multiple of {}", size.multiple_of)});
  }
  for (const Buffer &buffer : program.params) {
    std::size_t rank = buffer->shape.size();
    if (!buffer->strides)
      continue;
    Expr leading = (*buffer->strides)[rank - 2], holds = buffer->shape[rank - 1] <= leading;
    if (proves(holds, {}))
      continue;
    if (as_int(leading)) // the requirement is one on the length of a row
      result.push_back(
          {holds, buffer->shape[rank - 1],
           fmt::format("{}, the length of a row of {},", to_string(buffer->shape[rank - 1]), buffer->name),
           fmt::format("at most {}, its leading dimension", to_string(leading))});
    else
      result.push_back({holds, leading,
                        fmt::format("{}, the leading dimension of {},", to_string(leading), buffer->name),
                        fmt::format("at least {}", to_string(buffer->shape[rank - 1]))});
  }
  for (const AccessLimit &limit : access_limits(source))
    result.push_back(
        {limit.holds, limit.value, limit.what, fmt::format("at least {}", to_string(limit.least))});
  for (const kernel::ThreadIndex &index : indices)
    if (Expr holds = index.extent <= Expr(index.most); !proves(holds, {}))
      result.push_back({holds, index.extent, fmt::format("the grid's extent on {}", name(index.axis)),
                        fmt::format("at most {}", index.most)});
  return result;
}

} // namespace nestsmith
