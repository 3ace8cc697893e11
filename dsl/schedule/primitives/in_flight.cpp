#include "dsl/schedule/primitives/in_flight.h"

#include "dsl/hardware/intrinsics.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>

namespace nestsmith {

constinit const Primitive primitives::in_flight =
    primitive<&Schedule::in_flight>("in_flight", {block("block"), integer("iterations", 1)});

void Schedule::in_flight(BlockRef handle, std::int64_t iterations, Caller caller) {
  Edit edit(*this, caller, primitives::in_flight, handle, iterations);
  const Block &block = edit.block(handle);
  const std::string &name = block.id->name;
  const std::vector<const For *> loops = loops_of(path_to(edit.body(), block.id));
  if (std::ranges::none_of(loops, [](const For *loop) {
        const auto *call = std::get_if<Tensorized>(&loop->form);
        return call && reads_tiles(call->intrinsic);
      }))
    edit.refuse(
        "in_flight.calls",
        fmt::format("block {} makes no calls of matrix units that read tiles themselves, and other calls "
                    "end at once; tensorize it with such an intrinsic (wgmma_…) first",
                    name),
        {name});
  const auto pipelined = std::ranges::find_if(loops | std::views::reverse,
                                              [](const For *loop) { return !loop->pipeline().empty(); });
  if (pipelined == loops.rend())
    edit.refuse(
        "in_flight.pipeline",
        fmt::format("no loop around block {} is pipelined, so its tiles have one copy, and no call can run "
                    "on while it is refilled; use pipeline first",
                    name),
        {name});
  if (iterations < 1 || iterations > 8)
    edit.refuse(
        "in_flight.count",
        fmt::format("got {} iterations in flight, expected a number from 1 to 8; {}", iterations,
                    iterations < 1 ? "leave in_flight out" : "each of them needs one more copy of the tiles"),
        {name});
  std::vector<BlockStage> stages = (*pipelined)->pipeline();
  std::ranges::find(stages, block.id, &BlockStage::block)->in_flight = iterations;
  edit.commit(edit.replace_loop(**pipelined, with_pipeline(**pipelined, std::move(stages))));
}

} // namespace nestsmith
