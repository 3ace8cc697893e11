#pragma once
/// Commands of the command line. Each is in its own file, cmd_NAME.cpp; cli.cpp has the only list of them.

#include "dsl/expr/error.h"
#include "schedules/rung.h"
#include "tools/options/arguments.h"
#include "tools/output/terminal.h"

#include <memory>
#include <string>
#include <vector>

namespace nestsmith::records {
class MeasuredTable;
}

namespace nestsmith::cli {

struct Context {
  const std::vector<Rung> &rungs;
  const Arguments &arguments;
  Style style;                          ///< style of the text on stdout
  std::vector<Tutorial> tutorials = {}; ///< text that `list` prints above their rungs
  /// The measured times of nestsmith with those of --records; null: those of nestsmith.
  std::shared_ptr<const records::MeasuredTable> measured = nullptr;

  bool json() const { return arguments.has("json"); }
};

struct Command {
  std::string name;
  std::string summary;    ///< one line
  std::string positional; ///< as in a usage line: "RUNG [RUNG]"
  /// `min_positional` 1: a RUNG is required. If there is only one rung, it is implied.
  std::size_t min_positional = 0, max_positional = 0;
  std::vector<Option> options; ///< options of this command; the options of every command are added
  std::string notes;           ///< examples at the end of its help
  /// Returns the exit code. Throws UserError.
  ExitCode (*run)(const Context &context);
};

/// Options that several commands share.
Option shape_option();
/// `shape` says how --shape is used with the option.
Option symbolic_option(const std::string &shape = "--shape selects the shape of the run");
Option multiple_of_option();
Option rows_multiple_of_option();
Option dtype_option();
Option set_option();
Option table_option();

Command run_command();
Command list_command();
Command show_command();
Command diff_command();
Command emit_command();
Command compile_command();
Command check_command();
Command explain_command();
Command compare_command();
Command bench_command();
Command tune_command();
Command report_command();
Command figures_command();
Command lint_command();
Command exercise_command();
Command doctor_command();

} // namespace nestsmith::cli
