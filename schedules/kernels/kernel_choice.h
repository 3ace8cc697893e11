#pragma once
/// The formula that predicts the times of kernels, and the legal choices at a size. It is plain C, so that
/// `emit --dispatch` writes the same text into its file: `kernel_choice_text`. The fit of its coefficients is
/// in kernel_model.cpp.

#include <cmath>
#include <string>
#include <vector>

namespace nestsmith::records::choice {

using std::pow;
#include "schedules/kernels/kernel_choice.inc"

} // namespace nestsmith::records::choice

namespace nestsmith::records {

/// The text of kernel_choice.inc. It needs `pow` of <math.h>.
extern const char *const kernel_choice_text;
/// The definitions of `static const struct Kernel kernels[]` and `static const struct Machine machine` in C.
/// Their numbers are exact.
std::string kernel_choice_data(const std::vector<choice::Kernel> &kernels, const choice::Machine &machine);

} // namespace nestsmith::records
