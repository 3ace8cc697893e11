#pragma once
/// The figures of each post, one file each.

#include "schedules/figures/figures.h"

namespace nestsmith::figure {

std::vector<Figure> of_000();
std::vector<Figure> of_001();
std::vector<Figure> of_003();
std::vector<Figure> of_004();

} // namespace nestsmith::figure
