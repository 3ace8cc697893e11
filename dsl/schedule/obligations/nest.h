#pragma once
/// The facts that the rules about one nest share (dsl/schedule/obligations/rules.h).

#include "dsl/ir/allocation.h"
#include "dsl/ir/last_block.h"
#include "dsl/schedule/schedule.h"

#include <map>
#include <optional>
#include <vector>

namespace nestsmith::owed {

/// One nest of the program of a schedule, which becomes one kernel.
class NestFacts {
public:
  NestFacts(const Schedule &schedule, const Stmt &nest);
  NestFacts(const NestFacts &) = delete;

  const Schedule &schedule;
  const Target &target;
  Placements placements;
  const Program &program; ///< only the nest; the rules do not use its parameters
  const Bounds &bounds;   ///< of the loop variables
  std::vector<const Block *> blocks;
  std::map<Axis, std::int64_t> extents; ///< of the axes (dsl/ir/allocation.h)
  std::vector<LastBlock> lasts;
  /// Whether the nest writes all of the shared and local memory that it reads.
  bool complete;

  /// The placements after filling tails, which are those of the program if it has no tails to fill.
  Placements &after_filling();
  std::vector<const For *> loops_around(const Block &block) const;
  /// Whether only the last block along the axis executes the block.
  bool is_last_along(const Block &block, Axis axis) const;
  BlockId
  writer_of(const Buffer &buffer) const; ///< the first block that writes the buffer; null if there is none
  /// The serial loops around the placement of a shared buffer: their iterations never use one copy at the same
  /// time.
  std::vector<Var> lasting_loops(const Buffer &buffer);

private:
  std::optional<Placements> filled_;
  Placements *after_filling_ = nullptr;
};

/// Whether one of the loops is bound so that it gives the index on the axis.
bool is_around(const std::vector<const For *> &loops, Axis axis);

/// The element that the block writes, in terms of the loops.
std::vector<Expr> written_element(const NestFacts &nest, const Block &block);

/// The number of the directive that made the block, which may be null, or that last changed the scope of its
/// result.
std::size_t last_to_set_scope(const Schedule &schedule, const BlockId &block);
/// The number of the directive that last bound, vectorized or tensorized the loop.
std::size_t last_to_annotate(const Schedule &schedule, const Var &loop);

/// An obligation about the block, by the directive `last_to_set_scope`.
Obligation about_block(const Schedule &schedule, const BlockId &block, std::string message);
/// An obligation about the loop, by the directive `last_to_annotate`.
Obligation about_loop(const Schedule &schedule, const Var &loop, std::string message);

} // namespace nestsmith::owed
