#pragma once
/// The list of the primitives. The code that reads and applies traces uses this list. The fuzzer and the
/// exhaustive tests choose primitives from it.
///
/// A new primitive has a pair of files in this folder, a line in list.inc, a method of Schedule, and tests of
/// its meaning and of each refusal.

#include "dsl/schedule/primitives/primitive.h"

#include <string_view>
#include <vector>

namespace nestsmith {

/// In alphabetical order.
const std::vector<Primitive> &all_primitives();
/// The primitive of this name, or null.
const Primitive *find_primitive(std::string_view name);

} // namespace nestsmith
