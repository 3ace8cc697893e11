#pragma once
/// Comparison of the order of the model with the measured order: `tune model`.

#include "tools/options/command.h"

namespace nestsmith::cli {

/// Predicts the points of the database, and prints for each rung, GPU, type and shape: the rank correlation of
/// the predicted with the measured times, the place of the fastest point in the order of the model, and the
/// time of the first point of the model relative to the fastest point.
ExitCode compare_with_model(const Context &context);

} // namespace nestsmith::cli
