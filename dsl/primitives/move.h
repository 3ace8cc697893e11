#pragma once
/// What compute_at and reverse_compute_at share: taking a block out of its nest and putting one in.

#include "dsl/primitives/edit.h"

namespace nestsmith {

/// Refuses unless the loops that belong to `block` alone are serial: they are about to be made anew.
void require_plain_nest(Schedule::Edit &edit, const Block &block);

/// The root without the block and without the loops that held nothing else.
Stmt remove_block(const Stmt &root, const BlockId &block);

/// The body of `loop` with `stmt` put before the first child for which `here` holds, or last.
Stmt insert_into(const Stmt &root, const Var &loop, const Stmt &stmt,
                 const std::function<bool(const Stmt &)> &here);

} // namespace nestsmith
