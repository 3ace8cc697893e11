#pragma once
/// The loop whose last thread block continues (dsl/schedule/primitives/last_block.h).

#include "dsl/ir/program.h"

#include <vector>

namespace nestsmith {

/// A loop that `last_block` marked, and the blocks of the statements after it in the loop around it. Only the
/// last thread block executes these.
struct LastBlock {
  const For *loop;
  std::vector<const Block *> after;
  /// The axes of the loop, and of the marked loops below it that statements follow: of the thread blocks along
  /// them, one continues.
  std::vector<Axis> axes;

  bool is_after(const Block &block) const;
  bool is_one_along(Axis axis) const;
};

/// The marked loops of a nest, the outermost first. Each one is below the one before it.
std::vector<LastBlock> find_last_blocks(const Stmt &nest);

} // namespace nestsmith
