#pragma once
/// Support for compute_at and reverse_compute_at: removal of a block from its nest and insertion of a new nest.

#include "dsl/schedule/primitives/edit.h"

namespace nestsmith {

/// Refuses unless all loops that contain only `block` are serial, because new loops will replace these loops.
/// Frees the names of these loops.
void require_plain_nest(Schedule::Edit &edit, const char *requirement, const Block &block);

/// Refuses a part of a block that `cut` took apart: the directive would compute the elements of all parts. A
/// part whose axes count its own elements only, as `axes_from_loops` makes them, is no such part.
void require_no_part(const Schedule::Edit &edit, const char *requirement, const Block &block);

/// Returns the tree without the block, and without loops that become empty.
Stmt remove_block(const Stmt &root, const BlockId &block);

/// Inserts `stmt` into the body of `loop`, before the first child for which `here` returns true. If there is no
/// such child, at the end.
Stmt insert_into(const Stmt &root, const Var &loop, const Stmt &stmt,
                 const std::function<bool(const Stmt &)> &here);

/// Refuses a move that is not shown to keep the order of accesses to a parameter (dsl/ir/dependence.h). `after`
/// is the program after the move; `now` is the moved block in it, or its part that moves. `place` names where
/// the block goes, for the message.
void require_kept_order(const Schedule::Edit &edit, const char *requirement, const BlockId &moved,
                        const Stmt &after, const BlockId &now, const std::string &place);

} // namespace nestsmith
