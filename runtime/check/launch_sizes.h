#pragma once
/// Names of the size parameters of a launcher for one shape. They are the names of the sizes of the symbolic
/// computation.

#include "codegen/emit.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// The names of the sizes of `symbolic`, with their values for `extents`. Empty if `symbolic` has other
/// parameters than `constant` for these extents.
std::vector<NamedExtent> launch_sizes(const Program &constant, const Program &symbolic,
                                      std::span<const std::int64_t> extents);

} // namespace nestsmith
