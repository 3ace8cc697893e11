#pragma once
/// The command line on a schedule that is neither refused nor wrong: every command has to end, with exit code 0
/// or with a refusal.

#include "tests/fuzz/computations.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith::fuzz {

/// Creates the folder of the files, which the copies of this process share. Without this call, each copy leaves
/// a folder behind.
void prepare_commands();

/// For a copy of this process: no NVRTC, with which `emit` takes ten times as long, and no results of other
/// runs.
void use_no_libraries();

/// Leaves the command out from now on, by the name that `doing` has.
void leave_out(const std::string &command);

/// Which of the commands that take long are tried: `report`, which draws each step.
struct CommandOptions {
  bool report = true;
  bool sample = false; ///< half of the others, which the trace decides
  bool runs = true;    ///< the shape is small enough for the simulator, so for `explain`, too
};

/// Calls `show --lowered`, `emit` with a header, `emit --standalone`, `explain`, `report`, and, with the case
/// as a rung, `emit --shapes`, of some cases also for a table of measurements. Returns what went wrong. A
/// command that crashes or hangs ends the process; `doing` (tests/fuzz/isolated.h) says which.
std::optional<std::string> fault_of_commands(const Case &test_case, const Schedule &schedule,
                                             const CommandOptions &options);

} // namespace nestsmith::fuzz
