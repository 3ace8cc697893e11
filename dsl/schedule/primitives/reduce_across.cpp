#include "dsl/schedule/primitives/reduce_across.h"

#include "dsl/hardware/intrinsics.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// The innermost loop around all loops of the reduction.
const For &place_of(const Schedule::Edit &edit, const Block &block) {
  const For *place = nullptr;
  for (const For *loop : edit.loops_around(block.id)) {
    if (is_loop_of_sum(block, loop->var))
      break;
    place = loop;
  }
  if (!place)
    edit.refuse("reduce_across.place",
                fmt::format("no loop is around the loops of the reduction of block {}, so its result has no "
                            "place in the nest; give the result an axis, of extent 1 if it is one element, "
                            "and reorder so that its loop is the outermost",
                            block.id->name),
                {block.id->name});
  return *place;
}

/// The intrinsic that combines the results of the lanes of a warp.
std::string call_of(Reducer reducer) { return fmt::format("warp_{}", name(reducer)); }
bool has_shuffles(const Block &block) {
  return !find_intrinsics(call_of(block.reducer), block.body.buffer->dtype).empty();
}

/// The sequence of directives.
class Sequence {
public:
  Sequence(Schedule &schedule, const std::string &result, BlockRef block, Loop place)
      : s_(schedule), result_(result), block_(block), place_(place), buffer_(buffer_of(block)),
        reducer_(find_block(schedule.program().body, block.id)->reducer) {}

  /// Each lane of a warp computes a part.
  BlockRef over_lanes(Loop lane) {
    bool stored = is_stored();
    BlockRef parts = s_.rfactor(lane, named(result_));
    s_.set_scope(parts, Scope::warp);
    s_.transform_layout(parts, lanes_first(buffer_of(parts)->shape.size()));
    s_.bind(lane, Axis::lane);
    s_.reverse_compute_at(block_, place_);
    std::optional<BlockRef> writeback;
    if (stored)
      writeback = s_.cache_write(block_, Scope::warp);
    else
      s_.set_scope(block_, Scope::warp);
    s_.transform_layout(block_, copies_in_lanes(buffer_->shape.size()));
    if (writeback)
      store_once(*writeback, place_, Axis::lane, lanes_per_warp);
    s_.tensorize(s_.loops(block_).back(), call());
    return parts;
  }

  /// Each warp computes a part by its lanes. The parts of the warps are in shared memory.
  BlockRef over_warps(Loop loop, std::int64_t threads) {
    auto [warp, lane] = s_.split(loop, {infer, lanes_per_warp});
    BlockRef of_warps = s_.rfactor(warp, named(names().name(buffer_->name + "_warp")));
    BlockRef of_lanes = s_.rfactor(lane, named(result_));
    s_.set_scope(of_lanes, Scope::warp);
    s_.transform_layout(of_lanes, lanes_first(buffer_of(of_lanes)->shape.size()));
    move_up(of_lanes, warp);
    s_.bind(warp, Axis::warp);
    s_.bind(lane, Axis::lane);
    s_.reverse_compute_at(of_warps, warp);
    s_.set_scope(of_warps, Scope::shared);
    std::size_t dimensions = buffer_of(of_warps)->shape.size();
    BlockRef writeback = s_.cache_write(of_warps, Scope::warp);
    s_.transform_layout(of_warps, copies_in_lanes(dimensions));
    store_once(writeback, warp, Axis::lane, lanes_per_warp);
    s_.tensorize(s_.loops(of_warps).back(), call());
    finish(Axis::thread_x, threads);
    return of_lanes;
  }

  /// Each thread computes a part, in shared memory.
  BlockRef over_threads(Loop loop, Axis axis, std::int64_t threads) {
    BlockRef parts = s_.rfactor(loop, named(result_));
    s_.set_scope(parts, Scope::shared);
    s_.bind(loop, axis);
    finish(axis, threads);
    return parts;
  }

  /// Each thread computes a part in its registers, and stores it to shared memory.
  BlockRef over_threads_in_registers(Loop loop, Axis axis, std::int64_t threads) {
    BlockRef parts = s_.rfactor(loop, named(result_));
    s_.set_scope(parts, Scope::shared);
    move_up(parts, loop);
    s_.bind(loop, axis);
    s_.reverse_compute_at(s_.cache_write(parts, Scope::local), loop);
    finish(axis, threads);
    return parts;
  }

  /// The program, in which the first thread of the axis executes each copy of results to shared or global
  /// memory. A loop over all threads is around the copy, and a guard of its block excludes the others.
  Program first_threads_store() {
    Schedule::Edit edit = names();
    Program program = s_.program();
    for (const StoredOnce &stored : stored_once_) {
      Path path = path_to(program.body, stored.block.id);
      auto place = std::ranges::find_if(path, [&](const Stmt &stmt) {
        const auto *loop = as<For>(stmt);
        return loop && loop->var == stored.place.var;
      });
      const Stmt old =
          *std::find_if(std::next(place), path.end(), [](const Stmt &stmt) { return !as<Seq>(stmt); });
      For loop{make_var(edit.name(buffer_->name + "_thread")), Expr(1), BoundTo{stored.axis}, old};
      program.body = replace(program.body, old,
                             make_for(with_idle_iterations(std::move(loop), Expr(stored.threads),
                                                           {stored.block.id}, loop_bounds(program.body))));
    }
    return program;
  }

private:
  /// A copy of results below `place` that one of `threads` threads on the axis executes.
  struct StoredOnce {
    BlockRef block;
    Loop place;
    Axis axis;
    std::int64_t threads;
  };

  Buffer buffer_of(BlockRef block) const { return find_block(s_.program().body, block.id)->body.buffer; }
  bool is_stored() const { return !in_registers(buffer_->scope); }
  std::string call() const { return call_of(reducer_); }

  /// Gives names that no loop, block or buffer of the program has.
  Schedule::Edit names() { return {s_, Caller(), primitives::reduce_across, place_, Axis::lane}; }

  /// "d0, d1 -> d0, d1": the first index is the lane.
  static IndexMap lanes_first(std::size_t dimensions) {
    std::string indices = listed(dimensions);
    return IndexMap(fmt::format("{0} -> {0}", indices));
  }
  /// "d0, d1, r -> r, d0, d1": each lane has a copy.
  static IndexMap copies_in_lanes(std::size_t dimensions) {
    std::string indices = listed(dimensions);
    return IndexMap(dimensions == 0 ? "r -> r, 0" : fmt::format("{0}, r -> r, {0}", indices));
  }
  static std::string listed(std::size_t dimensions) {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < dimensions; ++n)
      names.push_back(fmt::format("d{}", n));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  /// Makes the loop the first one below the place of the result.
  void move_up(BlockRef block, Loop loop) {
    std::vector<Loop> below = s_.loops_below(block, place_);
    auto at = std::ranges::find_if(below, [&](const Loop &other) { return other.var == loop.var; });
    below.erase(std::next(at), below.end());
    std::ranges::rotate(below, std::prev(below.end()));
    if (below.size() > 1)
      s_.reorder(below);
  }

  /// Combines the parts in shared memory: in every thread if the result is in registers.
  void finish(Axis axis, std::int64_t threads) {
    bool stored = is_stored();
    s_.reverse_compute_at(block_, place_);
    if (stored)
      store_once(s_.cache_write(block_, Scope::local), place_, axis, threads);
    else
      s_.set_scope(block_, Scope::local);
  }

  /// Moves a copy of results from registers to its place. Later, `first_threads_store` gives it to one thread.
  void store_once(BlockRef writeback, Loop place, Axis axis, std::int64_t threads) {
    s_.reverse_compute_at(writeback, place);
    if (threads > 1)
      stored_once_.push_back({writeback, place, axis, threads});
  }

  Schedule &s_;
  std::string result_;
  BlockRef block_;
  Loop place_;
  Buffer buffer_;
  Reducer reducer_;
  std::vector<StoredOnce> stored_once_;
};

/// Whether threads of the nest differ in another index than threadIdx.x.
bool has_rows_of_threads(const Stmt &nest) {
  return std::ranges::any_of(bound_loops(nest), [](const For *loop) {
    return loop->axis() == Axis::thread_y || loop->axis() == Axis::thread_z;
  });
}

const char *requirement_of(const std::string &broken) {
  if (broken.starts_with("bind."))
    return "reduce_across.axis";
  if (broken.starts_with("rfactor."))
    return "reduce_across.sum";
  if (broken.starts_with("reorder.") || broken.starts_with("reverse_compute_at."))
    return "reduce_across.place";
  return "reduce_across.step";
}

} // namespace

constinit const Primitive primitives::reduce_across =
    primitive<&Schedule::reduce_across>("reduce_across", {loop("loop"), axis("axis")});

BlockRef Schedule::reduce_across(Loop handle, Axis axis, Caller caller) {
  Edit edit(*this, caller, primitives::reduce_across, handle, axis);
  const For &loop = edit.loop(handle);
  if (!is_thread(axis))
    edit.refuse("reduce_across.axis",
                fmt::format("got the axis {}, expected the threads of a block, which can combine their "
                            "results: threadIdx.x, threadIdx.y, threadIdx.z, warp or lane; use rfactor and "
                            "last_block for thread blocks",
                            nestsmith::name(axis)),
                {loop.var->name});
  std::vector<const Block *> blocks = blocks_of(loop.body);
  auto found =
      std::ranges::find_if(blocks, [&](const Block *block) { return is_loop_of_sum(*block, loop.var); });
  if (found == blocks.end())
    edit.refuse("reduce_across.sum",
                fmt::format("no block reduces over {}; name a loop of a reduction", loop.var->name),
                {loop.var->name});
  const Block *block = *found;
  std::int64_t threads = edit.require_constant("reduce_across.axis", loop, "distributed over threads");
  const For &place = place_of(edit, *block);
  std::string name = edit.result_name(0, block->body.buffer->name + "_lane");
  bool shuffles = has_shuffles(*block);
  bool by_shuffles = shuffles && axis == Axis::thread_x && threads % lanes_per_warp == 0 &&
                     !has_rows_of_threads(edit.nest_of(loop.var));
  try {
    Schedule scratch = *this;
    Sequence sequence(scratch, name, {block->id}, {place.var});
    BlockRef parts = axis == Axis::lane && shuffles ? sequence.over_lanes(handle)
                     : by_shuffles                  ? sequence.over_warps(handle, threads)
                     : !shuffles                    ? sequence.over_threads_in_registers(handle, axis, threads)
                                                    : sequence.over_threads(handle, axis, threads);
    edit.commit(sequence.first_threads_store(), {name});
    return parts;
  } catch (const ScheduleError &error) {
    edit.refuse(requirement_of(error.requirement()), fmt::format("{}: {}", error.directive(), error.message()),
                {loop.var->name, block->id->name});
  }
}

} // namespace nestsmith
