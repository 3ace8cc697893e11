#pragma once
/// The sizes that a launcher for one shape takes, under the names that the computation has for all shapes.

#include "codegen/emit.h"
#include "dsl/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// The sizes of `symbolic` with their values at these extents; none unless `constant` has its parameters there.
std::vector<NamedExtent> launch_sizes(const Program &constant, const Program &symbolic,
                                      std::span<const std::int64_t> extents);

} // namespace nestsmith
