#pragma once
/// Replaces the intrinsics of a warp by host functions, so that emitted text runs on the host.

#include <string>

namespace nestsmith::host {

/// Returns the text with a host function, which executes the meaning, in place of the prelude of each intrinsic
/// of a warp. The prelude contains PTX.
std::string with_host_functions(std::string cuda, bool shuffles);

} // namespace nestsmith::host
