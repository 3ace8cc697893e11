#pragma once
/// Accesses lane by lane, with every check. The fast paths (handlers.h) call these functions if their
/// conditions do not hold.

#include "runtime/sim/decoded_kernel.h"

namespace nestsmith::sim {

const Instr *slow_load(const Instr *ip, Warp &w);
const Instr *slow_store(const Instr *ip, Warp &w);
/// An atomic operation of each active lane, one after the other. The next instruction combines two uniform
/// registers: it gets the element in `a` and the term in `b`, and leaves the new element in `dst`.
const Instr *update(const Instr *ip, Warp &w);
/// Reports a misaligned vector. `ip->access` is the access to its first element.
const Instr *check_aligned(const Instr *ip, Warp &w);
/// Records that the lanes in `DecodedKernel::receivers[imm]` also read what `access` loads.
const Instr *receive_rows(const Instr *ip, Warp &w);
/// Records that the lanes in `DecodedKernel::receivers[imm]`, which hold the elements, also wrote what `access`
/// stored.
const Instr *store_rows(const Instr *ip, Warp &w);
/// Reports that the copies in `DecodedKernel::replicas[imm]` differ.
const Instr *check_replicas(const Instr *ip, Warp &w);
/// Reports that the operands in `DecodedKernel::shared_registers[imm]` overlap.
const Instr *check_apart(const Instr *ip, Warp &w);

} // namespace nestsmith::sim
