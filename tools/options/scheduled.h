#pragma once
/// The schedule of a rung or a trace file at a shape and a dtype.

#include "lowering/lower.h"
#include "lowering/plan.h"
#include "tools/options/chosen_knobs.h"

#include <string>

namespace nestsmith::cli {

/// A check of a symbolic kernel adds this number of elements to each leading dimension, so that a kernel that
/// ignores a leading dimension gives a wrong result.
inline constexpr std::int64_t checked_gap = 3;

/// The requested dtype if some data of the program have it. Otherwise the dtypes of the data: "i32".
std::string dtype_name(const Program &source, DType asked);

/// The shape with each extent adjusted to the range and multiple that the program states for its size.
Shape fitting_shape(const Program &source, const Shape &shape);
/// Copies the limits that the program states for its sizes into `shape`. A program that declares sizes is
/// symbolic even without --symbolic. Throws UserError (usage) if a symbolic kernel is requested but the program
/// declares no size, if it declares fewer sizes than the shape has extents, or if an extent violates a stated
/// limit. `name` is the name of the rung.
void state_sizes(const std::string &name, const Program &source, Shape &shape);

/// The schedule of a choice at --shape and --dtype.
struct Scheduled {
  ChosenRung choice;
  Shape shape;
  DType dtype;
  Schedule schedule;
  std::optional<Variant> variant; ///< the variant of the rung; none: its usual form
  KnobValues knobs;               ///< the value of each knob of the schedule
  /// The record from which it takes knobs; none: it has no table.
  std::optional<TableUse> use = {};

  /// The computation at the shape, and the program after the first n directives.
  Program source() const { return step(0); }
  Program step(std::size_t n) const;
  /// The lowered schedule, for a launch at the shape. Each leading dimension of a symbolic kernel is at least
  /// the row length + `gap`.
  kernel::Plan plan(std::int64_t gap = 0) const { return at_shape(lower(schedule), gap); }
  /// The same for a schedule that is lowered already.
  kernel::Plan at_shape(kernel::Plan lowered, std::int64_t gap = 0) const;
};
Scheduled schedule_choice(const Context &context, const ChosenRung &choice, const Target &target = {});
/// The same with `knobs`, which contains the choices of the schedule afterwards.
Scheduled schedule_choice(const Context &context, const ChosenRung &choice, const Target &target, Knobs &knobs);
/// The schedule at any shape and dtype.
Scheduled schedule_at(const ChosenRung &choice, Shape shape, DType dtype, const Target &target, Knobs &knobs);
/// The same with a schedule that is chosen already.
Scheduled schedule_at(const ChosenRung &choice, Shape shape, DType dtype, ChosenKnobs chosen);
/// The form of the rung and the record of the table, for a row: "scalar", "as 1024x1024x1024". May be empty.
std::string form_text(const Scheduled &scheduled);
/// "deep_dive/naive  f32 256x256x256".
std::string title(const Scheduled &scheduled);

/// If kernels of a plan have one thread because the schedule binds none of their loops, a sentence with advice.
/// Otherwise empty.
std::string unbound_warning(const std::string &name, const kernel::Plan &plan);
/// Prints `unbound_warning` on stderr.
void warn_if_unbound(const Scheduled &scheduled, const kernel::Plan &plan);

/// Throws UserError (usage) if the simulator would take hours for the program at `shape`.
void check_work(const Program &source, const Shape &shape);
/// Throws UserError (usage) if execution at `shape` needs more memory than this machine has.
void check_memory(const Program &source, const Shape &shape);

} // namespace nestsmith::cli
