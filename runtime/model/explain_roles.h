#pragma once
/// The roles of warps of a kernel, in the report of `explain`.

#include "runtime/model/explain.h"

#include <optional>

namespace nestsmith {

/// What each role does, the slots by which it passes tiles on, what waits for what, and the least clocks of an
/// SM to fill a slot and to use it. None if all warps have one role.
std::optional<Section> roles_section(const KernelAnalysis &kernel, const Gpu &gpu);

} // namespace nestsmith
