#pragma once
/// The instructions of asynchronous copies (flights.h), and of bulk stores (box_stores.h).

#include "runtime/sim/decoded_kernel.h"

namespace nestsmith::sim {

/// `issue_copy`: `access` is the destination, whose value is in a register; `c` is the index in
/// `DecodedKernel::copies`. `wait_copies`: `c` is the number of pending groups, and `imm` the site.
const Instr *issue_copy(const Instr *ip, Warp &w);
/// The same, to the shared memory of all blocks of the cluster.
const Instr *issue_copy_to_cluster(const Instr *ip, Warp &w);
const Instr *commit_copies(const Instr *ip, Warp &w);
const Instr *wait_copies(const Instr *ip, Warp &w);
/// All copies of the active lanes arrive. `site` is that of the statement that waits for them.
void land_copies(Warp &w, std::int64_t site);

/// `start_store`: `access` is that of the element in the tile. `wait_stores`: `c` is the number of pending
/// groups, `access` stands for the reads of one tile until the wait, and `imm` is the site.
const Instr *start_store(const Instr *ip, Warp &w);
const Instr *commit_stores(const Instr *ip, Warp &w);
const Instr *wait_stores(const Instr *ip, Warp &w);

} // namespace nestsmith::sim
