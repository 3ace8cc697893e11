#pragma once
/// What primitives share: check, rewrite, verify.

#include "dsl/region.h"
#include "dsl/schedule.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// One directive being applied. `commit` verifies the new program and records the step; `refuse` throws
/// and leaves the schedule untouched.
class Schedule::Edit {
public:
  Edit(Schedule &schedule, std::string op, std::vector<Argument> arguments);

  const Schedule &schedule() const { return schedule_; }
  const Program &program() const { return schedule_.program(); }
  const Stmt &body() const { return program().body; }

  /// `message` has got and expected and ends with what to do; `culprits` are loops or blocks to mark.
  [[noreturn]] void refuse(const std::string &message, const std::vector<std::string> &culprits = {}) const;
  /// A name that no loop, block or buffer of the new program has.
  std::string name(const std::string &wanted);
  /// The new program will not hold this loop: its name is free.
  void release(const Stmt &loop);
  /// Refuses a pipeline that no longer means what its loop means, and loops over lanes with more than one
  /// block.
  void commit(Stmt body, std::vector<std::string> results = {});
  void commit(Program next, std::vector<std::string> results = {});

  /// The nodes behind handles; refuses a handle that no longer stands in the program.
  const For &loop(Loop handle) const;
  const Block &block(BlockRef handle) const;
  void require_serial(const For &loop) const;
  /// The extent; refuses one of sizes. `done` is what cannot be done with it: "unrolled".
  std::int64_t require_constant(const For &loop, const std::string &done) const;

private:
  Schedule &schedule_;
  Directive directive_;
  std::optional<std::vector<std::string_view>> present_; ///< names in the program, once one was asked for
  std::set<std::string> given_, released_;
};

/// Names for messages; "(no loop)" and "(no block)" for handles that were never set.
std::string loop_name(const Loop &loop);
std::string block_name(const BlockRef &block);

/// Blocks below `stmt` with their bindings simplified and their guards set exactly where a binding may
/// reach its extent.
Stmt refresh_bindings(const Stmt &stmt, const Bounds &bounds);
/// The program's own temporaries' writers, in order.
std::vector<const Block *> writers_of(const Stmt &root, const Buffer &buffer);
std::vector<const Block *> readers_of(const Stmt &root, const Buffer &buffer);

/// A nest of fresh serial loops over `region` around a copy of `block`: spatial axis n runs over span n, with a
/// loop for each of its runs; a reduction axis runs in full.
Stmt nest_over(Schedule::Edit &edit, Block block, const Region &region, const Bounds &bounds);
/// A nest that copies all of `from` into `to`, with a block of the name `name` and these axes.
Stmt copy_nest(Schedule::Edit &edit, const Buffer &from, const Buffer &to, const std::string &name,
               const std::vector<std::string> &axes);
/// Names for the axes of a copy of `buffer`: "A_i" where the block indexes it by its axis i.
std::vector<std::string> axis_names(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices);

/// A new root with `stmt` put right before or after the top-level statement that holds `anchor`.
Stmt insert_before(const Stmt &root, const BlockId &anchor, const Stmt &stmt);
Stmt insert_after(const Stmt &root, const BlockId &anchor, const Stmt &stmt);

} // namespace nestsmith
