#pragma once
/// The rules of `Schedule::obligations`: one function for each. A rule returns what the schedule still owes.
/// The file NAME.cpp defines the rules below its name.

#include "dsl/schedule/obligations/nest.h"

#include <optional>
#include <vector>

namespace nestsmith::owed {

/// The obligation that a rule finds for one buffer or block; none if its requirement holds.
using Owed = std::optional<Obligation>;

// between_nests.cpp: each nest becomes a kernel, at whose end shared memory and registers are lost.

/// Thread blocks exchange elements of a global temporary only between two nests, or before the last block.
/// Blocks that use a temporary in shared memory or registers are in one nest.
std::vector<Obligation> temporaries_between_nests(const Schedule &schedule);
/// Accesses of different threads to one element of global memory are ordered if one of them is a write.
std::vector<Obligation> races_in_global_memory(const Schedule &schedule);
/// Nests of one launch have the same threads and grids of constant extents, and no element in common that one
/// of them writes.
std::vector<Obligation> shared_launches(const Schedule &schedule);

// temporaries.cpp: a temporary of a nest, which is not in global memory. The first rule that does not hold is
// owed.

/// All blocks that use the temporary are below the loops bound to the axes on which it has copies.
Owed used_by_its_owners(NestFacts &nest, const Buffer &buffer);
/// Lanes hold the elements of the fragment that they access (dsl/hardware/fragment_rules.h).
Owed held_by_its_lanes(NestFacts &nest, const Buffer &buffer);
/// The number of elements in memory is a constant.
Owed of_constant_size(NestFacts &nest, const Buffer &buffer);
/// No two elements in memory at one time have the same place in the layout.
Owed laid_out_invertibly(NestFacts &nest, const Buffer &buffer);
/// A thread or warp reads only elements in registers that it wrote itself.
Owed filled_by_its_readers(NestFacts &nest, const Buffer &buffer);
/// The elements of one thread fit in its registers.
Owed fitting_in_registers(NestFacts &nest, const Buffer &buffer);

// sums.cpp

/// From the outermost loop of a sum inwards, no loop executes an iteration of the block again. Otherwise, there
/// is no place for the init.
Owed place_for_init(NestFacts &nest, const Block &block);

// writers.cpp

/// Only one of the threads or blocks that share an element writes it. By atomics, several write it, but only
/// one executes each instance.
std::vector<Obligation> one_writer(NestFacts &nest, const Block &block);
/// Terms are combined by atomics in global memory. Other accesses to the element in the nest have the rules of
/// all writes.
std::vector<Obligation> atomics_in_global_memory(NestFacts &nest);
/// An init and its update write each element in the same thread, because no barrier separates them.
std::vector<Obligation> init_in_thread_of_update(NestFacts &nest);

// placed_loops.cpp

/// The loops around the loop with `last_block`, and this loop, are all loops on block axes: a counter belongs
/// to one iteration of them.
std::vector<Obligation> blocks_around_last_block(NestFacts &nest);
/// The operands of calls of a warp satisfy the intrinsic (dsl/hardware/call_rules.h).
std::vector<Obligation> calls_of_warps(NestFacts &nest);
/// Vectors, and the operands of calls of a thread, are contiguous and aligned. This depends on layouts and
/// padding, which are final only at the end of the schedule.
std::vector<Obligation> vectors(NestFacts &nest);
/// Asynchronous copies satisfy the rules of dsl/hardware/async_copy.h, and bulk copies those of bulk_copy.h.
std::vector<Obligation> async_copies(NestFacts &nest);

// resources.cpp

/// The arrays of a thread block fit in shared memory.
std::vector<Obligation> shared_memory(NestFacts &nest);
/// The requested thread blocks fit on an SM with their threads and their shared memory, and leave enough
/// registers to the calls of matrix units that read their tiles themselves. Other registers need no rule,
/// because the compiler limits their number.
std::vector<Obligation> launch_bounds(NestFacts &nest);

/// The roles of warps satisfy `find_role_breach` (dsl/ir/roles.h), and leave enough registers to the main role.
std::vector<Obligation> warp_roles(NestFacts &nest);

/// The blocks of a cluster copy only in bulk for each other (`find_cluster_breach` of dsl/hardware/cluster.h).
std::vector<Obligation> clusters(NestFacts &nest);

/// All of them, in the order in which users see them.
std::vector<Obligation> obligations_of(const Schedule &schedule);

} // namespace nestsmith::owed
