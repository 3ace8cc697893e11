#pragma once
/// Completion of a command line, for a shell. The hidden command `complete WORD...` prints the candidates.

#include "tools/command.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// What may stand for the last of `words`, which is what was typed of it. The others are the words before it
/// on the command line, without the program's name. A candidate with a `*` is a pattern of file names. All of
/// it is read from the commands' tables; `common` are the options of every command.
std::vector<std::string> candidates(const std::vector<Command> &commands, const std::vector<Option> &common,
                                    const std::vector<Rung> &rungs, std::vector<std::string> words);

} // namespace nestsmith::cli
