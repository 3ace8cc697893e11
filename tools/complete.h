#pragma once
/// Shell completion. The hidden command `complete WORD...` prints the candidates.

#include "tools/options/command.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// Candidates for the last element of `words`, which is the typed prefix. The other elements are the preceding
/// words of the command line, without the program name. A candidate with a `*` is a file name pattern. All
/// candidates come from the tables of the commands; `common` are the options of every command.
std::vector<std::string> candidates(const std::vector<Command> &commands, const std::vector<Option> &common,
                                    const std::vector<Rung> &rungs, std::vector<std::string> words);

} // namespace nestsmith::cli
