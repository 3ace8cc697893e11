#pragma once
/// Translates the words of a command line: names of rungs and tutorials, trace files, and the options --set,
/// --table, --shape and --dtype.

#include "runtime/records/knob_table.h"
#include "tools/options/command.h"
#include "tools/options/shape_text.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The value of an argument RUNG: a rung or a trace file.
struct ChosenRung {
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
  KernelSpace kernels = {};                    ///< of the rung
  std::vector<std::string> kernel_tables = {}; ///< their texts
  bool given_table = false;                    ///< --table
  bool given_knobs = false;                    ///< --set
};

/// Finds one rung: "deep_dive/naive", "naive" if the name is unique, or the path of a trace file. Throws
/// UserError (usage) with the nearest names.
ChosenRung choose_rung(const std::vector<Rung> &rungs, const std::string &word);
/// The choice with the knobs of --set and the table of --table.
ChosenRung with_given_knobs(const Context &context, ChosenRung choice);
/// The same for a command without the option --table FILE.
ChosenRung with_set_knobs(const Context &context, ChosenRung choice);
/// The first positional argument, with the knobs of --set and the table of --table.
ChosenRung given_rung(const Context &context);
/// The architecture of the trace file that the first argument names; none for a rung. Throws the errors of
/// `parse_trace`.
std::optional<Arch> arch_of_trace(const Context &context);
/// If --shape has the right number of extents for only some of the choices, the other choices keep their own
/// shapes. Then returns a sentence about this, otherwise an empty string.
std::string spare_other_ranks(const Context &context, std::vector<ChosenRung> &choices);
/// Accepts names of rungs and of tutorials. Without words, returns the rungs of the first tutorial.
std::vector<ChosenRung> choose_rungs(const std::vector<Rung> &rungs, const std::vector<std::string> &words);

/// The value of --multiple-of. Throws UserError (usage) if it is 0.
std::optional<std::int64_t> given_multiple(const Context &context);
/// The value of --shape or --dtype, or the default of the choice.
Shape chosen_shape(const Context &context, const ChosenRung &choice);
DType chosen_dtype(const Context &context, const ChosenRung &choice);

} // namespace nestsmith::cli
