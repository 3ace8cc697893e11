#pragma once
/// The instructions of asynchronous copies (flights.h).

#include "runtime/sim/decoded_kernel.h"

namespace nestsmith::sim {

/// `issue_copy`: `access` is the destination, whose value is in a register; `c` is the index in
/// `DecodedKernel::copies`. `wait_copies`: `c` is the number of pending groups, and `imm` the site.
const Instr *issue_copy(const Instr *ip, Warp &w);
const Instr *commit_copies(const Instr *ip, Warp &w);
const Instr *wait_copies(const Instr *ip, Warp &w);
/// All copies of the active lanes arrive. `site` is that of the statement that waits for them.
void land_copies(Warp &w, std::int64_t site);

} // namespace nestsmith::sim
