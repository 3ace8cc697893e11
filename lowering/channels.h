#pragma once
/// The channels and the registers of a nest whose warps have roles (dsl/ir/roles.h).

#include "dsl/ir/roles.h"
#include "lowering/pipelines.h"

namespace nestsmith {

/// A channel, and its side in the pipelined loop: that of the main role, until the role that fills is emitted.
struct PlannedChannel {
  Var loop;
  kernel::Channel channel;
  ChannelSide side;
};

/// Channel number `number` is that of `role`. `main` is the number of threads of the main role. `program` is
/// one nest without open obligations.
PlannedChannel plan_channel(const Program &program, const WarpRole &role, std::size_t number,
                            std::int64_t main);

/// The roles in the order of their warps, and what each does with its registers: the main role gets what the
/// others leave of those that the kernel has at launch, a multiple of 8 for each of its threads. `all` is the
/// number of threads of the block.
std::vector<kernel::RoleOfWarps> plan_roles(const Program &program, std::int64_t main, std::int64_t all);

} // namespace nestsmith
