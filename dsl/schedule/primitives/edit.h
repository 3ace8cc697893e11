#pragma once
/// Support for primitives: checks, rewriting and verification.

#include "dsl/ir/region.h"
#include "dsl/schedule/primitives/primitive.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The application of one directive, which the line `where` of the caller states. `commit` verifies the new
/// program and records the step. `refuse` throws ScheduleError and leaves the schedule unchanged.
///
/// Requires [any.handle]: a handle names a loop or a block of the current program of the schedule.
/// Requires [any.lanes]: a vectorized loop still contains exactly one block and no other loop, and a tensorized
///   loop exactly one block and the serial loops of its nest.
/// Requires [any.atomics]: no vectorized or tensorized loop is around a block that combines its terms by
///   atomics.
/// Requires [any.order]: a reducer that is not commutative combines its terms in the order of its axes, which
///   the loops keep: a loop of a more significant digit is outside of the others.
/// Requires [any.named]: there is one name for each result, or none; each is an identifier that nothing in the
///   program has.
class Schedule::Edit {
public:
  template <class... Arguments>
  Edit(Schedule &schedule, const Caller &caller, const Primitive &primitive, const Arguments &...arguments)
      : schedule_(schedule), primitive_(primitive),
        directive_{std::string(primitive.name), {to_argument(arguments)...}, {}, caller.names, caller.where} {
    check_chosen_names();
  }

  const Schedule &schedule() const { return schedule_; }
  const Program &program() const { return schedule_.program(); }
  const Stmt &body() const { return program().body; }

  /// `requirement` is the tag of the `Requires` line that does not hold. `message` states the actual and the
  /// expected value and ends with the remedy. `culprits` are the loops or blocks to mark.
  [[noreturn]] void refuse(const char *requirement, const std::string &message,
                           const std::vector<std::string> &culprits = {}) const;
  /// Returns a name that no loop, block or buffer of the new program has: `wanted`, or `wanted` with a suffix.
  std::string name(const std::string &wanted);
  /// The name of result number n: the one that the user chose, or else `name(wanted)`.
  std::string result_name(std::size_t n, const std::string &wanted);
  /// The names that the user chose for the results; empty: none.
  const std::vector<std::string> &chosen_names() const { return directive_.named; }
  /// Frees the name of a loop that the new program will not contain.
  void release(const Stmt &loop);
  /// Verifies the new program and appends it to the schedule. Refuses a program in which a pipeline violates a
  /// dependence, or in which a vectorized or tensorized loop has other loops or several blocks below it. A
  /// violated invariant of dsl/hardware/verify.h is an internal error. `results` are the names of the handles
  /// that the directive returns.
  void commit(Stmt body, std::vector<std::string> results = {});
  void commit(Program next, std::vector<std::string> results = {});

  /// The loop or block to which a handle refers. Refuses a handle whose loop or block is not in the program.
  const For &loop(Loop handle) const;
  const Block &block(BlockRef handle) const;
  /// The loops around the block, or around the loop and the loop itself, outermost first.
  std::vector<const For *> loops_around(const BlockId &block) const { return loops_of(path_to(body(), block)); }
  std::vector<const For *> loops_around(const Var &loop) const { return loops_of(path_to(body(), loop)); }
  /// The top-level statement that contains the block or the loop. It becomes a kernel.
  Stmt nest_of(const BlockId &block) const { return top_level(path_to(body(), block)); }
  Stmt nest_of(const Var &loop) const { return top_level(path_to(body(), loop)); }
  /// The body of the program with `changed` in place of the loop.
  Stmt replace_loop(const For &loop, const Stmt &changed) const;
  Stmt replace_loop(const For &loop, For changed) const {
    return replace_loop(loop, make_for(std::move(changed)));
  }
  void require_serial(const char *requirement, const For &loop) const;
  /// Refuses a loop below a pipelined one, whose stages name the blocks below it. `remedy` ends the message.
  void require_no_pipeline_around(const char *requirement, const For &loop, const std::string &remedy) const;
  /// Returns the extent of the loop. Refuses an extent that depends on sizes. `done` is the last word of the
  /// message "only a loop of a constant extent can be …", for example "unrolled".
  std::int64_t require_constant(const char *requirement, const For &loop, const std::string &done) const;

private:
  static Stmt top_level(const Path &path) { return path.size() > 1 && as<Seq>(path[0]) ? path[1] : path[0]; }

  bool is_taken(const std::string &name);
  void check_chosen_names();

  Schedule &schedule_;
  const Primitive &primitive_;
  Directive directive_;
  std::optional<std::vector<std::string_view>> present_; ///< names in the program, collected on first use
  std::set<std::string> given_, released_;
};

/// Simplifies the bindings of all blocks below `stmt`. Sets `guarded` of an axis exactly if the value of the
/// binding may be negative or may reach the extent.
Stmt refresh_bindings(const Stmt &stmt, const Bounds &bounds);

/// "serial", "vectorized", or "bound to blockIdx.x".
std::string form_of(const For &loop);
bool is_loop_of_sum(const Block &block, const Var &loop);
/// Prepares the blocks for a loop that gets more iterations: adds an axis to each of them, whose guard excludes
/// the iterations past the extent of the loop. Its binding is the loop. If the block sums over the loop, it is
/// a reduction axis: the init executes in the first iteration of the loop, and its place is outside of the
/// loop.
Stmt with_guards(const Stmt &stmt, const For &loop, const std::vector<BlockId> &blocks);
/// The loop of one iteration, with `extent` iterations of which guards let only the first execute the blocks.
/// `bounds` are those of the loops of the program.
For with_idle_iterations(For loop, const Expr &extent, const std::vector<BlockId> &blocks, Bounds bounds);
/// The loops that are bound to an axis, outermost first.
std::vector<const For *> bound_loops(const Stmt &root);
/// A serial or unrolled loop with these stages.
For with_pipeline(For loop, std::vector<BlockStage> stages);
/// `writers_of` returns the blocks that write `buffer`. `readers_of` returns the blocks that read `buffer` and
/// do not write it. Both are in program order.
std::vector<const Block *> writers_of(const Stmt &root, const Buffer &buffer);
std::vector<const Block *> readers_of(const Stmt &root, const Buffer &buffer);

/// Whether the loops around the block give the axis every value from 0 to its extent. A tile that is rounded up
/// to a size covers it.
bool covers_extent(const IterVar &iter, const Bounds &bounds);
/// Refuses with the tag `requirement` if the loops around the block compute only a part of its buffer, because
/// `compute_at` made them for the elements that its readers need.
void require_whole(const Schedule::Edit &edit, const char *requirement, const Block &block);

/// Refuses with the tag `requirement` a block that is not the only one of its nest, or that has a loop around
/// it which is not serial.
void require_serial_nest(const Schedule::Edit &edit, const char *requirement, const Block &block);

/// A nest of new serial loops over `region` around a copy of `block`. Spatial axis n covers span n of the
/// region, with one loop for each run of the span. Spatial axes past the last span keep their bindings. A
/// reduction axis covers its full range; with `parts`, it has a span like a spatial axis.
Stmt nest_over(Schedule::Edit &edit, Block block, const Region &region, const Bounds &bounds,
               bool parts = false);
/// A nest that copies all of `from` into `to`, with a block named `name` whose axes have the names `axes`.
Stmt copy_nest(Schedule::Edit &edit, const Buffer &from, const Buffer &to, const std::string &name,
               const std::vector<std::string> &axes);
/// A nest that stores `value`, an expression of `axes`, in the element of `to` at the axes.
Stmt fill_nest(Schedule::Edit &edit, const Buffer &to, const std::string &name, const std::vector<Var> &axes,
               Expr value);
/// Names for the axes of a copy of `buffer`: "A_i" for the dimension whose index in `block` is its axis i.
std::vector<std::string> axis_names(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices);

/// Inserts `stmt` directly before or after the top-level statement that contains `anchor`. Returns the new
/// root.
Stmt insert_before(const Stmt &root, const BlockId &anchor, const Stmt &stmt);
Stmt insert_after(const Stmt &root, const BlockId &anchor, const Stmt &stmt);

} // namespace nestsmith
