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

  bool is_after(const Block &block) const;
};

/// The marked loop of a nest; none if there is none. A nest has at most one.
std::optional<LastBlock> find_last_block(const Stmt &nest);

} // namespace nestsmith
