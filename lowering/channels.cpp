#include "lowering/channels.h"

#include "dsl/hardware/cluster.h"
#include "lowering/hazards.h"

#include <algorithm>

namespace nestsmith {

namespace {

/// Whether the loops around a pipelined loop, and the loop itself, may fill more tiles than there are slots.
bool is_reused(const Program &program, const RoleChannel &plan) {
  const auto fills = iterations_of(loops_of(path_to(program.body, plan.loop->var)));
  return !fills || *fills > plan.slots;
}

/// The bytes that the bulk copies of a block bring in one iteration of the pipelined loop: whole boxes.
std::int64_t bytes_of_fill(const Block &block, const For &pipelined) {
  std::int64_t bytes = byte_size(block.body.buffer->dtype);
  for (const For *loop : loops_of(path_to(pipelined.body, block.id)))
    bytes *= as_int(loop->extent).value();
  return bytes;
}

} // namespace

PlannedChannel plan_channel(const Program &program, const WarpRole &role, std::size_t number,
                            std::int64_t main) {
  RoleChannel plan = channel_of(program, role);
  ChannelSide side{.channel = number,
                   .fills = false,
                   .slots = plan.slots,
                   .in_flight = plan.in_flight,
                   .filled = {},
                   .freed = {},
                   .reused = is_reused(program, plan),
                   .copies = false,
                   .stores = false,
                   .bulk_bytes = 0};
  std::int64_t blocks = 1;
  for (const Block *block : blocks_of(program.body)) {
    const bool fills = std::ranges::find(plan.tiles, block->body.buffer) != plan.tiles.end();
    side.copies = side.copies || (fills && block->async && !block->bulk);
    side.stores = side.stores || (fills && !block->async);
    if (fills && block->bulk)
      side.bulk_bytes += bytes_of_fill(*block, *plan.loop);
    if (fills && multicast_loop(program.body, *block))
      blocks = blocks_of_cluster(program.body);
    for (const Buffer &tile : plan.tiles)
      if (!fills && reads(*block, tile)) {
        using Kind = kernel::Hazard::Kind;
        kernel::add_hazards(side.filled, {{Kind::read_after_write, tile, block->body.buffer}});
        kernel::add_hazards(side.freed,
                            {{Kind::write_after_read, tile, block->body.buffer, plan.loop->var, plan.slots}});
      }
  }
  kernel::Channel channel{.tiles = plan.tiles,
                          .role = number + 1,
                          .slots = plan.slots,
                          .filled = role.warps * lanes_per_warp * (side.copies + side.stores) +
                                    (side.bulk_bytes != 0 ? 1 : 0),
                          .freed = main / lanes_per_warp * blocks,
                          .blocks = blocks};
  return {plan.loop->var, std::move(channel), std::move(side)};
}

std::vector<kernel::RoleOfWarps> plan_roles(const Program &program, std::int64_t main, std::int64_t all) {
  const RoleRegisters registers = role_registers(program, main, all);
  auto planned = [&](std::int64_t first_thread, std::int64_t warps, std::int64_t of_thread) {
    using Change = kernel::RoleOfWarps::Change;
    return kernel::RoleOfWarps{first_thread / lanes_per_warp, warps, of_thread,
                               of_thread == 0 || of_thread == registers.at_launch ? Change::none
                               : of_thread < registers.at_launch                  ? Change::fewer
                                                                                  : Change::more};
  };
  std::vector<kernel::RoleOfWarps> roles = {planned(0, main / lanes_per_warp, registers.main)};
  std::int64_t first = main;
  for (const WarpRole &role : program.roles) {
    roles.push_back(planned(first, role.warps, registers.of(role)));
    first += role.warps * lanes_per_warp;
  }
  return roles;
}

} // namespace nestsmith
