#include "dsl/schedule/primitives/launch_bounds.h"

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith::primitives {

void launch_bounds(Schedule &schedule, std::int64_t min_blocks) {
  Schedule::Edit edit(schedule, "launch_bounds", {min_blocks});
  const Target &target = schedule.target();
  if (min_blocks < 1 || min_blocks > target.blocks_per_sm)
    edit.refuse("launch_bounds.count", fmt::format("got {} blocks on an SM, expected 1 to {}, the limit of {}",
                                                   min_blocks, target.blocks_per_sm, to_string(target.arch)));
  std::int64_t threads = threads_of(edit.program());
  if (min_blocks * threads > target.threads_per_sm)
    edit.refuse("launch_bounds.threads",
                fmt::format("{} blocks of {} threads are {} threads, but an SM of {} "
                            "holds at most {}; request at most {} blocks",
                            min_blocks, threads, min_blocks * threads, to_string(target.arch),
                            target.threads_per_sm, target.threads_per_sm / threads));
  Program next = edit.program();
  next.min_blocks = min_blocks;
  edit.commit(std::move(next));
}

} // namespace nestsmith::primitives
