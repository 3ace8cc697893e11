#pragma once
/// The traces of all rungs as `show --trace cpp` prints them, compiled: see make_traces.sh.

#include "dsl/schedule/schedule.h"

#include <string>
#include <utility>
#include <vector>

namespace nestsmith::test {

extern const std::vector<std::pair<std::string, void (*)(Schedule &)>> traces;

} // namespace nestsmith::test
