#pragma once
/// The compiled C++ traces of all rungs, as printed by `show --trace cpp` (make_traces.sh).

#include "dsl/schedule/schedule.h"

#include <string>
#include <utility>
#include <vector>

namespace nestsmith::test {

extern const std::vector<std::pair<std::string, void (*)(Schedule &)>> traces;

} // namespace nestsmith::test
