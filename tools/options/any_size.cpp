#include "tools/options/any_size.h"

#include "dsl/expr/error.h"
#include "schedules/kernels/kernel_ranking.h"

namespace nestsmith::cli {

Shape any_size_shape(const records::Extents &extents, int width, bool wide, const Transposed &transposed) {
  Shape shape(extents.begin(), extents.end());
  shape.stated = Size{.max = wide ? Size{}.max : records::most_of_narrow};
  shape.transposed = transposed;
  if (width > 1) {
    shape.multiples = {1, width, 1}; // C has rows of N elements
    shape.multiples[transposed.a ? 0 : 2] = width;
    if (transposed.b)
      shape.multiples[2] = width;
  }
  return shape;
}

Shape any_size_shape(const records::AnySizeKernel &kernel, const Transposed &transposed) {
  return any_size_shape({64, 64, 64}, kernel.width, kernel.wide, transposed);
}

KnobValues any_size_knobs(KnobValues point, const std::string &parts_knob, bool in_parts) {
  point["group"] = "1";
  if (auto async = point.find("async"); async != point.end() && async->second == "true")
    point.erase("blocks"); // such a kernel has a number of its own
  if (in_parts)
    point[parts_knob] = "0"; // of the number
  return point;
}

std::optional<ChosenKnobs> any_size_schedule(const ChosenRung &rung, const KnobValues &knobs,
                                             const Shape &shape, DType dtype, const Target &target) {
  Knobs asked;
  asked.prefer(knobs);
  try {
    Schedule schedule = rung.build(shape, dtype, target, asked);
    const KnobValues chosen = asked.chosen();
    for (const auto &[name, value] : knobs)
      if (auto found = chosen.find(name); found == chosen.end() || found->second != value)
        if (name != "blocks" && name != "group" &&
            !(found == chosen.end() && records::asks_for_nothing(name, value)))
          return std::nullopt;
    if (schedule.source().sizes.size() < 3 || !schedule.obligations().empty())
      return std::nullopt;
    return ChosenKnobs{std::move(schedule), chosen};
  } catch (const UserError &) { // other points may be legal
    return std::nullopt;
  }
}

std::optional<ChosenKnobs> any_size_schedule(const ChosenRung &rung, const records::KernelTable &table,
                                             const records::AnySizeKernel &kernel, DType dtype,
                                             const Target &target, const Transposed &transposed) {
  return any_size_schedule(rung,
                           any_size_knobs(table.points[kernel.point].knobs, table.parts_knob, kernel.in_parts),
                           any_size_shape(kernel, transposed), dtype, target);
}

} // namespace nestsmith::cli
