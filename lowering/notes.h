#pragma once
/// Comments on the statements and the arrays of a kernel, for its texts. They follow from what the kernel
/// states.

#include "lowering/kernel.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::kernel {

std::string_view name(Hazard::Kind kind); ///< "read after write"

/// The purpose of a guard, the hazards of a barrier or a wait, the tiles of a commit, or that the order of an
/// atomic operation changes the result; empty if the statement states none of these.
std::string note_of(const Stmt &stmt);
/// The content of the buffer: "64 x 8 tile of A"; empty if it is not stated.
std::string note_of(const Allocation &allocation);
/// "A_shared, B_shared"
std::string names_of(const std::vector<Buffer> &buffers);

} // namespace nestsmith::kernel
