#pragma once
/// The figures of each post, one file each.

#include "tools/pages/figures/figures.h"

namespace nestsmith::figure {

std::vector<Figure> of_deep_dive();
std::vector<Figure> of_transposed();
std::vector<Figure> of_tvm_steps();
std::vector<Figure> of_principles();

} // namespace nestsmith::figure
