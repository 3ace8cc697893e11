#pragma once
/// Asynchronous copies between their issue and the wait for them.

#include "dsl/ir/program.h"
#include "lowering/hazards.h"

#include <span>
#include <vector>

namespace nestsmith {

/// The tiles that the blocks copy, without duplicates.
std::vector<Buffer> tiles_of(const std::vector<const Block *> &copies);

/// Adds the reads of the tile of `copy` below `stmt`, and the copy and its readers to `ordered`.
void add_reads(std::vector<kernel::Hazard> &hazards, const Block &copy, const Stmt &stmt,
               std::vector<const Block *> &ordered);

/// Copies in flight, outside of a pipeline.
struct CopiesInFlight {
  std::vector<const Block *> blocks;

  void add(const Stmt &nest);
  /// Whether the statement uses a tile in flight, writes the source of a copy, or has groups of its own.
  bool must_land_before(const Stmt &stmt) const;
  /// Waits for all copies, before the statements `rest`.
  void land(std::span<const Stmt> rest, std::vector<kernel::Stmt> &stmts);
};

} // namespace nestsmith
