#pragma once
/// Names of the sizes that a launcher for one shape takes: those of the computation for all shapes.

#include "codegen/emit.h"
#include "dsl/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// The names of the sizes of `symbolic`, with their values for `extents`. Empty if `symbolic` has other
/// parameters than `constant` for these extents.
std::vector<NamedExtent> launch_sizes(const Program &constant, const Program &symbolic,
                                      std::span<const std::int64_t> extents);

} // namespace nestsmith
