#include "dsl/schedule/primitives/reduce_across.h"

#include "dsl/hardware/intrinsics.h"
#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/loop_names.h"
#include "dsl/schedule/primitives/move.h"

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

/// A reduction is divided among blocks before it is divided among the threads of a block.
void check_no_threads(const Schedule::Edit &edit, const Block &block, const For &place) {
  for (const For *loop : edit.loops_around(place.var))
    if (loop->axis() && is_thread(*loop->axis()))
      edit.refuse(
          "reduce_across.place",
          fmt::format("the loop {} around the loops of the reduction of block {} is bound to {}, so its "
                      "result belongs to threads and not to a thread block; use reduce_across on a block "
                      "axis first, and then on a thread axis",
                      loop->var->name, block.id->name, name(*loop->axis())),
          {loop->var->name, block.id->name});
}

/// The intrinsic that combines the results of the lanes of a warp.
std::string call_of(Reducer reducer) { return fmt::format("warp_{}", name(reducer)); }
bool has_shuffles(const Block &block) {
  return !find_intrinsics(call_of(block.reducer), block.body.buffer->dtype).empty();
}

/// The statements after the loops of a reduction in its nest, if one of them reads the result. While the
/// sequence changes the reduction, they are in a nest of their own, as if nothing were between the two. So the
/// result of the sequence is complete at its place before they execute, as the result of the reduction was.
class Readers {
public:
  Readers(const Schedule::Edit &edit, const Block &block, const For &place) : block_(block), place_(place.var) {
    std::vector<const For *> loops = edit.loops_around(block.id);
    loops.erase(std::next(std::ranges::find(loops, place_, &For::var)), loops.end());
    bool read = false;
    for (const For *loop : loops) {
      levels_.push_back({loop, children_of(*loop), {}});
      Level &level = levels_.back();
      auto after =
          std::ranges::find_if(level.before, [&](const Stmt &x) { return find_block(x, block.id); }) + 1;
      level.after.assign(after, level.before.end());
      level.before.erase(after, level.before.end());
      for (const Stmt &stmt : level.after)
        for (const Block *other : blocks_of(stmt))
          read = read || touches(*other, block.body.buffer);
    }
    if (!read)
      levels_.clear();
    for (const Level &level : levels_)
      for (const Stmt &stmt : level.after)
        check_loops(edit, stmt);
  }

  /// Gives the schedule the program in which they are a nest of their own.
  void set_apart(Schedule &schedule) {
    if (levels_.empty())
      return;
    Schedule::Edit edit(schedule, Caller(), primitives::reduce_across, Loop{place_}, Axis::lane);
    const Stmt nest = edit.nest_of(block_.id);
    Stmt first, rest;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      if (first)
        level->before.back() = first;
      For loop = *level->loop;
      For copy = *level->loop;
      loop.body = make_seq(level->before);
      copy.var = level->copy = copied_loop(edit, loop.var, "_init");
      copy.form = Serial{};
      std::vector<Stmt> stmts = level->after;
      if (rest)
        stmts.insert(stmts.begin(), rest);
      copy.body = make_seq(stmts);
      first = make_for(std::move(loop));
      if (!stmts.empty())
        rest = make_for(std::move(copy));
    }
    rest = substitute_loops(rest, [&](const Var &var) {
      auto level = std::ranges::find(levels_, var, [](const Level &x) { return x.loop->var; });
      return level == levels_.end() ? Expr() : Expr(level->copy);
    });
    edit.commit(replace(edit.body(), nest, make_seq({first, rest})));
  }

  /// The program with them back at their places, as the sequence has changed them.
  Program put_back(Program program) const {
    if (levels_.empty())
      return program;
    const Stmt top = path_to(program.body, levels_.front().copy).back();
    program.body = replace(program.body, top, nullptr);
    Stmt at = substitute_loops(top, [&](const Var &var) {
      auto level = std::ranges::find(levels_, var, &Level::copy);
      return level == levels_.end() ? Expr() : Expr(level->loop->var);
    });
    for (std::size_t n = 0; n < levels_.size() && at; ++n) {
      std::vector<Stmt> stmts = children_of(*as<For>(at));
      bool inside = n + 1 < levels_.size() && as<For>(stmts.front()) &&
                    as<For>(stmts.front())->var == levels_[n + 1].copy;
      at = inside ? stmts.front() : nullptr;
      if (inside)
        stmts.erase(stmts.begin());
      if (!stmts.empty())
        program.body = insert_into(program.body, levels_[n].loop->var, make_seq(stmts),
                                   [](const Stmt &) { return false; });
    }
    return program;
  }

private:
  /// A loop around the reduction.
  struct Level {
    const For *loop;
    std::vector<Stmt> before, after; ///< the statements in its body, up to the reduction and after it
    Var copy = {};                   ///< of the loop around those after it
  };

  static std::vector<Stmt> children_of(const For &loop) {
    const auto *seq = as<Seq>(loop.body);
    return seq ? seq->stmts : std::vector{loop.body};
  }

  /// The directives of the sequence do not compare their loops with bound loops of another nest.
  void check_loops(const Schedule::Edit &edit, const Stmt &stmt) const {
    std::vector<const For *> loops = bound_loops(stmt);
    if (!loops.empty())
      edit.refuse(
          "reduce_across.readers",
          fmt::format("block {} uses {} in the nest of {}, and the loop {} after the reduction is bound to "
                      "{}; use reduce_across before bind of the loops after it",
                      first_user(), block_.body.buffer->name, block_.id->name, loops.front()->var->name,
                      nestsmith::name(*loops.front()->axis())),
          {loops.front()->var->name, block_.id->name});
  }

  std::string first_user() const {
    for (const Level &level : levels_)
      for (const Stmt &stmt : level.after)
        for (const Block *other : blocks_of(stmt))
          if (touches(*other, block_.body.buffer))
            return other->id->name;
    return {};
  }

  const Block &block_;
  Var place_;
  std::vector<Level> levels_; ///< the outermost first; none if no statement reads the result
};

/// The sequence of directives.
class Sequence {
public:
  Sequence(Schedule &schedule, const std::string &result, BlockRef block, Loop place)
      : s_(schedule), result_(result), block_(block), place_(place), buffer_(buffer_of(block)),
        reducer_(find_block(schedule.program().body, block.id)->reducer) {}

  /// Each thread block computes a part. The last one to finish combines them in their order.
  BlockRef over_blocks(Loop loop, Axis axis) {
    BlockRef parts = s_.rfactor(loop, named(result_));
    move_up(parts, loop);
    s_.bind(loop, axis);
    s_.reverse_compute_at(block_, place_);
    s_.last_block(loop);
    return parts;
  }

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
    return loop->axis() && is_thread(*loop->axis()) && dimension(*loop->axis()) != 0;
  });
}

const char *requirement_of(const std::string &broken) {
  if (broken.starts_with("bind."))
    return "reduce_across.axis";
  if (broken.starts_with("rfactor."))
    return "reduce_across.sum";
  if (broken.starts_with("reorder.") || broken.starts_with("reverse_compute_at.") ||
      broken.starts_with("last_block."))
    return "reduce_across.place";
  return "reduce_across.step";
}

} // namespace

constinit const Primitive primitives::reduce_across =
    primitive<&Schedule::reduce_across>("reduce_across", {loop("loop"), axis("axis")});

BlockRef Schedule::reduce_across(Loop handle, Axis axis, Caller caller) {
  Edit edit(*this, caller, primitives::reduce_across, handle, axis);
  const For &loop = edit.loop(handle);
  std::vector<const Block *> blocks = blocks_of(loop.body);
  auto found =
      std::ranges::find_if(blocks, [&](const Block *block) { return is_loop_of_sum(*block, loop.var); });
  if (found == blocks.end())
    edit.refuse("reduce_across.sum",
                fmt::format("no block reduces over {}; name a loop of a reduction", loop.var->name),
                {loop.var->name});
  const Block *block = *found;
  std::int64_t threads =
      is_thread(axis) ? edit.require_constant("reduce_across.axis", loop, "distributed over threads") : 1;
  const For &place = place_of(edit, *block);
  if (!is_thread(axis))
    check_no_threads(edit, *block, place);
  std::string name = edit.result_name(0, block->body.buffer->name + (is_thread(axis) ? "_lane" : "_block"));
  bool shuffles = has_shuffles(*block);
  bool by_shuffles = shuffles && axis == Axis::thread_x && threads % lanes_per_warp == 0 &&
                     !has_rows_of_threads(edit.nest_of(loop.var));
  Readers readers(edit, *block, place);
  try {
    Schedule scratch = *this;
    readers.set_apart(scratch);
    Sequence sequence(scratch, name, {block->id}, {place.var});
    BlockRef parts = !is_thread(axis)                 ? sequence.over_blocks(handle, axis)
                     : axis == Axis::lane && shuffles ? sequence.over_lanes(handle)
                     : by_shuffles                    ? sequence.over_warps(handle, threads)
                     : !shuffles ? sequence.over_threads_in_registers(handle, axis, threads)
                                 : sequence.over_threads(handle, axis, threads);
    edit.commit(readers.put_back(sequence.first_threads_store()), {name});
    return parts;
  } catch (const ScheduleError &error) {
    edit.refuse(requirement_of(error.requirement()), fmt::format("{}: {}", error.directive(), error.message()),
                {loop.var->name, block->id->name});
  }
}

} // namespace nestsmith
