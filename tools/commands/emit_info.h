#pragma once
/// Inputs of the text that `emit` writes: the comments, the sizes and the name.

#include "codegen/emit.h"
#include "tools/options/scheduled.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// Title, target, directives and operations of a schedule.
EmitInfo info_of(const Scheduled &scheduled, Arch arch);
/// Where the source of the schedule states its parts.
SourceLines source_lines(const Schedule &schedule);
/// For a kernel of one shape: the sizes of the kernel for all shapes, so that both launchers have the same
/// interface; none if there is no such kernel.
std::vector<NamedExtent> sizes_of(const Scheduled &scheduled, const Target &target);
/// A line for each kernel, such as "sm_90: 12 registers per thread, no spills, 8192 bytes of shared memory per
/// block". Without NVRTC, none.
std::vector<std::string> resource_notes(const kernel::Plan &plan, Arch arch);
/// Throws UserError (usage) if a plan with these parameters cannot have the name from --name.
void check_name(const std::string &name, const kernel::Plan &plan);

} // namespace nestsmith::cli
