#pragma once
/// The functions of intrinsics of a warp, for the run of emitted text on the host.

#include <string>

namespace nestsmith::host {

/// The text with the meaning of each intrinsic of a warp in place of its prelude, which contains PTX.
std::string with_host_functions(std::string cuda);

} // namespace nestsmith::host
