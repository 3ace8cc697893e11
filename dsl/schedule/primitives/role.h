#pragma once
#include "dsl/schedule/primitives/primitive.h"

#include <cstdint>

namespace nestsmith::primitives {

/// role({A_shared, B_shared}, 4, 40): 4 warps of their own fill the tiles A_shared and B_shared of a pipelined
/// loop, with 40 registers for each thread. All other blocks keep the warps to which their loops are bound, the
/// *main* role, and get the registers that are left.
///
///     for k < n pipelined […]:              4 more warps:                  the other warps:
///       A_shared: …                         for k < n:                     for k < n:
///       B_shared: …                 =>        await a free slot              await the tiles of k
///       AB: … A_shared … B_shared …           A_shared, B_shared of k        AB of k
///                                             the tiles are filled           the slot is free
///
/// The warps of a role run ahead by as many iterations as the tiles have copies, which the stages of the
/// pipeline decide. No barrier of the block is left in the loop. Loops of the role are bound to threads of its
/// own: bind the loops of A_shared and B_shared after role, to 128 threads for 4 warps. `registers` is 0 if
/// they are not stated: then all threads have the same number.
///
/// Requires [role.feature]: the target has barriers in shared memory.
/// Requires [role.blocks]: there is a block, all blocks write shared arrays, and none has a role already.
/// Requires [role.warps]: there is a warp, and the thread block has no more threads than the target allows.
/// Requires [role.registers]: the registers are 0, or a multiple of 8 from 24 to 256, the target can move
///   registers from warp to warp, and the role has whole groups of 4 warps.
/// Ensures: the sequential meaning and every result of the kernel are unchanged. With registers, an SM has one
///   block. Obligations: the blocks only copy from global memory to tiles of one pipelined loop, which blocks
///   of the main role of one stage read; their loops are bound to as many threads as the warps have. Other
///   shared arrays belong to the main role, whose warps have a barrier of their own. Stated registers leave 24
///   or more to each thread of the main role.
extern const Primitive role;

} // namespace nestsmith::primitives
