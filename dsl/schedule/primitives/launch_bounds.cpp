#include "dsl/schedule/primitives/launch_bounds.h"

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::launch_bounds =
    primitive<&Schedule::launch_bounds>("launch_bounds", {integer("min_blocks", 2)});

void Schedule::launch_bounds(std::int64_t min_blocks, Caller caller) {
  Edit edit(*this, caller, primitives::launch_bounds, min_blocks);
  if (min_blocks < 1 || min_blocks > target_.blocks_per_sm)
    edit.refuse("launch_bounds.count", fmt::format("got {} blocks on an SM, expected 1 to {}, the limit of {}",
                                                   min_blocks, target_.blocks_per_sm, to_string(target_.arch)));
  std::int64_t threads = threads_of(edit.program());
  if (min_blocks * threads > target_.threads_per_sm)
    edit.refuse("launch_bounds.threads",
                fmt::format("{} blocks of {} threads are {} threads, but an SM of {} "
                            "holds at most {}; request at most {} blocks",
                            min_blocks, threads, min_blocks * threads, to_string(target_.arch),
                            target_.threads_per_sm, target_.threads_per_sm / threads));
  Program next = edit.program();
  next.min_blocks = min_blocks;
  edit.commit(std::move(next));
}

} // namespace nestsmith
