#pragma once
/// A schedule: a program and the directives that were applied to it. Each primitive is a method, defined in its
/// own file, dsl/schedule/primitives/NAME.{h,cpp}, whose header shows the rewrite as a picture and states its
/// requirements and guarantees. A directive that would change the result throws ScheduleError
/// and leaves the schedule unchanged.

#include "dsl/expr/error.h"
#include "dsl/hardware/target.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/program.h"
#include "dsl/schedule/directive.h"

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nestsmith {

/// Handles. A handle refers to a loop or a block of the program. It is valid while the program contains this
/// loop or block.
struct Loop {
  Var var;
};
struct BlockRef {
  BlockId id;
};

/// Stage and order of a block of a pipelined loop. Step t executes the blocks of stage s for iteration t - s,
/// in increasing `order`.
struct Stage {
  BlockRef block;
  std::int64_t stage, order;
};

/// The factor of `split` that is computed from the others.
inline constexpr std::int64_t infer = -1;

/// A requirement of lowering that a later directive can still satisfy, for example that a cache fits in shared
/// memory.
struct Obligation {
  std::string message;   ///< the requirement, with the actual and the expected value, and the remedy
  std::size_t directive; ///< number of the directive that caused it; 0: the computation without directives
  std::string culprit;   ///< name of a loop or block to mark in the IR; may be empty
};

class Schedule {
public:
  /// Throws UserError (usage) if the program violates an invariant (dsl/hardware/verify.h).
  explicit Schedule(Program program, Target target = {});

  // Handles. All functions except `name` throw UserError (illegal_schedule) for a name or a handle that does
  // not exist.
  BlockRef block(const std::string &name) const;
  Loop loop(const std::string &name) const;
  /// The loops around the block, outermost first. Throws for a handle that is empty, belongs to another
  /// schedule, or refers to a replaced symbol.
  std::vector<Loop> loops(BlockRef block) const;
  /// The same for a known number of loops. Throws UserError (illegal_schedule) if the number of loops is not N.
  template <std::size_t N> std::array<Loop, N> loops(BlockRef block) const {
    return to_array<N>(loops(block, N));
  }
  /// The loops around the block that are inside of `loop`.
  std::vector<Loop> loops_below(BlockRef block, Loop loop) const;
  /// The blocks below the loop, in the order of the program.
  std::vector<BlockRef> blocks_below(Loop loop) const;
  static std::string name(Loop loop);      ///< "(no loop)" for an empty handle
  static std::string name(BlockRef block); ///< "(no block)" for an empty handle
  /// The trip count. Throws if it depends on sizes.
  std::int64_t extent(Loop loop) const;

  // Directives. `caller` has the line of the source that states the directive, for `emit --line-info`, and the
  // names that `named("block", "thread")` chooses for the results [any.named].
  // Loops.
  template <std::size_t N>
  std::array<Loop, N> split(Loop loop, const std::int64_t (&factors)[N], Caller caller = Where::current()) {
    return to_array<N>(split(loop, std::vector<std::int64_t>(factors, factors + N), std::move(caller)));
  }
  std::vector<Loop> split(Loop loop, std::vector<std::int64_t> factors, Caller caller = Where::current());
  template <std::size_t N>
  std::array<Loop, N> split_by(Loop loop, std::string size, Caller caller = Where::current()) {
    return to_array<N>(split_by(loop, std::move(size), std::move(caller)));
  }
  std::vector<Loop> split_by(Loop loop, std::string size, Caller caller = Where::current());
  template <std::size_t N>
  std::array<Loop, N + 1> cut(Loop loop, const std::int64_t (&points)[N], Caller caller = Where::current()) {
    return to_array<N + 1>(cut(loop, std::vector<std::int64_t>(points, points + N), std::move(caller)));
  }
  std::vector<Loop> cut(Loop loop, std::vector<std::int64_t> points, Caller caller = Where::current());
  template <std::size_t N> std::array<Loop, N> fission(Loop loop, Caller caller = Where::current()) {
    return to_array<N>(fission(loop, std::move(caller)));
  }
  std::vector<Loop> fission(Loop loop, Caller caller = Where::current());
  Loop fuse(Loop outer, Loop inner, Caller caller = Where::current());
  void reorder(std::vector<Loop> order, Caller caller = Where::current());
  std::array<Loop, 4> tile(Loop i, Loop j, const std::int64_t (&factors)[2], Caller caller = Where::current()) {
    return to_array<4>(tile(i, j, std::vector<std::int64_t>(factors, factors + 2), std::move(caller)));
  }
  std::vector<Loop> tile(Loop i, Loop j, std::vector<std::int64_t> factors, Caller caller = Where::current());
  void bind(Loop loop, Axis axis, Caller caller = Where::current());
  void unroll(Loop loop, Caller caller = Where::current());
  void unroll_by(Loop loop, std::int64_t factor, Caller caller = Where::current());
  void vectorize(Loop loop, Caller caller = Where::current());
  void snake(Loop outer, Loop inner, Caller caller = Where::current());
  void partition(Loop loop, Caller caller = Where::current());
  void skip_tiles(Loop loop, Caller caller = Where::current());
  void last_block(Loop loop, Caller caller = Where::current());
  void share_launch(Loop loop, Caller caller = Where::current());
  void axes_from_loops(BlockRef block, Caller caller = Where::current());

  // Data.
  BlockRef cache_read(BlockRef reader, const std::string &buffer, Scope scope,
                      Caller caller = Where::current());
  BlockRef reindex_cache_read(BlockRef reader, const std::string &buffer, Scope scope,
                              Caller caller = Where::current());
  void share_cache(BlockRef reader, BlockRef copy, Caller caller = Where::current());
  BlockRef cache_write(BlockRef writer, Scope scope, Caller caller = Where::current());
  void set_scope(BlockRef writer, Scope scope, Caller caller = Where::current());
  void compute_at(BlockRef producer, Loop loop, Caller caller = Where::current());
  void reverse_compute_at(BlockRef consumer, Loop loop, Caller caller = Where::current());
  void compute_inline(BlockRef block, Caller caller = Where::current());
  void reverse_compute_inline(BlockRef consumer, Caller caller = Where::current());

  // Storage.
  void transform_layout(BlockRef writer, const IndexMap &map, Caller caller = Where::current());
  void storage_align(BlockRef writer, std::int64_t dim, std::int64_t factor, std::int64_t offset,
                     Caller caller = Where::current());
  void swizzle(BlockRef writer, std::int64_t bits, std::int64_t base, std::int64_t shift,
               Caller caller = Where::current());

  // Launch.
  void launch_bounds(std::int64_t min_blocks, Caller caller = Where::current());
  void launch_early(Caller caller = Where::current());

  // Time.
  void async_copy(BlockRef copy, Caller caller = Where::current());
  void bulk_copy(BlockRef copy, Caller caller = Where::current());
  void in_flight(BlockRef block, std::int64_t iterations, Caller caller = Where::current());
  void pipeline(Loop loop, std::vector<Stage> stages, Caller caller = Where::current());
  void double_buffer(Loop loop, Caller caller = Where::current());
  void join_pipelines(Loop inner, Caller caller = Where::current());
  void spread(Loop loop, Caller caller = Where::current());
  void role(std::vector<BlockRef> blocks, std::int64_t warps, std::int64_t registers,
            Caller caller = Where::current());

  // Reductions.
  BlockRef decompose_reduction(BlockRef block, Loop loop, Caller caller = Where::current());
  BlockRef rfactor(Loop loop, Caller caller = Where::current());
  BlockRef cut_sum(Loop loop, std::int64_t point, Caller caller = Where::current());
  BlockRef nondeterministic_atomics(BlockRef block, Caller caller = Where::current());
  BlockRef reduce_across(Loop loop, Axis axis, Caller caller = Where::current());

  // Intrinsics.
  void tensorize(Loop loop, const std::string &intrinsic, Caller caller = Where::current());

  // Results.
  const Program &program() const { return steps_.back(); }
  const Program &source() const { return steps_.front(); } ///< the unscheduled computation
  const Target &target() const { return target_; }
  const std::vector<Directive> &trace() const { return trace_; }
  /// The program after the first n directives; step(0) is the source.
  const Program &step(std::size_t n) const { return steps_.at(n); }
  /// Computed once for each program: copies of a schedule share them.
  std::vector<Obligation> obligations() const;

  class Edit; ///< an edit by a primitive (dsl/schedule/primitives/edit.h)

private:
  friend class Edit;
  template <std::size_t N> static std::array<Loop, N> to_array(const std::vector<Loop> &loops) {
    internal_check(loops.size() == N, "the number of handles differs from the number of results");
    std::array<Loop, N> result;
    for (std::size_t n = 0; n < N; ++n)
      result[n] = loops[n];
    return result;
  }

  std::vector<Loop> loops(BlockRef block, std::size_t expected) const;
  /// The diagnostic for a handle whose loop or block is not in the program.
  std::string why_missing(Loop loop) const;
  std::string why_missing(BlockRef block) const;

  /// The obligations of the last program, when they were asked for. Several threads may ask.
  struct Owed {
    std::once_flag computed;
    std::vector<Obligation> list;
  };

  Target target_;
  std::vector<Program> steps_;
  std::vector<Directive> trace_;
  std::shared_ptr<Owed> owed_ = std::make_shared<Owed>();
};

} // namespace nestsmith
