#pragma once
/// Judges a schedule by every oracle: that of judge.h, and further ways in which a user works with a schedule.

#include "tests/fuzz/judge.h"

namespace nestsmith::fuzz {

/// Returns the verdict of `judge`. If the schedule breaks no promise, its program must also be a valid
/// computation for another schedule, even if it has obligations. If the schedule can be lowered:
///
/// - the launch accepts no sizes at which the kernel accesses memory out of bounds;
/// - registers that an instruction reads as words are aligned as words;
/// - a check fails if all elements of an output are wrong;
/// - every command of the command line ends (tests/fuzz/commands.h). `report` is called only on request.
///
/// `schedule` is the schedule of the case.
Verdict judge_all(const Case &test_case, const Schedule &schedule, const Thoroughness &thoroughness);

} // namespace nestsmith::fuzz
