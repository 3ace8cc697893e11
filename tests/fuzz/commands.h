#pragma once
/// Runs the commands on a schedule whose verdict is exact: every command must end with exit code 0 or with a
/// refusal.

#include "tests/fuzz/computations.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith::fuzz {

/// Creates the folder for the files of the commands, which child processes share. Without this call, each child
/// process creates a folder and does not remove it.
void prepare_commands();

/// Disables NVRTC, which makes `emit` ten times slower, and the cache of results, for child processes.
void use_no_libraries();

/// Disables a command from now on. `command` is its name in the note of `doing`.
void leave_out(const std::string &command);

/// Selects the commands that `fault_of_commands` calls. `report` draws each step and takes long.
struct CommandOptions {
  bool report = true;
  bool sample = false; ///< call only half of the other commands, chosen by a hash of the trace
  bool runs = true;    ///< the shape is small enough for the simulator, and for `explain`
};

/// Calls `show --lowered`, `emit` with a header, `emit --standalone`, `explain` and `report`. Also calls `emit
/// --shape` with the case as a rung, for some cases with a table of measurements. Returns a description of the
/// first failure. A command that crashes or hangs ends the process. Then `doing` (tests/fuzz/isolated.h) gives
/// its name.
std::optional<std::string> fault_of_commands(const Case &test_case, const Schedule &schedule,
                                             const CommandOptions &options);

} // namespace nestsmith::fuzz
