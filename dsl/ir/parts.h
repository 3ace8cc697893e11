#pragma once
/// Blocks that a directive took apart: the parts of a block after `cut`, and the init of one.

#include "dsl/ir/program.h"

namespace nestsmith {

/// The block that `cut`, `decompose_reduction` or lowering took apart; the block itself if it is whole.
const BlockSymbol *whole_of(const BlockId &id);

/// Another part of the block below `root`, which `cut` made; null if the block is whole. The init of a sum is
/// no part of it.
const Block *other_part(const Stmt &root, const Block &block);

} // namespace nestsmith
