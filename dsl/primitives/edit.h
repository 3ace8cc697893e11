#pragma once
/// Support for primitives: checks, rewriting and verification.

#include "dsl/region.h"
#include "dsl/schedule.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The application of one directive. `commit` verifies the new program and records the step. `refuse` throws
/// ScheduleError and leaves the schedule unchanged.
///
/// Requires [any.handle]: a handle names a loop or a block of the current program of the schedule.
/// Requires [any.lanes]: a loop that is vectorized or tensorized keeps one block and no other loop below it.
class Schedule::Edit {
public:
  Edit(Schedule &schedule, std::string op, std::vector<Argument> arguments);

  const Schedule &schedule() const { return schedule_; }
  const Program &program() const { return schedule_.program(); }
  const Stmt &body() const { return program().body; }

  /// `requirement` is the tag of the `Requires` line that does not hold. `message` states got and expected and
  /// ends with the remedy. `culprits` are the loops or blocks to mark.
  [[noreturn]] void refuse(const char *requirement, const std::string &message,
                           const std::vector<std::string> &culprits = {}) const;
  /// `wanted`, or `wanted` with a suffix: a name that no loop, block or buffer of the new program has.
  std::string name(const std::string &wanted);
  /// Frees the name of a loop that the new program will not contain.
  void release(const Stmt &loop);
  /// Refuses a program in which a pipeline breaks a dependence, or a vectorized or tensorized loop has further
  /// loops or several blocks below it. A broken invariant is an internal error.
  void commit(Stmt body, std::vector<std::string> results = {});
  void commit(Program next, std::vector<std::string> results = {});

  /// The nodes of handles. Refuses a handle that refers to nothing in the program.
  const For &loop(Loop handle) const;
  const Block &block(BlockRef handle) const;
  void require_serial(const char *requirement, const For &loop) const;
  /// The extent. Refuses one that depends on sizes. `done` completes "only a loop of a constant extent can be
  /// …" in the message: "unrolled".
  std::int64_t require_constant(const char *requirement, const For &loop, const std::string &done) const;

private:
  Schedule &schedule_;
  Directive directive_;
  std::optional<std::vector<std::string_view>> present_; ///< names in the program, collected on first use
  std::set<std::string> given_, released_;
};

/// Names for messages; "(no loop)" and "(no block)" for empty handles.
std::string loop_name(const Loop &loop);
std::string block_name(const BlockRef &block);

/// Simplifies the bindings of all blocks below `stmt` and sets each guard exactly if the binding may reach its
/// extent.
Stmt refresh_bindings(const Stmt &stmt, const Bounds &bounds);
/// A serial or unrolled loop with these stages.
For with_pipeline(For loop, std::vector<Staged> stages);
/// The blocks that write `buffer`, and those that read but do not write it, in program order.
std::vector<const Block *> writers_of(const Stmt &root, const Buffer &buffer);
std::vector<const Block *> readers_of(const Stmt &root, const Buffer &buffer);

/// A nest of new serial loops over `region` around a copy of `block`. Spatial axis n runs over span n, with one
/// loop for each of its runs; a reduction axis runs over its full range.
Stmt nest_over(Schedule::Edit &edit, Block block, const Region &region, const Bounds &bounds);
/// A nest that copies all of `from` into `to`, with a block called `name` that has these axes.
Stmt copy_nest(Schedule::Edit &edit, const Buffer &from, const Buffer &to, const std::string &name,
               const std::vector<std::string> &axes);
/// Names for the axes of a copy of `buffer`: "A_i" for the dimension that the block indexes by its axis i.
std::vector<std::string> axis_names(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices);

/// Inserts `stmt` directly before or after the top-level statement that contains `anchor`. Returns the new
/// root.
Stmt insert_before(const Stmt &root, const BlockId &anchor, const Stmt &stmt);
Stmt insert_after(const Stmt &root, const BlockId &anchor, const Stmt &stmt);

} // namespace nestsmith
