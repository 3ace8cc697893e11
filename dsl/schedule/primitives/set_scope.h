#pragma once
#include "dsl/schedule/schedule.h"

namespace nestsmith::primitives {

/// set_scope(W, local): moves the temporary that W writes to another memory space.
///
///     global AB     =>     local AB
///
/// Requires [set_scope.temporary]: W writes a temporary, not a parameter.
/// Requires [set_scope.layout]: the temporary has no layout yet, because a layout is chosen for one memory
///   space.
/// Ensures: the sequential meaning is unchanged. Obligations: the memory space is large enough, and all threads
///   that access the temporary share this memory.
void set_scope(Schedule &schedule, BlockRef writer, Scope scope);

} // namespace nestsmith::primitives
