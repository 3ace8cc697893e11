#pragma once
/// Translates the words of a command line to schedules: names of rungs and tutorials, trace files, shapes and
/// dtypes.

#include "lowering/lower.h"
#include "lowering/plan.h"
#include "runtime/records/knob_table.h"
#include "tools/command.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The record of a table from which a schedule takes its knobs.
struct TableUse {
  std::optional<records::Record> record; ///< none: the knobs have their defaults
  bool exact = false;                    ///< the record is of this shape
  /// The knobs that have other values than in the record, because these are not candidates or not legal here.
  std::vector<std::string> except = {};
  std::string why = {}; ///< the reason why there is no record
};

/// The value of an argument RUNG: a rung or a trace file.
struct Choice {
  std::string name;
  std::string summary;
  Shape default_shape, gpu_shape;
  Shape tile; ///< extents of the tile of one block
  DType default_dtype = DType::f32;
  bool fixed_shape = false; ///< the choice is a trace file, which contains its shape
  bool own_shape = false;   ///< ignore --shape, because it has another number of extents than this rung
  BuildFunction build;      ///< without --set and the table
  /// The values of --set, or those with which a trace file was made. The schedule function chooses the others.
  KnobValues knobs = {};
  std::function<std::optional<Variant>(const Shape &, DType)> variant = nullptr;
  /// The table of the rung or of --table; null: none.
  std::shared_ptr<const records::KnobTable> table = nullptr;
  bool given_table = false; ///< --table
  bool given_knobs = false; ///< --set

  /// The schedule with the knobs of --set, and those of the nearest record of the table with which it is legal.
  /// If it is not legal with all knobs of a record, one knob may have its default. Sets `use` if there is a
  /// table. Throws UserError (usage) for a knob of --set or --table that the schedule does not have.
  Schedule schedule(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                    std::optional<TableUse> *use = nullptr) const;
  Schedule schedule(const Shape &shape, DType dtype, const Target &target) const {
    Knobs defaults;
    return schedule(shape, dtype, target, defaults);
  }

private:
  Schedule with_knobs(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) const;
};

/// Finds one rung: "deep_dive/naive", "naive" if the name is unique, or the path of a trace file. Throws
/// UserError (usage) with the nearest names.
Choice choose_rung(const std::vector<Rung> &rungs, const std::string &word);
/// The choice with the knobs of --set and the table of --table.
Choice with_given_knobs(const Context &context, Choice choice);
/// The first positional argument, with the knobs of --set and the table of --table.
Choice given_rung(const Context &context);
/// If --shape has the right number of extents for only some of the choices, the other choices keep their own
/// shapes. Then returns a sentence about this, otherwise an empty string.
std::string spare_other_ranks(const Context &context, std::vector<Choice> &choices);
/// Accepts names of rungs and of tutorials. Without words, returns the rungs of the first tutorial.
std::vector<Choice> choose_rungs(const std::vector<Rung> &rungs, const std::vector<std::string> &words);

/// Parses "512x512x512". Throws UserError (usage) if it is malformed, has a different number of extents, or has
/// an extent below 1 or above 2^31 - 1.
Shape parse_shape(const std::string &text, std::size_t extents);
std::string to_text(const Shape &shape);
/// Parses an element of --shapes. One number is the shape with this number as every extent.
Shape parse_listed_shape(const std::string &text, std::size_t extents);

/// The value of --multiple-of. Throws UserError (usage) if it is 0.
std::optional<std::int64_t> given_multiple(const Context &context);
/// The value of --shape or --dtype, or the default of the choice.
Shape chosen_shape(const Context &context, const Choice &choice);
DType chosen_dtype(const Context &context, const Choice &choice);

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
  Choice choice;
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
Scheduled schedule_choice(const Context &context, const Choice &choice, const Target &target = {});
/// The same with `knobs`, which contains the choices of the schedule afterwards.
Scheduled schedule_choice(const Context &context, const Choice &choice, const Target &target, Knobs &knobs);
/// The schedule at any shape and dtype.
Scheduled schedule_at(const Choice &choice, Shape shape, DType dtype, const Target &target, Knobs &knobs);
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
