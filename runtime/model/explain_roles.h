#pragma once
/// The roles of warps of a kernel, in the report of `explain`.

#include "runtime/model/explain.h"

#include <optional>

namespace nestsmith {

/// The section states what each role does, which slots pass its tiles on, and which roles wait. For each
/// channel, it has the least clocks in which an SM fills a slot and uses it. None if all warps have one role.
std::optional<Section> roles_section(const KernelAnalysis &kernel, const Gpu &gpu);

} // namespace nestsmith
