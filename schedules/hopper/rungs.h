#pragma once
/// Tutorial `hopper`: products by the units of Hopper, one idea for each rung.

#include "schedules/rung.h"

#include <vector>

namespace nestsmith::hopper {

std::vector<Rung> rungs();

} // namespace nestsmith::hopper
