#pragma once
/// From the words of a command line to schedules: names of rungs and tutorials, trace files, shapes,
/// dtypes.

#include "lowering/lower.h"
#include "lowering/plan.h"
#include "tools/command.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// What stands where RUNG may stand: a rung, or a trace file.
struct Choice {
  std::string name;
  std::string summary;
  Shape default_shape, gpu_shape;
  Shape tile; ///< the extents of one block's tile
  DType default_dtype = DType::f32;
  bool fixed_shape = false; ///< the default is what was asked for: a trace file names its own
  bool own_shape = false;   ///< --shape is meant for the others of a climb: keep the default
  std::function<Schedule(const Shape &, DType, const Target &)> build;
  std::function<std::optional<Variant>(const Shape &, DType)> variant = nullptr;
};

/// One rung: "deep_dive/naive", "naive" where only one tutorial has it, or the path of a trace file. Throws
/// UserError (usage) with the nearest names.
Choice choose_rung(const std::vector<Rung> &rungs, const std::string &word);
/// Where --shape has the number of extents of some choices and not of others, the others keep their own
/// shapes; gives a sentence that says so, or nothing.
std::string spare_other_ranks(const Context &context, std::vector<Choice> &choices);
/// Rungs and whole tutorials; no words: the first tutorial.
std::vector<Choice> choose_rungs(const std::vector<Rung> &rungs, const std::vector<std::string> &words);

/// "512x512x512". Throws UserError (usage) where it is malformed, has the wrong number of extents, or an
/// extent is below 1 or above 2^31 - 1.
Shape parse_shape(const std::string &text, std::size_t extents);
std::string to_text(const Shape &shape);

/// --shape and --dtype, or the defaults of the choice.
Shape chosen_shape(const Context &context, const Choice &choice);
DType chosen_dtype(const Context &context, const Choice &choice);

/// In a check the rows of a symbolic kernel's matrices are this much further apart than they are long, so that
/// a leading dimension which is lost shows.
inline constexpr std::int64_t checked_gap = 3;

/// "f32": the type that was asked for where data of the program have it, else those that they have: "i32".
std::string dtype_name(const Program &source, DType asked);

/// The shape with each extent made what the program states of its size.
Shape fitting_shape(const Program &source, const Shape &shape);
/// Puts into `shape` what the program states of its sizes: one that declares them is symbolic, whatever was
/// asked for. Throws UserError (usage) where a symbolic kernel is asked for and the program declares no size,
/// where it declares fewer than the shape has extents, and where an extent is not what is stated. `name` is the
/// rung's.
void state_sizes(const std::string &name, const Program &source, Shape &shape);

/// The schedule of a choice for --shape and --dtype.
struct Scheduled {
  Choice choice;
  Shape shape;
  DType dtype;
  Schedule schedule;
  std::optional<Variant> variant; ///< which form of the rung it is, where not the usual one

  /// The computation at the shape, and what it is after the first n directives.
  Program source() const { return step(0); }
  Program step(std::size_t n) const;
  /// The lowered schedule, to be launched at the shape; a symbolic one has rows that are `gap` elements apart.
  kernel::Plan plan(std::int64_t gap = 0) const { return at_shape(lower(schedule), gap); }
  /// The same of `lowered`, which is the lowered schedule.
  kernel::Plan at_shape(kernel::Plan lowered, std::int64_t gap = 0) const;
};
Scheduled schedule_choice(const Context &context, const Choice &choice, const Target &target = {});
/// "deep_dive/naive  f32 256x256x256".
std::string title(const Scheduled &scheduled);

/// What to do about a plan whose kernels run in one thread, since its schedule binds nothing; empty for
/// another.
std::string unbound_warning(const std::string &name, const kernel::Plan &plan);
/// The same on stderr.
void warn_if_unbound(const Scheduled &scheduled, const kernel::Plan &plan);

/// Throws UserError (usage) where running on `shape` would take more memory than this machine has.
void check_memory(const Program &source, const Shape &shape);

} // namespace nestsmith::cli
