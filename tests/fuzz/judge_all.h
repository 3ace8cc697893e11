#pragma once
/// A schedule under every oracle there is: those of judge.h, and what a user does with a schedule besides.

#include "tests/fuzz/judge.h"

namespace nestsmith::fuzz {

/// The verdict of `judge`. If it breaks no promise, the scheduled program is a computation, which another
/// schedule may begin with, whatever it owes. If the schedule is lowered, too:
///
/// - the launch takes no sizes at which the kernel accesses memory out of bounds;
/// - registers that an instruction takes as words are aligned as words;
/// - a check fails if all elements of an output are wrong;
/// - every command of the command line ends (tests/fuzz/commands.h); `report` only if asked for.
///
/// `schedule` is that of the case.
Verdict judge_all(const Case &test_case, const Schedule &schedule, const Thoroughness &thoroughness);

} // namespace nestsmith::fuzz
