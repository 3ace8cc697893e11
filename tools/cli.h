#pragma once
/// The command line as a function. A user's program gets every command for its own rungs:
///
///   int main(int argc, char **argv) { return nestsmith::cli_main(argc, argv, {my_rung}); }

#include "schedules/rung.h"

#include <vector>

namespace nestsmith {

/// Runs one command and returns the exit code of the process (dsl/expr/error.h). Results go to stdout, progress
/// and errors to stderr. Throws no exception. `list` prints the text of `tutorials` above their rungs.
int cli_main(int argc, char **argv, const std::vector<Rung> &rungs,
             const std::vector<Tutorial> &tutorials = {});
/// The same for the rungs of nestsmith.
int cli_main(int argc, char **argv);

} // namespace nestsmith
